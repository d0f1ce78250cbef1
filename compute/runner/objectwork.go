package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// maxObjectList bounds the response of a store to a request for a list of one object.
const maxObjectList = 1 << 20

// runObjectSearch looks for an object in a bucket.
func runObjectSearch(a *attempt, work *flowforgev1.ObjectSearch) ending {
	return a.runCall(func(ctx context.Context) error {
		inputs, err := a.inputsOf(ctx)
		if err != nil {
			return err
		}
		connection, _ := inputs[work.Connection].(map[string]any)
		fields, _ := connection["fields"].(map[string]any)
		if fields == nil {
			return fmt.Errorf("the input %s is not a connection of kind s3", work.Connection)
		}
		delete(inputs, work.Connection)
		text := &call{work: &flowforgev1.Http{Tagged: true}, inputs: inputs}
		s := &objectSearch{client: a.s.requester.client, fields: fields, bucket: work.Bucket}
		if s.bucket == "" {
			s.bucket = s.field("bucket")
		}
		var found object
		if work.Prefix != "" {
			prefix, err := text.fill(work.Prefix, plainText)
			if err != nil {
				return fmt.Errorf("prefix: %w", err)
			}
			found, err = s.first(ctx, prefix)
			if err != nil {
				return err
			}
		} else {
			key, err := text.fill(work.Key, plainText)
			if err != nil {
				return fmt.Errorf("key: %w", err)
			}
			if found, err = s.head(ctx, key); err != nil {
				return err
			}
		}
		a.system(levelInfo, fmt.Sprintf("The object %s exists with %d bytes.", found.Key, found.Size))
		return found.write(a.paths.outputs, s.bucket)
	})
}

// object is an object of a bucket.
type object struct {
	Key  string
	ETag string
	Size int64
}

// write writes the outputs of a sensor that found the object.
func (o object) write(folder, bucket string) error {
	values := map[string]string{
		"key": o.Key, "etag": strings.Trim(o.ETag, `"`), "uri": "s3://" + bucket + "/" + o.Key, "size": strconv.FormatInt(o.Size, 10),
	}
	for name, value := range values {
		if name != "size" {
			encoded, err := json.Marshal(value)
			if err != nil {
				return err
			}
			value = string(encoded)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(value), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// objectSearch sends signed requests to a bucket of Amazon S3 or of a compatible store.
type objectSearch struct {
	client *http.Client
	fields map[string]any // of the connection
	bucket string
}

func (s *objectSearch) field(name string) string {
	value, _ := s.fields[name].(string)
	return value
}

// address is the address of the bucket: a path of the endpoint, or a host of Amazon S3.
func (s *objectSearch) address(key string) (*url.URL, error) {
	base := s.field("endpoint")
	if base == "" {
		base = "https://s3." + cmp.Or(s.field("region"), "us-east-1") + ".amazonaws.com"
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, errors.New("the endpoint of the connection is not a valid address")
	}
	u = u.JoinPath(s.bucket)
	u.Path += "/" + key
	u.RawPath = escapedPath(u.Path)
	return u, nil
}

// escapedPath writes a path as stores sign it: all but letters, digits and -._~/ is escaped.
func escapedPath(path string) string {
	return strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(path), "+", "%20"), "%2F", "/")
}

func (s *objectSearch) send(ctx context.Context, method string, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, errors.New("the endpoint of the connection is not a valid address")
	}
	if id := s.field("access_key_id"); id != "" {
		none := sha256.Sum256(nil)
		hash := hex.EncodeToString(none[:])
		req.Header.Set("X-Amz-Content-Sha256", hash)
		keys := aws.Credentials{AccessKeyID: id, SecretAccessKey: s.field("secret_access_key"), SessionToken: s.field("session_token")}
		signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
		if err := signer.SignHTTP(ctx, keys, req, hash, "s3", cmp.Or(s.field("region"), "us-east-1"), time.Now()); err != nil {
			return nil, fmt.Errorf("the request cannot be signed: %w", err)
		}
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, notYetf("the store could not be reached: %w", unwrapURL(err))
	}
	return resp, nil
}

// head finds the object with a key.
func (s *objectSearch) head(ctx context.Context, key string) (object, error) {
	u, err := s.address(key)
	if err != nil {
		return object{}, err
	}
	resp, err := s.send(ctx, http.MethodHead, u)
	if err != nil {
		return object{}, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return object{}, notYetf("the bucket %s has no object %s", s.bucket, key)
	case resp.StatusCode != http.StatusOK:
		return object{}, s.refused(resp)
	}
	return object{Key: key, ETag: resp.Header.Get("ETag"), Size: max(resp.ContentLength, 0)}, nil
}

// first finds the first object whose key begins with a prefix.
func (s *objectSearch) first(ctx context.Context, prefix string) (object, error) {
	u, err := s.address("")
	if err != nil {
		return object{}, err
	}
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), ""
	u.RawQuery = strings.ReplaceAll(url.Values{"list-type": {"2"}, "max-keys": {"1"}, "prefix": {prefix}}.Encode(), "+", "%20")
	resp, err := s.send(ctx, http.MethodGet, u)
	if err != nil {
		return object{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return object{}, s.refused(resp)
	}
	var list struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []object
	}
	if err := xml.NewDecoder(io.LimitReader(resp.Body, maxObjectList)).Decode(&list); err != nil {
		return object{}, errors.New("the store answered with something other than a list of objects; check the endpoint of the connection")
	}
	if len(list.Contents) == 0 {
		return object{}, notYetf("the bucket %s has no object with the prefix %s", s.bucket, prefix)
	}
	return list.Contents[0], nil
}

func (s *objectSearch) refused(resp *http.Response) error {
	if resp.StatusCode != http.StatusNotFound && comesLater(resp.StatusCode) {
		return notYetf("the store answered %s for the bucket %s", resp.Status, s.bucket)
	}
	return fmt.Errorf("the store answered %s for the bucket %s; test the connection on its page", resp.Status, s.bucket)
}
