package app

import (
	"time"

	"github.com/flowforge/flowforge/engine/notify"
)

// openNotifications creates the service of notifications; the leader sends them.
func (a *App) openNotifications(p *parts) {
	p.notifications = notify.New(notify.Config{
		Pool: p.pool, Channels: p.connections, Dialer: a.dialer(), PublicURL: a.publicURL(), Logger: a.cfg.Log, Now: time.Now,
	})
}
