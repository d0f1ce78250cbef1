package bucket

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"
)

// Object is an object of a list.
type Object struct {
	Key          string
	ETag         string // without quotation marks
	Size         int64
	LastModified time.Time
}

// Page is a page of a list.
type Page struct {
	Objects []Object
	Next    string // marker of the next page; "": this is the last one
}

// ReadPage reads the response to a request of Keys. The store may write the keys as in addresses, so
// that XML can contain all of them.
func ReadPage(body io.Reader) (Page, error) {
	var list struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		EncodingType          string
		Contents              []Object
		IsTruncated           bool
		NextContinuationToken string
	}
	if err := xml.NewDecoder(body).Decode(&list); err != nil {
		return Page{}, fmt.Errorf("read the list: %w", err)
	}
	page := Page{Objects: list.Contents}
	for i, o := range page.Objects {
		if list.EncodingType == "url" {
			key, err := url.QueryUnescape(o.Key)
			if err != nil {
				return Page{}, fmt.Errorf("read the key %q: %w", o.Key, err)
			}
			page.Objects[i].Key = key
		}
		page.Objects[i].ETag = strings.Trim(o.ETag, `"`)
	}
	if list.IsTruncated {
		page.Next = list.NextContinuationToken
	}
	return page, nil
}
