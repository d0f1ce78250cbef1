package app

import (
	"time"

	"github.com/flowforge/flowforge/engine/trigger"
)

// openTriggers creates the service of triggers. The job that reports the end of an execution and the
// endpoint of webhooks call it.
func (a *App) openTriggers(p *parts) {
	p.triggers = trigger.New(trigger.Config{
		Pool: p.pool, Workflows: p.workflows, Executions: p.executions.Launches, Secrets: p.secrets, Acting: p.users.Acting, Logger: a.cfg.Log, Now: time.Now,
	})
}
