package app

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/platform/memory"
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
	keys             keyFiles
	certs            certificates
	monitoring       *monitoring
	ready            readiness
	links            *auth.LoginLinks
	life             *lifecycle
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
	a := &App{cfg: cfg, paths: paths{root: root, secrets: secrets}, links: auth.NewLoginLinks(time.Now), life: &lifecycle{log: cfg.Log, failed: make(chan error, 1)}}
	a.keys = keyFiles{paths: a.paths, configured: cfg.SecretsDir != ""}
	for _, dir := range []string{root, a.paths.join("secrets"), a.paths.join("run")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("data directory: %w", err)
		}
	}
	if a.lock, err = lockDir(a.paths.lock(), root); err != nil {
		return nil, err
	}
	a.life.onStop(a.lock.release)
	if a.listener, err = a.life.listen("FLOWFORGE_ADDR", cfg.Addr); err != nil {
		a.Close()
		return nil, err
	}
	if cfg.Observability.MetricsAddr != "" {
		if a.watched, err = a.life.listen("FLOWFORGE_METRICS_ADDR", cfg.Observability.MetricsAddr); err != nil {
			a.Close()
			return nil, err
		}
	}
	if cfg.TaskAddr != "" && cfg.Roles.Have(Web) {
		if a.taskListener, err = a.life.listen("FLOWFORGE_TASK_ADDR", cfg.TaskAddr); err != nil {
			a.Close()
			return nil, err
		}
	}
	if a.certs, err = loadCertificates(cfg); err != nil {
		a.Close()
		return nil, err
	}
	if a.certs.internal != nil {
		if a.internalListener, err = a.life.listen("FLOWFORGE_INTERNAL_ADDR", cfg.TLS.InternalAddr); err != nil {
			a.Close()
			return nil, err
		}
	}
	return a, nil
}

// Close stops everything that was started, in reverse order. It returns within ten
// seconds, even if tasks do not end.
func (a *App) Close() { a.life.close() }

// Addr returns the address on which the server listens.
func (a *App) Addr() string { return a.listener.Addr().String() }

// Run starts the engines and the services, serves until ctx is cancelled, and stops
// everything. It returns nil when ctx was cancelled.
func (a *App) Run(ctx context.Context) error {
	defer a.Close()
	begin := time.Now()
	var err error
	if a.monitoring, err = openMonitoring(ctx, a.cfg, a.life); err != nil {
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
	if err := registerExamples(ctx, a.cfg, a.paths, parts); err != nil {
		a.cfg.Log.Error("the examples are not registered", "error", err)
	}
	a.ready.started.Store(true)
	fmt.Fprintf(a.cfg.Out, "\n  FlowForge is at http://%s (started in %.1f s)\n  Sign in: %s\n  Data:    %s\n\n  Ctrl-C stops the server and every task.\n\n",
		a.Addr(), time.Since(begin).Seconds(), a.signInHint(), a.cfg.DataDir)
	warnSharedAccount(ctx, a.cfg, parts)
	memory.Return() // the start needs more memory than what follows
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.cfg.Out, "  Stopping…")
		a.ready.stopping.Store(true)
		<-time.After(a.cfg.DrainDelay)
		return nil
	case err := <-a.life.failed:
		return err
	}
}
