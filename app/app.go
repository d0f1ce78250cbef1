package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/platform/certificate"
	"github.com/flowforge/flowforge/platform/observability"
)

// App is a server that owns its data directory and its address. It runs once.
type App struct {
	cfg              Config
	paths            paths
	lock             *dirLock
	listener         net.Listener
	taskListener     net.Listener // nil when tasks use listener
	watched          net.Listener // of /metrics; nil: none
	internalListener net.Listener // for other servers with certificates; nil: none
	taskTLS          *certificate.Pair
	internalTLS      *certificate.Pair
	podFiles         *certificate.Pair
	metrics          *observability.Metrics
	traces           *observability.Traces // nil when tracing is off
	started          atomic.Bool           // the examples are registered: /readyz may succeed
	stopping         atomic.Bool           // /readyz fails, so that load balancers stop sending requests
	links            *auth.LoginLinks
	failed           chan error // receives the first error that ends serving
	stops            []func()
}

// New checks cfg and acquires the data directory and the address, so that conflicts are
// reported immediately. The caller must call Run or Close.
func New(cfg Config) (*App, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	root, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	cfg.DataDir = root
	cfg.Roles = cfg.roles()
	secrets, err := secretsDir(cfg, root)
	if err != nil {
		return nil, err
	}
	a := &App{cfg: cfg, paths: paths{root: root, secrets: secrets}, links: auth.NewLoginLinks(time.Now), failed: make(chan error, 1)}
	for _, dir := range []string{root, a.paths.join("secrets"), a.paths.join("run")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("data directory: %w", err)
		}
	}
	if a.lock, err = lockDir(a.paths.lock(), root); err != nil {
		return nil, err
	}
	a.onStop(a.lock.release)
	if a.listener, err = a.listen("FLOWFORGE_ADDR", cfg.Addr); err != nil {
		a.Close()
		return nil, err
	}
	if cfg.Observability.MetricsAddr != "" {
		if a.watched, err = a.listen("FLOWFORGE_METRICS_ADDR", cfg.Observability.MetricsAddr); err != nil {
			a.Close()
			return nil, err
		}
	}
	if cfg.TaskAddr != "" && cfg.Roles.Have(Web) {
		if a.taskListener, err = a.listen("FLOWFORGE_TASK_ADDR", cfg.TaskAddr); err != nil {
			a.Close()
			return nil, err
		}
	}
	if err := a.loadTLS(); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// listen listens on an address until Close.
func (a *App) listen(setting, addr string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another program is listening on %s: stop it, or choose another %s", addr, setting)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	a.onStop(func() { _ = listener.Close() })
	return listener, nil
}

// onStop registers f for Close, which calls functions in reverse order.
func (a *App) onStop(f func()) { a.stops = append(a.stops, f) }

// Close stops everything that was started, in reverse order. It returns within ten
// seconds, even if tasks do not end.
func (a *App) Close() {
	for len(a.stops) > 0 {
		last := len(a.stops) - 1
		stop := a.stops[last]
		a.stops = a.stops[:last]
		stop()
	}
}

// Addr returns the address on which the server listens.
func (a *App) Addr() string { return a.listener.Addr().String() }

// Run starts the engines and the services, serves until ctx is cancelled, and stops
// everything. It returns nil when ctx was cancelled.
func (a *App) Run(ctx context.Context) error {
	defer a.Close()
	begin := time.Now()
	if err := a.openObservability(ctx); err != nil {
		return err
	}
	engines, err := a.startEngines(ctx)
	if err != nil {
		return err
	}
	parts, err := a.startServices(ctx, engines)
	if err != nil {
		return err
	}
	a.startMetrics(parts)
	a.serve(parts)
	if err := a.registerExamples(ctx, parts); err != nil {
		a.cfg.Log.Error("the examples are not registered", "error", err)
	}
	a.started.Store(true)
	fmt.Fprintf(a.cfg.Out, "\n  FlowForge is at http://%s (started in %.1f s)\n  Sign in: %s\n  Data:    %s\n\n  Ctrl-C stops the server and every task.\n\n",
		a.Addr(), time.Since(begin).Seconds(), a.signInHint(), a.cfg.DataDir)
	a.warnSharedAccount(ctx, parts)
	debug.FreeOSMemory() // the start needs more memory than what follows
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.cfg.Out, "  Stopping…")
		a.stopping.Store(true)
		<-time.After(a.cfg.DrainDelay)
		return nil
	case err := <-a.failed:
		return err
	}
}
