// Package bucket signs requests to object stores outside of FlowForge, so that a task reads
// and writes objects without their credentials. It sends no request itself, except to OAuth
// servers for tokens.
package bucket

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/flowforge/flowforge/apperr"
)

// Store is a kind of object store.
type Store string

// The stores.
const (
	S3  Store = "s3"  // Amazon S3, and every store with its API
	OSS Store = "oss" // Alibaba Cloud OSS, through its S3-compatible API
	// Azure is Azure Blob Storage. Bucket is a container, and AccessKey is the key of the account.
	Azure Store = "azure"
	// GCS is Google Cloud Storage, through its XML API. AccessKey is the JSON key of a service account.
	GCS Store = "gcs"
	// HTTP is one file at an address, such as a file of Artifactory. Web describes it.
	HTTP Store = "http"
)

// Location is one object, or all objects of a folder, in a bucket.
type Location struct {
	Store    Store
	Bucket   string
	Key      string
	Endpoint string // such as minio.example.com:9000; "" is the public address of the store
	Region   string // "" is the default of the store
	Insecure bool   // an endpoint without a scheme is an http address

	// AccessKey and SecretKey are empty for a public bucket.
	AccessKey, SecretKey, SessionToken string
	// Headers is true to sign requests of S3 and OSS in headers, which logs of addresses do not
	// contain. They must be sent within minutes.
	Headers bool

	Web Web // of the store HTTP, which uses no other field
}

// Request is a request that anyone can send until its signature expires.
type Request struct {
	Method string
	URL    string
	Header map[string]string

	Certificate, Key string // PEM of the client certificate of the connection, or empty
}

// ListFormat is the format of the response to a request that lists objects.
type ListFormat string

// The formats.
const (
	ListS3    ListFormat = "s3"    // ListBucketResult of ListObjectsV2
	ListAzure ListFormat = "azure" // EnumerationResults of List Blobs
	ListNone  ListFormat = ""      // the store has no lists
)

// validFor is how long a signature is valid. It must be valid when the request begins.
const validFor = time.Hour

// Marker reports whether an empty object at the location can stand for a folder. Its key ends
// with a slash; Azure also keeps such objects for the folders of a hierarchical namespace.
func (l Location) Marker() bool { return l.Store == Azure || strings.HasSuffix(l.Key, "/") }

// Prefix is the prefix of the keys of all objects in the folder of the location.
func (l Location) Prefix() string { return strings.TrimSuffix(l.Key, "/") + "/" }

// MaxBytes is the maximum size of an object that one request can upload.
func (l Location) MaxBytes() int64 {
	switch l.Store {
	case Azure:
		return 5000 << 20
	case GCS:
		return 5 << 40
	case HTTP:
		return math.MaxInt64
	case S3, OSS:
	}
	return 5 << 30
}

// ListFormat is the format of the response to List.
func (l Location) ListFormat() ListFormat {
	switch l.Store {
	case Azure:
		return ListAzure
	case HTTP:
		return ListNone
	case S3, OSS, GCS:
	}
	return ListS3
}

// Get returns the request that downloads an object: the location itself for an empty name,
// or else the object with that relative path below it.
func (l Location) Get(ctx context.Context, name string) (Request, error) {
	return l.object(ctx, http.MethodGet, name)
}

// Head returns the request for the headers of the object at the location.
func (l Location) Head(ctx context.Context) (Request, error) {
	return l.object(ctx, http.MethodHead, "")
}

// Put returns the request that uploads an object; name is as in Get.
func (l Location) Put(ctx context.Context, name string) (Request, error) {
	return l.object(ctx, http.MethodPut, name)
}

func (l Location) object(ctx context.Context, method, name string) (Request, error) {
	if l.Store == HTTP {
		if name != "" {
			return Request{}, apperr.New(apperr.Invalid, "%s is the address of a single file. Omit archive so that the folder is uploaded as an archive.", l)
		}
		return l.web(ctx, method)
	}
	key := l.Key
	if l.Bucket == "" || strings.Trim(key, "/") == "" {
		return Request{}, apperr.New(apperr.Invalid, "The bucket or the key is empty.")
	}
	if name != "" {
		if name != path.Clean(name) || path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
			return Request{}, apperr.New(apperr.Invalid, "%q is not a relative path.", name)
		}
		key = l.Prefix() + name
	}
	return l.sign(ctx, method, key, nil)
}

// List returns the request for a page of the objects whose keys begin with Prefix. marker is
// the one of the previous page; "" for the first page.
func (l Location) List(ctx context.Context, marker string) (Request, error) {
	if l.Store == HTTP {
		return Request{}, apperr.New(apperr.Invalid, "%s is the address of a single file and cannot be listed.", l)
	}
	query, next := url.Values{"list-type": {"2"}}, "continuation-token"
	if l.Store == Azure {
		query, next = url.Values{"restype": {"container"}, "comp": {"list"}}, "marker"
	}
	query.Set("prefix", l.Prefix())
	if marker != "" {
		query.Set(next, marker)
	}
	return l.sign(ctx, http.MethodGet, "", query)
}

// Folder is the prefix of the keys in the folder of the location; an empty key is the whole bucket.
func (l Location) Folder() string {
	if strings.Trim(l.Key, "/") == "" {
		return ""
	}
	return l.Prefix()
}

// Keys returns the request for a page of at most limit objects of the bucket whose keys begin with a
// prefix; ReadPage reads the response. The store chooses the size of the page for 0. marker is as in
// List. Only S3 and OSS have it.
func (l Location) Keys(ctx context.Context, prefix, marker string, limit int) (Request, error) {
	query := url.Values{"list-type": {"2"}, "encoding-type": {"url"}, "prefix": {prefix}}
	if limit > 0 {
		query.Set("max-keys", strconv.Itoa(limit))
	}
	if marker != "" {
		query.Set("continuation-token", marker)
	}
	return l.sign(ctx, http.MethodGet, "", query)
}

// Level returns the request for a page of at most limit objects and folders that are directly in
// the folder of the location, which is the whole bucket for an empty key. marker is as in List.
// Only S3 and OSS have it.
func (l Location) Level(ctx context.Context, marker string, limit int) (Request, error) {
	query := url.Values{"list-type": {"2"}, "delimiter": {"/"}, "max-keys": {strconv.Itoa(min(limit, 1000))}, "prefix": {l.Folder()}}
	if marker != "" {
		query.Set("continuation-token", marker)
	}
	return l.sign(ctx, http.MethodGet, "", query)
}

// sign returns a signed request for the object with a key; an empty key is the bucket.
func (l Location) sign(ctx context.Context, method, key string, query url.Values) (Request, error) {
	base, err := l.base(ctx)
	if err != nil {
		return Request{}, err
	}
	account := azureAccount(base)
	base.Path = strings.TrimSuffix("/"+strings.Trim(base.Path, "/"), "/")
	if key != "" || base.Path == "" {
		base.Path += "/" + key
	}
	base.RawPath, base.RawQuery = httpbinding.EscapePath(base.Path, false), encode(query)
	switch l.Store {
	case Azure:
		return l.signAzure(method, base, account, key)
	case GCS:
		return l.signGCS(method, base)
	case S3, OSS, HTTP:
	}
	return l.signS3(ctx, method, base)
}

// encode returns a query with %20 for spaces, as signatures require it.
func encode(query url.Values) string { return strings.ReplaceAll(query.Encode(), "+", "%20") }

// endpoint returns the address of the endpoint with its scheme; nil for none.
func (l Location) endpoint() (*url.URL, error) {
	host := strings.TrimSuffix(l.Endpoint, "/")
	if host == "" {
		return nil, nil //nolint:nilnil // the store has a public address
	}
	if !strings.Contains(host, "://") {
		scheme := "https://"
		if l.Insecure {
			scheme = "http://"
		}
		host = scheme + host
	}
	parsed, err := url.Parse(host)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return nil, apperr.New(apperr.Invalid, "The endpoint %q is not an address, such as minio.example.com:9000.", l.Endpoint)
	}
	return parsed, nil
}

// String names the location for users.
func (l Location) String() string {
	if l.Store == HTTP {
		return webText(l.Web.URL)
	}
	return fmt.Sprintf("%s://%s/%s", l.Store, l.Bucket, l.Key)
}
