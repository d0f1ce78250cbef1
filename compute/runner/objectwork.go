package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/flowforge/flowforge/data/bucket"
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
		field := func(name string) string {
			value, _ := fields[name].(string)
			return value
		}
		s := &objectSearch{client: a.s.requester.client, Location: bucket.Location{
			Store: bucket.S3, Bucket: cmp.Or(work.Bucket, field("bucket")), Endpoint: field("endpoint"), Region: field("region"),
			AccessKey: field("access_key_id"), SecretKey: field("secret_access_key"), SessionToken: field("session_token"), Headers: true,
		}}
		var found bucket.Object
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
		return writeObject(found, a.paths.outputs, s.Bucket)
	})
}

// writeObject writes the outputs of a sensor that found an object.
func writeObject(o bucket.Object, folder, name string) error {
	outputs := map[string]any{"key": o.Key, "etag": o.ETag, "uri": "s3://" + name + "/" + o.Key, "size": o.Size}
	for output, value := range outputs {
		encoded, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, output), encoded, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// objectSearch looks for objects in a bucket of Amazon S3 or of a compatible store.
type objectSearch struct {
	bucket.Location

	client *http.Client
}

func (s *objectSearch) send(ctx context.Context, signed bucket.Request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, signed.Method, signed.URL, nil)
	if err != nil {
		return nil, errors.New("the endpoint of the connection is not a valid address")
	}
	for name, value := range signed.Header {
		req.Header.Set(name, value)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, notYetf("the store could not be reached: %w", unwrapURL(err))
	}
	return resp, nil
}

// head finds the object with a key.
func (s *objectSearch) head(ctx context.Context, key string) (bucket.Object, error) {
	at := s.Location
	at.Key = key
	signed, err := at.Head(ctx)
	if err != nil {
		return bucket.Object{}, err
	}
	resp, err := s.send(ctx, signed)
	if err != nil {
		return bucket.Object{}, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return bucket.Object{}, notYetf("the bucket %s has no object %s", s.Bucket, key)
	case resp.StatusCode != http.StatusOK:
		return bucket.Object{}, s.refused(resp)
	}
	return bucket.Object{Key: key, ETag: strings.Trim(resp.Header.Get("ETag"), `"`), Size: max(resp.ContentLength, 0)}, nil
}

// first finds the first object whose key begins with a prefix.
func (s *objectSearch) first(ctx context.Context, prefix string) (bucket.Object, error) {
	signed, err := s.Keys(ctx, prefix, "", 1)
	if err != nil {
		return bucket.Object{}, err
	}
	resp, err := s.send(ctx, signed)
	if err != nil {
		return bucket.Object{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return bucket.Object{}, s.refused(resp)
	}
	page, err := bucket.ReadPage(io.LimitReader(resp.Body, maxObjectList))
	if err != nil {
		return bucket.Object{}, errors.New("the response of the store is not a list of objects; check the endpoint of the connection")
	}
	if len(page.Objects) == 0 {
		return bucket.Object{}, notYetf("the bucket %s has no object with the prefix %s", s.Bucket, prefix)
	}
	return page.Objects[0], nil
}

func (s *objectSearch) refused(resp *http.Response) error {
	if resp.StatusCode != http.StatusNotFound && comesLater(resp.StatusCode) {
		return notYetf("the store responded with %s for the bucket %s", resp.Status, s.Bucket)
	}
	return fmt.Errorf("the store responded with %s for the bucket %s; test the connection on its page", resp.Status, s.Bucket)
}
