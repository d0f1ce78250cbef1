package app

import (
	"fmt"
	"net/mail"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/data/outgoing"
	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/engine/notify"
)

// openNotifications creates the services of notifications and of inboxes; the leader sends what they
// send.
func (a *App) openNotifications(p *parts) {
	p.notifications = notify.New(notify.Config{
		Pool: p.pool, Channels: p.connections, Dialer: a.cfg.dialer(), PublicURL: a.publicURL(), Watch: p.watch, Logger: a.cfg.Log, Now: time.Now,
	})
	p.inbox = inbox.New(inbox.Config{
		Pool: p.pool, Notifications: p.notifications, PublicURL: a.publicURL(), Watch: p.watch, Logger: a.cfg.Log, Now: time.Now,
		MayRead: func(user, project uuid.UUID) bool {
			return p.policies.IsAdmin(user) || p.policies.For(user).May(auth.ExecutionRead, project)
		},
		Mail: a.cfg.Mail, Dialer: outgoing.Dialer{Hosts: []string{a.cfg.Mail.Host}, OwnHosts: true}, // its administrator named the server
	})
}

// checkMail reports what is wrong with the settings of the mail server.
func checkMail(m inbox.Mail) error {
	if !m.Set() {
		return nil
	}
	if _, err := mail.ParseAddress(m.From); err != nil {
		return fmt.Errorf("FLOWFORGE_MAIL_FROM %q is not a sender such as FlowForge <flowforge@example.com>", m.From)
	}
	if err := message.CheckCertificates(m.CACertificate); err != nil {
		return fmt.Errorf("FLOWFORGE_MAIL_CA: %w", err)
	}
	if m.User == "" && m.Password != "" {
		return fmt.Errorf("FLOWFORGE_MAIL_PASSWORD is set without FLOWFORGE_MAIL_USER")
	}
	return nil
}
