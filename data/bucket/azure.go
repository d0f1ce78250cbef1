package bucket

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
)

// azureVersion is the version of Azure's API. One request can upload 5,000 MiB since 2019-12-12.
const azureVersion = "2021-12-02"

// azureAccount is the account in the address of a container: the first label of the host, or
// the first folder of a path of two, as of emulators.
func azureAccount(container *url.URL) string {
	if account, _, found := strings.Cut(strings.Trim(container.Path, "/"), "/"); found {
		return account
	}
	account, _, _ := strings.Cut(container.Hostname(), ".")
	return account
}

// signAzure adds a shared access signature (a service SAS) to an address. AccessKey is the key
// of the account, or a shared access signature of its owner.
// See https://learn.microsoft.com/rest/api/storageservices/create-service-sas.
func (l Location) signAzure(method string, address *url.URL, account, key string) (Request, error) {
	request := Request{Method: method, Header: map[string]string{}}
	if method == http.MethodPut {
		request.Header["x-ms-blob-type"] = "BlockBlob"
	}
	query := address.Query()
	switch {
	case l.AccessKey == "": // a public container
		request.Header["x-ms-version"] = azureVersion
	case strings.Contains(l.AccessKey, "sig="):
		given, err := url.ParseQuery(strings.TrimPrefix(l.AccessKey, "?"))
		if err != nil {
			return request, apperr.New(apperr.Invalid, "The shared access signature of the container %s cannot be read.", l.Bucket)
		}
		for name := range given {
			query.Set(name, given.Get(name))
		}
	default:
		secret, err := base64.StdEncoding.DecodeString(l.AccessKey)
		if err != nil {
			return request, apperr.New(apperr.Invalid, "The account key of the container %s is neither base64 nor a shared access signature.", l.Bucket)
		}
		resource, permission := "b", "r"
		canonical := "/blob/" + account + "/" + l.Bucket
		switch {
		case key == "":
			resource, permission = "c", "l"
		case method == http.MethodPut:
			permission = "cw"
		}
		if key != "" {
			canonical += "/" + key
		}
		expires := time.Now().UTC().Add(validFor).Format(time.RFC3339)
		mac := hmac.New(sha256.New, secret)
		_, _ = mac.Write([]byte(strings.Join([]string{
			permission, "", expires, canonical, "", "", "", azureVersion, resource, "", "", "", "", "", "", "",
		}, "\n")))
		query.Set("sp", permission)
		query.Set("se", expires)
		query.Set("sv", azureVersion)
		query.Set("sr", resource)
		query.Set("sig", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	address.RawQuery = encode(query)
	request.URL = address.String()
	return request, nil
}
