package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/flowforge/flowforge/platform/unixrpc"
	"github.com/flowforge/flowforge/platform/unixsocket"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

var errResultCount = errors.New("the server returned a different number of results than reports")

// Endpoint is the address of the server: a unix socket on the same machine, or a URL.
type Endpoint struct {
	Socket string
	URL    string // http://host:port; not used with Socket
	// Client connects to URL with its own certificates; nil: a default client.
	Client *http.Client
}

// HTTP returns the client for URL.
func (e Endpoint) HTTP() *http.Client {
	if e.Client != nil {
		return e.Client
	}
	return &http.Client{}
}

// server is the client of one endpoint.
type server struct {
	base  string
	http  *http.Client
	store *http.Client // for addresses in the store that the server returns
	// through is set when files go through the server: the server has requested it, or it
	// is on this machine.
	through atomic.Bool
	local   bool        // the server is on this machine, where compression does not pay
	plain   atomic.Bool // the server does not decompress
	single  atomic.Bool // the server does not take batches of files
	tasks   flowforgev1connect.TaskServiceClient
	calls   *unixrpc.Client // nil: the server is on another machine
}

func (e Endpoint) connect() *server {
	s := &server{base: strings.TrimSuffix(e.URL, "/"), http: e.HTTP(), store: &http.Client{}}
	if e.Socket != "" {
		s.base, s.http = "http://flowforge", unixsocket.Client(e.Socket)
		s.local = true
		s.through.Store(true)
	}
	// A redirect to the store is followed without the attempt's token.
	direct := *s.http
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.http = &direct
	s.tasks = flowforgev1connect.NewTaskServiceClient(s.http, s.base)
	if e.Socket != "" {
		s.calls = unixrpc.NewClient(unixrpc.Path(e.Socket))
	}
	return s
}

// close closes the idle connections.
func (s *server) close() {
	s.http.CloseIdleConnections()
	if s.calls != nil {
		s.calls.Close()
	}
}

// deliver returns how reports are sent.
func (s *server) deliver() deliver {
	if s.calls == nil {
		return s.tasks.Deliver
	}
	return unixrpc.Call(s.calls, flowforgev1connect.TaskServiceDeliverProcedure, s.tasks.Deliver)
}

// reachable reports whether a server responds at the endpoint.
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

// refusedError is a response that retrying the request cannot change.
type refusedError struct {
	status  int
	message string
}

func (e *refusedError) Error() string { return e.message }

// rpcError distinguishes a response that a retry cannot change from a server that is
// unreachable. The message of the latter begins with what.
func rpcError(what string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*connect.Error](err); ok {
		switch e.Code() {
		case connect.CodeUnauthenticated:
			return &refusedError{status: http.StatusUnauthorized, message: e.Message()}
		case connect.CodeInvalidArgument, connect.CodeNotFound, connect.CodePermissionDenied,
			connect.CodeFailedPrecondition, connect.CodeUnimplemented, connect.CodeResourceExhausted:
			return &refusedError{message: e.Message()}
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// tokenRefused reports whether err means that the server rejects the token.
func tokenRefused(err error) bool {
	refused, ok := errors.AsType[*refusedError](err)
	return ok && refused.status == http.StatusUnauthorized
}

// blobURL returns the URL of the blob with the hex hash sha.
func (s *server) blobURL(sha string) string { return s.base + "/api/v1/task/blobs/" + sha }

// requestBody is the body of a blob request, and the codings that are accepted for the
// response.
type requestBody struct {
	io.Reader        // nil: no body
	size      int64  // -1: unknown
	coding    string // of the bytes; "": none
	accept    string // accepted coding of the response; "": none
}

// blobRequest sends one request for a blob and returns a response with status 2xx or a
// redirect to the store.
func (s *server) blobRequest(ctx context.Context, method, sha, token string, body requestBody) (resp *http.Response, err error) {
	req, err := http.NewRequestWithContext(ctx, method, s.blobURL(sha), body.Reader)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept-Encoding", cmp.Or(body.accept, "identity"))
	if body.Reader != nil {
		req.ContentLength = body.size
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	if body.coding != "" {
		req.Header.Set("Content-Encoding", body.coding)
	}
	resp, err = s.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 300 || resp.StatusCode == http.StatusTemporaryRedirect {
		return resp, nil
	}
	return nil, answerError(method, sha, resp)
}

// answerError reads why the server refused the request, and closes the response.
func answerError(method, sha string, resp *http.Response) error {
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	message := fmt.Sprintf("%s blob %.12s: %s %s", method, sha, resp.Status, strings.TrimSpace(string(text)))
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusRequestTimeout {
		return errors.New(message)
	}
	return &refusedError{status: resp.StatusCode, message: message}
}

// persistently calls try until it succeeds, is refused, or ctx is cancelled.
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
