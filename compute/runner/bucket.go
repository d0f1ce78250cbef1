package runner

import (
	"context"
	"crypto/tls"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"connectrpc.com/connect"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	bucketTries    = 6           // of one request to a bucket
	bucketWait     = time.Second // before the second try; doubled before each further try
	signLimit      = 30 * time.Second
	signedAtOnce   = 100      // requests that the server signs in one call
	maxBucketError = 4 << 10  // bytes of an error response
	maxListPage    = 64 << 20 // bytes of a page of a list
)

// bucketFiles transfers files of an attempt from and to buckets.
type bucketFiles struct {
	s     *Supervisor
	spec  *flowforgev1.AttemptSpec
	paths paths
}

func (a *attempt) buckets() bucketFiles { return bucketFiles{a.s, a.spec, a.paths} }

// sign asks the server for signed requests of an input or an output of the attempt.
func (b bucketFiles) sign(ctx context.Context, m *flowforgev1.SignBucketRequestsRequest) (*flowforgev1.SignBucketRequestsResponse, error) {
	m.TaskId = b.spec.TaskId
	var signed *flowforgev1.SignBucketRequestsResponse
	err := b.s.server.persistently(ctx, nil, func() error {
		ctx, cancel := context.WithTimeout(ctx, signLimit)
		defer cancel()
		req := connect.NewRequest(m)
		req.Header().Set("Authorization", "Bearer "+b.spec.Token)
		resp, err := b.s.server.tasks.SignBucketRequests(ctx, req)
		if err != nil {
			return rpcError("bucket", err)
		}
		if len(resp.Msg.Requests) != max(len(m.Names), 1) {
			return &refusedError{message: "bucket: the server returned a different number of requests"}
		}
		signed = resp.Msg
		return nil
	})
	return signed, err
}

// missingError is the error of a source of an input that has no file.
type missingError struct{ message string }

func (e *missingError) Error() string { return e.message }

// fetch creates to from the object of an input, or from all objects below its key.
func (b bucketFiles) fetch(ctx context.Context, file *flowforgev1.InputFile, to string) error {
	signed, err := b.sign(ctx, &flowforgev1.SignBucketRequestsRequest{Input: file.Input, Names: []string{""}})
	if err != nil {
		return err
	}
	size, err := b.s.requester.fetchObject(ctx, signed.Requests[0], to)
	answer, refused := errors.AsType[*bucketError](err)
	absent := refused && answer.status == http.StatusNotFound
	if absent && signed.ListFormat == "" {
		return &missingError{fmt.Sprintf("there is no file %s", signed.Location)}
	}
	if !absent && (err != nil || size > 0 || !file.Bucket.Marker) {
		return err
	}
	names, err := b.list(ctx, file.Input)
	switch {
	case err != nil:
		return err
	case len(names) == 0 && absent:
		return &missingError{fmt.Sprintf("there is no object %s, and none below it", signed.Location)}
	case len(names) == 0:
		return nil
	case !absent:
		if err := os.Remove(to); err != nil {
			return err
		}
	}
	return b.fetchFolder(ctx, file.Input, names, to)
}

// fetchFolder creates the folder to with the objects below the key of an input.
func (b bucketFiles) fetchFolder(ctx context.Context, input string, names []string, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	for len(names) > 0 {
		batch := names[:min(len(names), signedAtOnce)]
		names = names[len(batch):]
		signed, err := b.sign(ctx, &flowforgev1.SignBucketRequestsRequest{Input: input, Names: batch})
		if err != nil {
			return err
		}
		if err := inParallel(len(batch), func(i int) error {
			local := filepath.FromSlash(batch[i])
			if err := root.MkdirAll(filepath.Dir(local), 0o755); err != nil {
				return err
			}
			_, err := b.s.requester.fetchObject(ctx, signed.Requests[i], filepath.Join(to, local))
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// list returns the paths of all objects below the key of an input.
func (b bucketFiles) list(ctx context.Context, input string) ([]string, error) {
	var names []string
	for marker := ""; ; {
		signed, err := b.sign(ctx, &flowforgev1.SignBucketRequestsRequest{Input: input, Marker: marker})
		if err != nil {
			return nil, err
		}
		resp, err := b.s.requester.bucket(ctx, signed.Requests[0], "", 0)
		if err != nil {
			return nil, err
		}
		page, err := readPage(resp.Body, signed.ListFormat)
		_ = resp.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("the list of %s cannot be read: %w", signed.Location, err)
		}
		for _, key := range page.keys {
			name := strings.TrimPrefix(key, signed.Prefix)
			if name == "" || strings.HasSuffix(name, "/") {
				continue // the empty object that stands for a folder
			}
			if !fs.ValidPath(name) {
				return nil, fmt.Errorf("the object %q cannot become a file", key)
			}
			names = append(names, name)
		}
		if len(names) > maxDirectoryEntries {
			return nil, fmt.Errorf("%s has more than %d objects", signed.Location, maxDirectoryEntries)
		}
		if marker = page.next; marker == "" {
			return names, nil
		}
	}
}

// objectPage is a page of a list of objects.
type objectPage struct {
	keys []string
	next string // marker of the next page; "": this is the last one
}

// readPage reads a page in the format of the store.
func readPage(body io.Reader, format string) (objectPage, error) {
	decoder := xml.NewDecoder(io.LimitReader(body, maxListPage))
	if format == "azure" {
		return azurePage(decoder)
	}
	var list struct {
		Contents              []struct{ Key string }
		IsTruncated           bool
		NextContinuationToken string
	}
	if err := decoder.Decode(&list); err != nil {
		return objectPage{}, err
	}
	var page objectPage
	for _, o := range list.Contents {
		page.keys = append(page.keys, o.Key)
	}
	if list.IsTruncated {
		page.next = list.NextContinuationToken
	}
	return page, nil
}

func azurePage(decoder *xml.Decoder) (objectPage, error) {
	var list struct {
		Blobs struct {
			Blob []struct {
				Name       string
				Properties struct{ ResourceType string }
			}
		}
		NextMarker string
	}
	if err := decoder.Decode(&list); err != nil {
		return objectPage{}, err
	}
	page := objectPage{next: list.NextMarker}
	for _, b := range list.Blobs.Blob {
		if b.Properties.ResourceType != "directory" {
			page.keys = append(page.keys, b.Name)
		}
	}
	return page, nil
}

// fetchObject downloads an object to a new file and returns its size.
func (r *requester) fetchObject(ctx context.Context, request *flowforgev1.SignedRequest, to string) (int64, error) {
	resp, err := r.bucket(ctx, request, "", 0)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	file, err := os.Create(to)
	if err != nil {
		return 0, err
	}
	size, err := io.Copy(file, resp.Body)
	return size, errors.Join(err, file.Close())
}

// bucketError is the response of a store that rejects a request.
type bucketError struct {
	status  int
	message string
}

func (e *bucketError) Error() string { return e.message }

// again reports whether the same request may succeed later.
func (e *bucketError) again() bool {
	return e.status == http.StatusTooManyRequests || e.status == http.StatusRequestTimeout || e.status >= 500
}

// bucket sends a signed request with the file at path as its body, or without a body for "". It
// repeats requests that fail temporarily.
func (r *requester) bucket(ctx context.Context, request *flowforgev1.SignedRequest, path string, size int64) (*http.Response, error) {
	for try, wait := 1, bucketWait; ; try, wait = try+1, 2*wait {
		resp, err := r.bucketOnce(ctx, request, path, size)
		answer, answered := errors.AsType[*bucketError](err)
		if err == nil || answered && !answer.again() || try == bucketTries || ctx.Err() != nil {
			return resp, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(wait):
		}
	}
}

func (r *requester) bucketOnce(ctx context.Context, request *flowforgev1.SignedRequest, path string, size int64) (*http.Response, error) {
	client, err := r.clientFor(request)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, request.Method, request.Url, nil)
	if err != nil {
		return nil, &bucketError{message: "the request to the bucket is not valid"}
	}
	if path != "" && size > 0 {
		req.GetBody = func() (io.ReadCloser, error) { return os.Open(path) } // also after a redirect
		if req.Body, err = req.GetBody(); err != nil {
			return nil, &bucketError{message: err.Error()}
		}
	}
	req.ContentLength = size
	req.Header.Set("Accept-Encoding", "identity") // the bytes as they are stored
	for name, value := range request.Headers {
		req.Header.Set(name, value)
	}
	address := withoutQuery(req.URL)
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", request.Method, address, unwrapURL(err))
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, &bucketError{status: resp.StatusCode, message: fmt.Sprintf("%s %s responded with %s", request.Method, address, answerOf(resp))}
}

// clientFor returns a client with the certificate of a request.
func (r *requester) clientFor(request *flowforgev1.SignedRequest) (*http.Client, error) {
	client := *r.client
	client.CheckRedirect = followToStore
	if request.ClientCertificate == "" {
		return &client, nil
	}
	certificate, err := tls.X509KeyPair([]byte(request.ClientCertificate), []byte(request.ClientKey))
	if err != nil {
		return nil, &bucketError{message: "the client certificate of the request cannot be used"}
	}
	client.CheckRedirect = followWithCertificate
	client.Transport = &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: tlsLimit, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	return &client, nil
}

// withoutQuery is an address without its signature.
func withoutQuery(address *url.URL) string {
	short := *address
	short.RawQuery = ""
	return short.Redacted()
}

// answerOf is the status of a store's response and, if it has one, its error code.
func answerOf(resp *http.Response) string {
	var reply struct{ Code, Message string }
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxBucketError))
	if xml.Unmarshal(data, &reply) != nil || reply.Code == "" {
		return resp.Status
	}
	return resp.Status + ", " + reply.Code + ": " + cleanText([]byte(reply.Message))
}
