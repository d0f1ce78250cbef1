package schedule

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDecideStops: a step with many fires ends with its context, and records nothing.
func TestDecideStops(t *testing.T) {
	t.Parallel()
	sp := Spec{When: When{Expressions: []string{"@every 1s"}, Timezone: "UTC"}}
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	sp.fill(now)
	timing, fields := sp.read()
	require.Empty(t, fields)
	ctx, cancel := context.WithCancel(t.Context())
	st, err := decide(ctx, timing, sp, now, now.Add(time.Minute), 0, nil)
	require.NoError(t, err)
	require.Equal(t, now, *st.fire)
	cancel()
	st, err = decide(ctx, timing, sp, now, now.Add(time.Minute), 0, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, st.fire)
}
