package inbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/engine/notify"
)

// TestWatchWakesTheLoops: an event becomes an item, and its e-mail is sent, when the watch reports a
// change.
func TestWatchWakesTheLoops(t *testing.T) {
	t.Parallel()
	b, watch := setup(t), dbtest.NewWatch(t)
	m := b.mail()
	ada := b.person("ada", auth.ProjectDev)
	b.set(ada, func(s *inbox.Settings) { s.Modes[notify.FirstFailure] = everything })
	config := b.config
	config.Watch, config.Every = watch.Watch, time.Millisecond
	watch.Run(2, inbox.New(config).Run)
	b.ran(ada, "FAILED")
	_, err := b.feed.Relay(b.system)
	require.NoError(t, err)
	watch.Wakes(func() bool { return len(b.items(ada)) == 1 })
	watch.Announce() // the loop of e-mails may have looked before the item was there
	require.Eventually(t, func() bool { return len(m.got()) == 1 }, 20*time.Second, 5*time.Millisecond)
}

// TestReadingNothingChangesNothing: polling a feed without new events locks no row, so it wakes no loop.
func TestReadingNothingChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lock, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = lock.Rollback(b.system) }()
	_, err = lock.Exec(t.Context(), "SELECT * FROM inbox_feed FOR UPDATE")
	require.NoError(t, err)
	more, err := b.service.Receive(b.system)
	require.NoError(t, err, "it does not wait for the lock")
	require.False(t, more)
}
