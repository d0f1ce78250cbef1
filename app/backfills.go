package app

import (
	"time"

	"github.com/flowforge/flowforge/engine/backfill"
)

// openBackfills creates the service of backfills; the leader launches them.
func (a *App) openBackfills(p *parts) {
	p.backfills = backfill.New(backfill.Config{
		Pool: p.pool, Schedules: p.schedules, Workflows: p.workflows, Executions: p.executions, Acting: p.users.Acting, Watch: p.watch, Logger: a.cfg.Log, Now: time.Now,
	})
}
