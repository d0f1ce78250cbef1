package bucket

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
)

// gcsHost is the address of the XML API of Google Cloud Storage.
const gcsHost = "storage.googleapis.com"

// serviceAccount is the part of a service account's key that signs requests.
type serviceAccount struct {
	email string
	key   *rsa.PrivateKey
}

// readServiceAccount reads the JSON file of a service account's key.
func readServiceAccount(text string) (serviceAccount, error) {
	var file struct {
		Type       string `json:"type"`
		Email      string `json:"client_email"`
		PrivateKey string `json:"private_key"`
	}
	if json.Unmarshal([]byte(text), &file) != nil || file.Type != "service_account" {
		return serviceAccount{}, errors.New("it is not the JSON key of a service account")
	}
	block, _ := pem.Decode([]byte(file.PrivateKey))
	if block == nil || file.Email == "" {
		return serviceAccount{}, errors.New("it has no client_email or no private_key")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		parsed, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if err != nil || !ok {
		return serviceAccount{}, errors.New("its private_key is not an RSA key")
	}
	return serviceAccount{email: file.Email, key: key}, nil
}

// signGCS signs a request in its query, with Google's signature of version 4. AccessKey is the
// key of a service account.
func (l Location) signGCS(method string, address *url.URL) (Request, error) {
	if l.AccessKey == "" { // a public bucket
		return Request{Method: method, URL: address.String()}, nil
	}
	account, err := readServiceAccount(l.AccessKey)
	if err != nil {
		return Request{}, apperr.New(apperr.Invalid, "The key of the bucket %s cannot be used: %v.", l.Bucket, err)
	}
	if err := account.sign(method, address, time.Now(), validFor); err != nil {
		return Request{}, err
	}
	return Request{Method: method, URL: address.String()}, nil
}

// sign adds a signature to the query of address.
// See https://cloud.google.com/storage/docs/access-control/signing-urls-manually.
func (a serviceAccount) sign(method string, address *url.URL, from time.Time, valid time.Duration) error {
	const algorithm = "GOOG4-RSA-SHA256"
	from = from.UTC()
	scope := from.Format("20060102") + "/auto/storage/goog4_request"
	query := address.Query()
	query.Set("X-Goog-Algorithm", algorithm)
	query.Set("X-Goog-Credential", a.email+"/"+scope)
	query.Set("X-Goog-Date", from.Format("20060102T150405Z"))
	query.Set("X-Goog-Expires", strconv.Itoa(int(valid.Seconds())))
	query.Set("X-Goog-SignedHeaders", "host")
	signed := encode(query)
	request := sha256.Sum256([]byte(strings.Join([]string{
		method, address.EscapedPath(), signed, "host:" + address.Host, "", "host", unsigned,
	}, "\n")))
	digest := sha256.Sum256([]byte(strings.Join([]string{
		algorithm, query.Get("X-Goog-Date"), scope, hex.EncodeToString(request[:]),
	}, "\n")))
	signature, err := rsa.SignPKCS1v15(nil, a.key, crypto.SHA256, digest[:])
	if err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The key of the service account cannot sign requests.")
	}
	address.RawQuery = signed + "&X-Goog-Signature=" + hex.EncodeToString(signature)
	return nil
}
