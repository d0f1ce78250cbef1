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

	"github.com/flowforge/flowforge/platform/unixsocket"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

var errResultCount = errors.New("the server answered another number of results than reports")

// Endpoint is where the server is reached: a unix socket on the same machine,
// or a URL.
type Endpoint struct {
	Socket string
	URL    string // http://host:port; not used with Socket
	// Client reaches URL, with certificates of its own; nil: a plain one.
	Client *http.Client
}

// server is the client of one endpoint.
type server struct {
	base  string
	http  *http.Client
	store *http.Client // for addresses of the store that the server hands out
	// through says that files go through the server: it has said so, or it is on
	// this machine.
	through atomic.Bool
	local   bool        // the server is on this machine, where packing does not pay
	plain   atomic.Bool // the server does not unpack
	tasks   flowforgev1connect.TaskServiceClient
}

func (e Endpoint) connect() *server {
	s := &server{base: strings.TrimSuffix(e.URL, "/"), http: &http.Client{}, store: &http.Client{}}
	if e.Client != nil {
		s.http = e.Client
	}
	if e.Socket != "" {
		s.base, s.http = "http://flowforge", unixsocket.Client(e.Socket)
		s.local = true
		s.through.Store(true)
	}
	// An answer that points to the store is followed without the attempt's token.
	direct := *s.http
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.http = &direct
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

// rpcError tells what asking again will not change from a server that is away.
// what begins the sentence of the latter.
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

// tokenRefused reports whether err says that the server does not take the token.
func tokenRefused(err error) bool {
	refused, ok := errors.AsType[*refusedError](err)
	return ok && refused.status == http.StatusUnauthorized
}

// blobURL is where the blob with the hex hash sha is.
func (s *server) blobURL(sha string) string { return s.base + "/api/v1/task/blobs/" + sha }

// requestBody is what goes with a request for a blob, and how the answer may come.
type requestBody struct {
	io.Reader        // nil: nothing
	size      int64  // -1: not known
	coding    string // of the bytes; "": none
	accept    string // coding of the answer; "": none
}

// blobRequest sends one request for a blob and returns an answer of status 2xx,
// or one that says where the store has it.
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

// answerError reads why the blob was not given or taken, and closes the answer.
func answerError(method, sha string, resp *http.Response) error {
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	message := fmt.Sprintf("%s blob %.12s: %s %s", method, sha, resp.Status, strings.TrimSpace(string(text)))
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusRequestTimeout {
		return errors.New(message)
	}
	return &refusedError{status: resp.StatusCode, message: message}
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
