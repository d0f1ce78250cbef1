package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/enginetest"
	"github.com/flowforge/flowforge/jobs"
	"github.com/flowforge/flowforge/platform/testlog"
)

// TestAStopAfterTheStartLogsNothing: River inserts its periodic jobs up to a second after it became the
// leader. A stop before that is not an error.
func TestAStopAfterTheStartLogsNothing(t *testing.T) {
	t.Parallel()
	e, found := enginetest.New(t), &testlog.Buffer{}
	for range 5 {
		client, err := jobs.NewClient(jobs.Config{Pool: e.Pool, Executions: e.Service, Log: slog.New(quiet{slog.NewTextHandler(found, nil)})})
		require.NoError(t, err)
		require.NoError(t, client.Start(context.WithoutCancel(e.Ctx)))
		require.Eventually(t, func() bool {
			var leaders int
			require.NoError(t, e.Pool.QueryRow(e.Ctx, "SELECT count(*) FROM river_leader").Scan(&leaders))
			return leaders == 1
		}, time.Minute, time.Millisecond)
		ctx, cancel := context.WithTimeout(e.Ctx, time.Minute)
		require.NoError(t, client.Stop(ctx))
		cancel()
	}
	require.Empty(t, found.String())
}

// TestQuiet: only the errors of work that was cancelled are omitted.
func TestQuiet(t *testing.T) {
	t.Parallel()
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	late, end := context.WithTimeout(t.Context(), 0)
	defer end()
	for _, c := range []struct {
		ctx     context.Context
		level   slog.Level
		err     any
		omitted bool
	}{
		{stopped, slog.LevelError, "begin: context canceled", true},
		{stopped, slog.LevelError, context.Canceled, true},
		{stopped, slog.LevelError, errors.New("no such table"), false},
		{late, slog.LevelError, "begin: context canceled", false},
		{t.Context(), slog.LevelError, "begin: context canceled", false},
		{t.Context(), slog.LevelWarn, "slow", false},
		{t.Context(), slog.LevelInfo, "10 jobs", true},
	} {
		found := &testlog.Buffer{}
		slog.New(quiet{slog.NewTextHandler(found, nil)}).Log(c.ctx, c.level, "maintenance", "error", c.err)
		require.Equal(t, c.omitted, found.String() == "", "%v: %v", c.level, c.err)
	}
}
