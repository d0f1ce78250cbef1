package app

import (
	"time"

	"github.com/flowforge/flowforge/engine/schedule"
)

// openSchedules creates the service of schedules; the leader runs them.
func (a *App) openSchedules(p *parts) {
	p.schedules = schedule.New(schedule.Config{
		Pool: p.pool, Workflows: p.workflows, Executions: p.executions, Acting: p.users.Acting, Watch: p.watch, Logger: a.cfg.Log, Now: time.Now,
	})
	p.workflows.ScheduleWith(p.schedules)
}
