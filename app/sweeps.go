package app

import (
	"time"

	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/optuna"
)

// openSweeps creates the service of sweeps; the leader drives them.
func (a *App) openSweeps(p *parts) {
	p.sweeps = sweep.New(sweep.Config{
		Pool: p.pool, Workflows: p.workflows, Executions: p.executions, Telemetry: p.telemetry, Index: p.index, Acting: p.users.Acting,
		Optuna: optuna.New(optuna.Config{Python: a.cfg.SweepPython, Base: a.cfg.Python, Dir: a.paths.join("python"), Log: a.cfg.Log}),
		Watch:  p.watch, Logger: a.cfg.Log, Now: time.Now,
	})
}
