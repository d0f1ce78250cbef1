package index_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/db/dbtest"
)

// TestWatchWakesTheIndex: a changed execution is indexed when the watch reports a change.
func TestWatchWakesTheIndex(t *testing.T) {
	t.Parallel()
	b, watch := setup(t), dbtest.NewWatch(t)
	service := index.New(index.Config{Pool: b.pool, Conn: b.telemetry.Conn, Watch: watch.Watch, Now: time.Now})
	watch.Run(1, func(ctx context.Context) { _ = service.Run(ctx) })
	b.run(auth.LocalProject, map[string]any{"lr": 1})
	watch.Wakes(func() bool {
		var waiting int
		require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM execution_changes").Scan(&waiting))
		return waiting == 0
	})
}
