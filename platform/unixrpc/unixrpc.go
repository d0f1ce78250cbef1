// Package unixrpc calls unary methods of Connect services between processes of one machine, with
// ttrpc over one kept connection of a unix socket. Such a call costs a fifth of one over HTTP. The
// services stay reachable over HTTP: callers use it for large messages and for peers without this
// socket.
package unixrpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"connectrpc.com/connect"
	"github.com/containerd/log"
	"github.com/containerd/ttrpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/flowforge/flowforge/platform/unixsocket"
)

// maxMessage is the largest message in bytes that is sent; ttrpc limits messages to 4 MiB.
const maxMessage = 2 << 20

// silence discards what ttrpc logs: answers to cancelled calls, and errors that it also returns.
func silence() { log.L.Logger.SetOutput(io.Discard) } //nolint:forbidigo // the logger of ttrpc, which nothing else uses

// Path returns the socket of the calls to a server whose HTTP socket is path.
func Path(path string) string { return strings.TrimSuffix(path, ".sock") + ".rpc.sock" }

// Server serves methods on one socket.
type Server struct {
	server *ttrpc.Server
	end    context.CancelFunc
}

// Method is a method of a service.
type Method struct {
	procedure string // "/package.Service/Method"
	call      ttrpc.Method
}

// Unary is the method of a Connect service, wrapped by interceptors.
func Unary[Req, Resp any](procedure string, handle func(context.Context, *connect.Request[Req]) (*connect.Response[Resp], error), interceptors ...connect.Interceptor) Method {
	next := connect.UnaryFunc(func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		return handle(ctx, req.(*connect.Request[Req]))
	})
	for _, i := range slices.Backward(interceptors) { // as in Connect, the first one is the outermost
		next = i.WrapUnary(next)
	}
	return Method{procedure: procedure, call: func(ctx context.Context, decode func(any) error) (out any, err error) {
		defer func() { // ttrpc does not recover, unlike net/http
			if p := recover(); p != nil {
				slog.ErrorContext(ctx, "a call panicked", "procedure", procedure, "panic", p, "stack", string(debug.Stack()))
				err = status.Error(codes.Internal, "internal error")
			}
		}()
		var message Req
		if err := decode(&message); err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
		resp, err := next(ctx, connect.NewRequest(&message))
		if err != nil {
			return nil, coded(err)
		}
		return resp.Any(), nil
	}}
}

// coded returns a Connect error as one of ttrpc; both use the codes of gRPC.
func coded(err error) error {
	message := err.Error()
	if own, ok := errors.AsType[*connect.Error](err); ok {
		message = own.Message()
	}
	return status.Error(codes.Code(connect.CodeOf(err)), message)
}

// Serve serves methods on the socket at path until Close.
func Serve(path string, methods ...Method) (*Server, error) {
	silence()
	listener, err := unixsocket.Listen(path)
	if err != nil {
		return nil, err
	}
	server, err := ttrpc.NewServer()
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	services := map[string]map[string]ttrpc.Method{}
	for _, m := range methods {
		service, name := split(m.procedure)
		if services[service] == nil {
			services[service] = map[string]ttrpc.Method{}
		}
		services[service][name] = m.call
	}
	for service, named := range services {
		server.RegisterService(service, &ttrpc.ServiceDesc{Methods: named})
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { _ = server.Serve(ctx, listener) }() // it returns an error only after Close
	return &Server{server: server, end: cancel}, nil
}

// Shutdown accepts no more calls and waits for those in progress until ctx ends; then it cancels
// them.
func (s *Server) Shutdown(ctx context.Context) {
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
	s.end()
}

// split returns the service and the method of a procedure.
func split(procedure string) (service, method string) {
	service, method, _ = strings.Cut(strings.TrimPrefix(procedure, "/"), "/")
	return service, method
}

// Client calls the server of one socket. It connects with the first call, and again after the
// connection was lost. It is safe for concurrent use.
type Client struct {
	path string

	mu   sync.Mutex
	conn *ttrpc.Client
}

// NewClient returns a client of the server at path.
func NewClient(path string) *Client {
	silence()
	return &Client{path: path}
}

// Close closes the connection. A later call connects again.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// Call returns a function that calls procedure of the server at c. It calls overHTTP instead if
// the request is large or the server does not serve the socket.
func Call[Req, Resp any](c *Client, procedure string, overHTTP func(context.Context, *connect.Request[Req]) (*connect.Response[Resp], error)) func(context.Context, *connect.Request[Req]) (*connect.Response[Resp], error) {
	service, method := split(procedure)
	return func(ctx context.Context, req *connect.Request[Req]) (*connect.Response[Resp], error) {
		conn := c.connection(ctx, req.Any())
		if conn == nil {
			return overHTTP(ctx, req)
		}
		var message Resp
		if err := conn.Call(ctx, service, method, req.Any(), any(&message)); err != nil {
			return nil, c.failed(conn, err)
		}
		return connect.NewResponse(&message), nil
	}
}

// connection returns the connection for a message; nil: it cannot be sent over one.
func (c *Client) connection(ctx context.Context, message any) *ttrpc.Client {
	if m, ok := message.(proto.Message); !ok || proto.Size(m) > maxMessage {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		conn, err := unixsocket.Dial(ctx, c.path)
		if err != nil {
			return nil
		}
		c.conn = ttrpc.NewClient(conn)
	}
	return c.conn
}

// failed returns the error of a call as a Connect error, and drops a lost connection.
func (c *Client) failed(conn *ttrpc.Client, err error) error {
	if s, ok := status.FromError(err); ok && !errors.Is(err, ttrpc.ErrClosed) {
		return connect.NewError(connect.Code(s.Code()), errors.New(s.Message()))
	}
	switch {
	case errors.Is(err, context.Canceled):
		return connect.NewError(connect.CodeCanceled, err)
	case errors.Is(err, context.DeadlineExceeded):
		return connect.NewError(connect.CodeDeadlineExceeded, err)
	}
	c.mu.Lock()
	if c.conn == conn {
		c.conn = nil
	}
	c.mu.Unlock()
	_ = conn.Close()
	return connect.NewError(connect.CodeUnavailable, err)
}
