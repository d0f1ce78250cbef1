package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
	"github.com/flowforge/flowforge/unixsocket"
)

var errResultCount = errors.New("the server answered another number of results than reports")

// Endpoint is where the server is reached: a unix socket on the same machine,
// or a URL.
type Endpoint struct {
	Socket string
	URL    string // http://host:port; not used with Socket
}

// server is the client of one endpoint.
type server struct {
	base  string
	http  *http.Client
	tasks flowforgev1connect.TaskServiceClient
}

func (e Endpoint) connect() *server {
	s := &server{base: strings.TrimSuffix(e.URL, "/"), http: &http.Client{}}
	if e.Socket != "" {
		s.base, s.http = "http://flowforge", unixsocket.Client(e.Socket)
	}
	s.tasks = flowforgev1connect.NewTaskServiceClient(s.http, s.base)
	return s
}

// reachable reports whether somebody answers at the endpoint.
func (s *server) reachable(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/healthz", nil)
	if err != nil {
		return false
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return true
}

// refusedError is an answer that repeating the request will not change.
type refusedError struct {
	status  int
	message string
}

func (e *refusedError) Error() string { return e.message }

// blobURL is where the blob with the hex hash sha is.
func (s *server) blobURL(sha string) string { return s.base + "/api/v1/task/blobs/" + sha }

// blobRequest sends one request for a blob and returns an answer of status 2xx.
// notFound tells a 404 apart from other refusals.
func (s *server) blobRequest(ctx context.Context, method, sha, token string, body io.Reader, size int64) (resp *http.Response, err error) {
	req, err := http.NewRequestWithContext(ctx, method, s.blobURL(sha), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		req.ContentLength = size
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	resp, err = s.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	message := fmt.Sprintf("%s blob %.12s: %s %s", method, sha, resp.Status, strings.TrimSpace(string(text)))
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusRequestTimeout {
		return nil, errors.New(message)
	}
	return nil, &refusedError{status: resp.StatusCode, message: message}
}

// upload sends the file at path unless the server has the blob already. It
// repeats until the server takes or refuses it, or ctx ends; failed is called
// once after the first try that found no server.
func (s *server) upload(ctx context.Context, token, sha, path string, size int64, failed func()) error {
	return s.persistently(ctx, failed, func() error {
		resp, err := s.blobRequest(ctx, http.MethodHead, sha, token, nil, 0)
		if err == nil {
			return resp.Body.Close()
		}
		if refused, ok := errors.AsType[*refusedError](err); !ok || refused.status != http.StatusNotFound {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return &refusedError{message: fmt.Sprintf("read output: %v", err)}
		}
		defer file.Close()
		resp, err = s.blobRequest(ctx, http.MethodPut, sha, token, file, size)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

// persistently repeats try until it succeeds, is refused, or ctx ends.
func (s *server) persistently(ctx context.Context, failed func(), try func() error) error {
	wait := retryAtFirst
	for first := true; ; first = false {
		err := try()
		if err == nil {
			return nil
		}
		if _, refused := errors.AsType[*refusedError](err); refused {
			return err
		}
		if first && failed != nil {
			failed()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (last try: %w)", context.Cause(ctx), err)
		case <-time.After(wait):
		}
		wait = min(2*wait, retryAtMost)
	}
}
