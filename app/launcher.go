package app

import (
	"context"
	"errors"
	"time"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/local"
	"github.com/flowforge/flowforge/engine/execution"
)

// openLauncher returns the launcher of attempts: the cluster, when there is one.
func (a *App) openLauncher(c *cluster) execution.Launcher {
	if a.cfg.Attempts != nil {
		return a.cfg.Attempts
	}
	if c != nil && c.client == nil {
		return noLauncher{}
	}
	if c != nil && c.warm != nil {
		return c.warm
	}
	if c != nil {
		return c.client
	}
	return local.New(local.Config{
		Dir: a.paths.runner(), ServerSocket: a.paths.join("run", "api.sock"), Executable: a.cfg.Executable, Environ: a.cfg.Environ,
		Version: version(a.cfg.Executable), Logger: a.cfg.Log,
	})
}

// noLauncher is the launcher of a server that drives no executions.
type noLauncher struct{}

var errNoLauncher = errors.New("this server does not have the role to start attempts")

// Start, Stop and List implement execution.Launcher.
func (noLauncher) Start(context.Context, []launcher.Attempt) error { return errNoLauncher }
func (noLauncher) Stop(context.Context, []launcher.Ref, time.Duration) error {
	return errNoLauncher
}
func (noLauncher) List(context.Context) ([]launcher.Status, error) { return nil, errNoLauncher }

// runLauncher keeps the runner of this machine alive if it drives executions. Close ends
// its tasks.
func (a *App) runLauncher(starts execution.Launcher) {
	l, ok := starts.(interface {
		Run(ctx context.Context) error
		Shutdown(ctx context.Context) error
	})
	if !ok || !a.cfg.Roles.Have(Scheduler) {
		return
	}
	a.life.background("the launcher", l.Run)
	a.life.onStop(func() { a.life.within(5*time.Second, "not all tasks were stopped", l.Shutdown) })
}

// sharedLauncher is the name of a launcher that every server can use.
const sharedLauncher = "shared"

// launcherName returns the launcher of the attempts that this server starts: "" is the
// server itself.
func (c Config) launcherName() string {
	if c.Attempts != nil || c.Kube != nil {
		return sharedLauncher
	}
	return ""
}
