package app

import (
	"context"
	"errors"
	"time"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/local"
	"github.com/flowforge/flowforge/engine/execution"
)

// openLauncher returns what starts attempts: the cluster, when there is one.
func (a *App) openLauncher(c *cluster) execution.Launcher {
	if a.cfg.Attempts != nil {
		return a.cfg.Attempts
	}
	if c != nil && c.client == nil {
		return elsewhere{}
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

// elsewhere is the launcher of a server that drives no executions.
type elsewhere struct{}

var errElsewhere = errors.New("this server starts no attempts: its roles are others")

// Start, Stop and List are for execution.Launcher.
func (elsewhere) Start(context.Context, []launcher.Attempt) error { return errElsewhere }
func (elsewhere) Stop(context.Context, []launcher.Ref, time.Duration) error {
	return errElsewhere
}
func (elsewhere) List(context.Context) ([]launcher.Status, error) { return nil, errElsewhere }

// runLauncher keeps the runner of this machine alive, where executions are driven.
// Close ends its tasks.
func (a *App) runLauncher(starts execution.Launcher) {
	l, ok := starts.(interface {
		Run(ctx context.Context) error
		Shutdown(ctx context.Context) error
	})
	if !ok || !a.cfg.Roles.Have(Scheduler) {
		return
	}
	a.background("the launcher", l.Run)
	a.onStop(func() { a.within(5*time.Second, "not every task stopped in good order", l.Shutdown) })
}

// sharedLauncher names a launcher that every server has.
const sharedLauncher = "shared"

// launcherName is who answers for the attempts that this server starts: "" is itself.
func (a *App) launcherName() string {
	if a.cfg.Attempts != nil || a.cfg.Kube != nil {
		return sharedLauncher
	}
	return ""
}
