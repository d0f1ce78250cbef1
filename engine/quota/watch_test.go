package quota_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/quota"
)

// TestWatchWakesTheQuotas: a changed tree is loaded when the watch reports a change.
func TestWatchWakesTheQuotas(t *testing.T) {
	t.Parallel()
	b, watch := setup(t), dbtest.NewWatch(t)
	s, err := quota.New(quota.Config{Pool: b.pool, Instance: "test", Watch: watch.Watch})
	require.NoError(t, err)
	require.NoError(t, s.Prepare(b.ctx))
	watch.Run(1, func(ctx context.Context) { _ = s.Run(ctx) })
	_, project := b.project("late")
	watch.Wakes(func() bool { return s.Scheduler().Tree().Path(project) != nil })
}
