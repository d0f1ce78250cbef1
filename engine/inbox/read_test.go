package inbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/engine/notify"
)

func TestReadAndUnread(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.person("ada", auth.ProjectDev)
	for range 5 {
		b.ran(ada, "FAILED")
	}
	b.receive()
	items := b.items(ada)
	bell, err := b.service.Bell(ada)
	require.NoError(t, err)
	require.Equal(t, inbox.Bell{Unread: 5, Newest: items[4].ID}, bell)
	for _, i := range []int{1, 3, 4} {
		item, err := b.service.Mark(ada, items[i].ID, true)
		require.NoError(t, err)
		require.True(t, item.Read())
	}
	_, err = b.service.Mark(ada, items[4].ID, false)
	require.NoError(t, err)

	// Unread ones come first, over several pages.
	var order []int
	f := inbox.Filter{UnreadFirst: true, Limit: 2}
	for {
		page, err := b.service.List(ada, f)
		require.NoError(t, err)
		require.Equal(t, 3, page.Unread)
		for _, i := range page.Items {
			for at, known := range items {
				if known.ID == i.ID {
					order = append(order, at)
				}
			}
		}
		if page.Next == nil {
			break
		}
		f.Before, f.BeforeRead = page.Next, page.NextRead
	}
	require.Equal(t, []int{4, 2, 0, 3, 1}, order)
	page, err := b.service.List(ada, inbox.Filter{Unread: true, Limit: 10})
	require.NoError(t, err)
	require.Len(t, page.Items, 3)
	page, err = b.service.List(ada, inbox.Filter{Group: inbox.Models, Limit: 10})
	require.NoError(t, err)
	require.Empty(t, page.Items)

	n, err := b.service.MarkAll(ada, &items[3].ID)
	require.NoError(t, err)
	require.Equal(t, 2, n, "what came after the page was drawn stays unread")
	n, err = b.service.MarkAll(ada, nil)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	b.clock.add(inbox.Keep - 3*time.Minute)
	require.NoError(t, b.service.Clean(b.system))
	require.NotEmpty(t, b.items(ada))
	b.clock.add(6 * time.Minute)
	require.NoError(t, b.service.Clean(b.system))
	require.Empty(t, b.items(ada))
}

// TestKeysOfScopeRead list an inbox and do not change it.
func TestKeysOfScopeRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.person("ada", auth.ProjectDev)
	b.ran(ada, "FAILED")
	b.receive()
	subject, err := auth.SignedIn(ada)
	require.NoError(t, err)
	subject.ReadOnly = true
	key := someone{auth.WithSubject(t.Context(), subject), ada.id}
	items := b.items(key)
	require.Len(t, items, 1)
	_, err = b.service.Mark(key, items[0].ID, true)
	require.True(t, apperr.Is(err, apperr.Forbidden), "%v", err)
	_, err = b.service.MarkAll(key, nil)
	require.True(t, apperr.Is(err, apperr.Forbidden), "%v", err)
	require.True(t, apperr.Is(b.service.Mute(key, "x"), apperr.Forbidden))
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.person("ada", auth.ProjectDev)
	account, err := b.service.Account(ada)
	require.NoError(t, err)
	require.False(t, account.Stored)
	require.Equal(t, inbox.Mode{Inbox: true, Email: true}, account.Modes[notify.Approval])
	for field, change := range map[string]func(*inbox.Settings){
		"events":     func(s *inbox.Settings) { s.Modes = map[notify.Event]inbox.Mode{"execution.exploded": {}} },
		"address":    func(s *inbox.Settings) { s.Address = "ada@home.example" },
		"digest":     func(s *inbox.Settings) { s.Digest = "yearly" },
		"digest_at":  func(s *inbox.Settings) { s.DigestAt = "8" },
		"quiet_from": func(s *inbox.Settings) { s.QuietTo = "08:00" },
		"quiet_to":   func(s *inbox.Settings) { s.QuietFrom = "20:00" },
		"timezone":   func(s *inbox.Settings) { s.Timezone = "Mars/Base" },
		"muted":      func(s *inbox.Settings) { s.Muted = []string{"[a"} },
	} {
		var st inbox.Settings
		change(&st)
		_, err := b.service.Put(ada, st)
		fields := apperr.FieldsOf(err)
		require.Len(t, fields, 1, "%s: %v", field, err)
		require.Equal(t, field, fields[0].Path)
	}
	account, err = b.service.Put(ada, inbox.Settings{Modes: map[notify.Event]inbox.Mode{notify.Succeeded: {}}, Digest: inbox.Daily, Muted: []string{"a", " a "}})
	require.NoError(t, err)
	require.True(t, account.Stored)
	require.Equal(t, inbox.Mode{}, account.Modes[notify.Succeeded])
	require.Equal(t, "08:00", account.DigestAt)
	require.Equal(t, []string{"a"}, account.Muted)

	// Only a person whose address no provider knows enters one.
	local := someone{auth.WithSubject(t.Context(), auth.Local()), auth.LocalAdmin}
	_, err = b.service.Put(local, inbox.Settings{Address: "admin"})
	require.Equal(t, "address", apperr.FieldsOf(err)[0].Path)
	account, err = b.service.Put(local, inbox.Settings{Address: "admin@example.com"})
	require.NoError(t, err)
	require.Equal(t, "admin@example.com", account.Email)
	require.False(t, account.Provided)
}

// TestConcurrentChangesOfSettings: a change is based on the one before it.
func TestConcurrentChangesOfSettings(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.person("ada", auth.ProjectDev)
	b.set(ada, func(s *inbox.Settings) { s.Muted = []string{"first"} })
	tx, err := b.pool.Begin(b.system)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(b.system) }()
	_, err = tx.Exec(b.system, "SELECT 1 FROM inbox_settings FOR UPDATE")
	require.NoError(t, err)
	done := make(chan error, 2)
	for _, name := range []string{"second", "third"} {
		go func() { done <- b.service.Mute(ada, name) }()
	}
	require.Eventually(t, func() bool {
		var waiting int
		err := b.pool.QueryRow(b.system, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&waiting)
		return err == nil && waiting == 2
	}, 20*time.Second, 5*time.Millisecond)
	require.NoError(t, tx.Rollback(b.system))
	for range 2 {
		require.NoError(t, <-done)
	}
	account, err := b.service.Account(ada)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"first", "second", "third"}, account.Muted)
}
