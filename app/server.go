package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/flowforge/flowforge/handlers"
	"github.com/flowforge/flowforge/platform/unixrpc"
	"github.com/flowforge/flowforge/platform/unixsocket"
)

// maxHeader limits the size of request headers in bytes; net/http adds 4 KiB.
const maxHeader = 64 << 10

// newServer returns a server whose requests have contexts of ctx. Pages, the JSON API, Connect
// and gRPC share it, so it also supports HTTP/2 without TLS.
func newServer(ctx context.Context, handler http.Handler) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler: handler, Protocols: protocols, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: maxHeader,
		BaseContext:    func(net.Listener) context.Context { return ctx },
	}
}

// listenSocket serves the site on the socket in the data directory, and next to it the calls of
// the runner. Their paths do not change with the address, so the runner reports there.
func (a *App) listenSocket(p *parts) error {
	path := a.paths.join("run", "api.sock")
	listener, err := unixsocket.Listen(path)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	site := handlers.New(a.deps(p, true))
	a.life.serve(listener, a.monitoring.observed(site))
	calls, err := unixrpc.Serve(unixrpc.Path(path), site.Calls()...)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	a.life.onStop(func() {
		grace, done := context.WithTimeout(context.Background(), 2*time.Second)
		defer done()
		calls.Shutdown(grace)
	})
	return nil
}
