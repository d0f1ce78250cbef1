package executions

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/platform/sharing"
)

// TestPagesShareCurves: pages of one execution get the result of one read until it is old. It says which
// points it contains, so that a page reads again after later ones.
func TestPagesShareCurves(t *testing.T) {
	t.Parallel()
	service, err := telemetry.New(telemetry.Config{SpoolDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, service.Close()) })
	var clock atomic.Int64
	shared := &sharedReads{
		pages:  &Pages{Config: Config{Telemetry: service}},
		series: sharing.New[seriesKey, sharedSeries](shareFor, func() time.Time { return time.Unix(0, clock.Load()) }),
	}
	id := uuid.Must(uuid.NewV7())
	report := func(seq int64) {
		t.Helper()
		point := telemetry.Point{TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, ExecutionID: id, Node: "train", Attempt: 1, Name: "loss", Seq: seq, Value: 0.5, Time: time.Now()}
		require.NoError(t, service.AppendMetrics(auth.AsSystem(t.Context()), []telemetry.Point{point}))
	}
	ctx := auth.WithSubject(t.Context(), auth.Local())
	q := telemetry.MetricQuery{ExecutionID: id, Source: telemetry.FromTask}
	report(1)
	first, received, err := shared.taskSeries(ctx, q)
	require.NoError(t, err)
	require.Len(t, first[0].Points, 1)
	now, known := service.Received(ctx, id)
	require.True(t, known)
	require.Equal(t, now, received)

	report(2)
	same, received, err := shared.taskSeries(ctx, q)
	require.NoError(t, err)
	require.Same(t, &first[0], &same[0], "another page read again")
	now, _ = service.Received(ctx, id)
	require.Less(t, received, now, "the page does not know that a point is missing")

	clock.Add(int64(shareFor) + 1)
	both, received, err := shared.taskSeries(ctx, q)
	require.NoError(t, err)
	require.Len(t, both[0].Points, 2)
	require.Equal(t, now, received)

	q.Node = "other"
	none, _, err := shared.taskSeries(ctx, q)
	require.NoError(t, err)
	require.Empty(t, none, "another node has its own result")
}
