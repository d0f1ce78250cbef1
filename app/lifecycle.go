package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/web"
)

// lifecycle starts what runs until Close, and stops it in reverse order.
type lifecycle struct {
	log    *slog.Logger
	failed chan error // receives the first error that ends serving
	stops  []func()
}

// onStop registers f for close, which calls functions in reverse order.
func (l *lifecycle) onStop(f func()) { l.stops = append(l.stops, f) }

// close calls the registered functions in reverse order.
func (l *lifecycle) close() {
	for len(l.stops) > 0 {
		last := len(l.stops) - 1
		stop := l.stops[last]
		l.stops = l.stops[:last]
		stop()
	}
}

// background runs f until Close, which waits for it.
func (l *lifecycle) background(name string, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f(ctx); err != nil && !errors.Is(err, context.Canceled) {
			l.logError(name+" stopped", err)
		}
	}()
	l.onStop(func() {
		cancel()
		<-done
	})
}

// within calls stop with a timeout.
func (l *lifecycle) within(limit time.Duration, message string, stop func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	l.logError(message, stop(ctx))
}

func (l *lifecycle) logError(message string, err error) {
	if err != nil {
		l.log.Error(message, "error", err)
	}
}

// listen listens on an address until Close.
func (l *lifecycle) listen(setting, addr string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another program is listening on %s: stop it, or choose another %s", addr, setting)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	l.onStop(func() { _ = listener.Close() })
	return listener, nil
}

// serve serves handler on listener until Close: streams and long polls end at once, other
// requests finish within two seconds or are cancelled. Run returns an earlier error of the
// server.
func (l *lifecycle) serve(listener net.Listener, handler http.Handler) {
	l.serveTLS(listener, handler, nil)
}

// serveTLS is serve with a TLS configuration; nil: without TLS.
func (l *lifecycle) serveTLS(listener net.Listener, handler http.Handler, config *tls.Config) {
	ctx, cancel := context.WithCancel(context.Background())
	stopping := make(chan struct{})
	server := newServer(web.WithStopping(ctx, stopping), handler)
	serve := func() error { return server.Serve(listener) }
	if config != nil {
		server.TLSConfig = config
		server.Protocols.SetHTTP2(true)
		server.Protocols.SetUnencryptedHTTP2(false)
		serve = func() error { return server.ServeTLS(listener, "", "") }
	}
	go func() {
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			select {
			case l.failed <- fmt.Errorf("serve on %s: %w", listener.Addr(), err):
			default: // Run already has another error
			}
		}
	}()
	l.onStop(func() {
		grace, done := context.WithTimeout(context.Background(), 2*time.Second)
		defer done()
		defer cancel()
		close(stopping)
		if server.Shutdown(grace) != nil {
			_ = server.Close()
		}
	})
}
