package inbox_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/engine/notify"
)

var everything = inbox.Mode{Inbox: true, Email: true}

func TestEmail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := b.mail()
	ada := b.person("ada", auth.ProjectDev)
	b.set(ada, func(s *inbox.Settings) {
		s.Modes[notify.FirstFailure], s.Modes[notify.Failed] = everything, inbox.Mode{Email: true}
	})
	id := b.ran(ada, "FAILED")
	b.receive()
	b.send()
	require.Len(t, m.got(), 1)
	mail := m.got()[0]
	require.Equal(t, "ada@example.com", mail.to)
	require.Contains(t, mail.text, "Subject: digits.train failed")
	require.Contains(t, mail.text, "train failed: out of memory")
	require.Contains(t, mail.text, site+"/executions/"+id.String())
	require.Contains(t, mail.text, "Choose which e-mails you receive: "+site+"/account/notifications")
	require.Contains(t, mail.text, "Message-ID: <"+b.items(ada)[0].ID.String()+"@flowforge>")
	b.send()
	require.Len(t, m.got(), 1, "it is sent once")

	b.ran(ada, "FAILED")
	b.receive()
	b.send()
	require.Len(t, m.got(), 2)
	require.Len(t, b.items(ada), 1, "the second failure goes by e-mail alone")
}

func TestWithoutMailServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.person("ada", auth.ProjectDev)
	b.set(ada, func(s *inbox.Settings) { s.Modes[notify.FirstFailure] = inbox.Mode{Email: true} })
	b.ran(ada, "FAILED")
	b.receive()
	require.Len(t, b.items(ada), 1, "the inbox has what no e-mail can tell")
	b.send()
	account, err := b.service.Account(ada)
	require.NoError(t, err)
	require.False(t, account.MailServer)
	require.Equal(t, "ada@example.com", account.Email)
}

// TestDigest: what becomes known within an hour is one e-mail, without what the person has read since.
func TestDigest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := b.mail()
	ada := b.person("ada", auth.ProjectDev)
	b.set(ada, func(s *inbox.Settings) {
		s.Digest = inbox.Hourly
		s.Modes[notify.Failed], s.Modes[notify.FirstFailure], s.Modes[notify.Recovered] = everything, everything, everything
	})
	for _, status := range []string{"FAILED", "FAILED", "FAILED", "SUCCEEDED"} {
		b.ran(ada, status)
		b.receive()
	}
	_, err := b.service.Mark(ada, b.items(ada)[1].ID, true)
	require.NoError(t, err)
	b.send()
	require.Empty(t, m.got())
	b.clock.add(time.Hour)
	b.send()
	require.Len(t, m.got(), 1)
	text := m.got()[0].text
	require.Contains(t, text, "Subject: 3 notifications, the last: digits.train recovered")
	plain, _, _ := strings.Cut(text, "text/html")
	require.Equal(t, 3, strings.Count(plain, site+"/executions/"))
	require.Contains(t, text, site+"/inbox")
	b.clock.add(time.Hour)
	b.send()
	require.Len(t, m.got(), 1)
}

func TestQuietHours(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := b.mail()
	ada := b.person("ada", auth.ProjectDev)
	b.set(ada, func(s *inbox.Settings) {
		s.Modes[notify.FirstFailure], s.QuietFrom, s.QuietTo, s.Timezone = everything, "12:30", "15:00", "Europe/Berlin"
	})
	b.ran(ada, "FAILED") // 13:01 in Berlin
	b.receive()
	require.Len(t, b.items(ada), 1, "the inbox has no quiet hours")
	b.clock.add(118 * time.Minute)
	b.send()
	require.Empty(t, m.got())
	b.clock.add(2 * time.Minute)
	b.send()
	require.Len(t, m.got(), 1)
}

func TestMutedWorkflows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.person("ada", auth.ProjectDev)
	require.NoError(t, b.service.Mute(ada, "digits.*"))
	b.ran(ada, "FAILED")
	b.receive()
	require.Empty(t, b.items(ada))
	b.set(ada, func(s *inbox.Settings) { s.Muted = nil })
	b.ran(ada, "FAILED")
	b.receive()
	require.Len(t, b.items(ada), 1)
}

// TestRefusedEmail: a temporary refusal is repeated, a final one is shown with the settings.
func TestRefusedEmail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := b.mail()
	ada := b.person("ada", auth.ProjectDev)
	b.set(ada, func(s *inbox.Settings) { s.Modes[notify.FirstFailure], s.Modes[notify.Failed] = everything, everything })
	m.answers(&smtp.SMTPError{Code: 451, Message: "try again later"})
	b.ran(ada, "FAILED")
	b.receive()
	b.send()
	m.answers(nil)
	b.send()
	require.Empty(t, m.got(), "the next attempt is not due")
	b.clock.add(2 * time.Minute)
	b.send()
	require.Len(t, m.got(), 1)

	m.answers(&smtp.SMTPError{Code: 550, Message: "no such mailbox"})
	b.ran(ada, "FAILED")
	b.receive()
	b.send()
	account, err := b.service.Account(ada)
	require.NoError(t, err)
	require.Contains(t, account.MailError, "550")
	m.answers(nil)
	b.ran(ada, "FAILED")
	b.receive()
	b.send()
	require.Len(t, m.got(), 2, "a final refusal is not repeated")
	account, err = b.service.Account(ada)
	require.NoError(t, err)
	require.Empty(t, account.MailError)
}

// TestCrashWhileSending: a server that stops before the result is stored repeats the e-mail with the same
// Message-ID.
func TestCrashWhileSending(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"inbox.claimed", "inbox.sent"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			m := b.mail()
			ada := b.person("ada", auth.ProjectDev)
			b.set(ada, func(s *inbox.Settings) { s.Modes[notify.FirstFailure] = everything })
			b.ran(ada, "FAILED")
			b.receive()
			ctx, kill := context.WithCancel(b.system)
			config := b.config
			config.Crash = func(at string) {
				if at == point {
					kill()
				}
			}
			_ = inbox.New(config).SendDue(ctx)
			sent := len(m.got())
			b.send()
			require.Len(t, m.got(), sent, "the claim has not expired")
			b.clock.add(time.Minute)
			b.send()
			require.Len(t, m.got(), sent+1)
			id := "Message-ID: <" + b.items(ada)[0].ID.String() + "@flowforge>"
			for _, mail := range m.got() {
				require.Contains(t, mail.text, id)
			}
		})
	}
}

// TestEmailsOfProjectsThatAPersonLeft are not sent.
func TestEmailsOfProjectsThatAPersonLeft(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := b.mail()
	ada := b.person("ada", auth.ProjectDev)
	b.set(ada, func(s *inbox.Settings) { s.Modes[notify.FirstFailure], s.Digest = everything, inbox.Daily })
	b.ran(ada, "FAILED")
	b.receive()
	b.exec("DELETE FROM memberships WHERE user_id = $1", ada.id)
	b.exec("UPDATE tenancy_version SET version = version + 1")
	require.NoError(t, b.policies.Reload(b.system))
	b.clock.add(24 * time.Hour)
	b.send()
	require.Empty(t, m.got())
}
