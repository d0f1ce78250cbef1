package telemetry

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestPointsAreReportedApartFromTheRecords(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var calls [][]uuid.UUID
	down := true
	c := Config{PointsInterval: time.Hour, Points: func(_ context.Context, ids []uuid.UUID) error {
		mu.Lock()
		defer mu.Unlock()
		if down {
			return errors.New("PostgreSQL does not respond")
		}
		calls = append(calls, ids)
		return nil
	}}
	c.setDefaults()
	n := newNoter(c)
	id, other := uuid.New(), uuid.New()
	of := func(id uuid.UUID) []point { return []point{{Point: Point{ExecutionID: id}}} }

	n.add(of(id))
	_, err := n.report(t.Context(), false)
	require.Error(t, err)
	mu.Lock()
	down = false
	mu.Unlock()
	_, err = n.report(t.Context(), false)
	require.NoError(t, err)
	require.Equal(t, [][]uuid.UUID{{id}}, calls, "a failed report is repeated")

	n.add(of(id))
	n.add(of(other))
	_, err = n.report(t.Context(), false)
	require.NoError(t, err)
	require.Equal(t, [][]uuid.UUID{{id}, {other}}, calls, "an execution is reported once in the interval")
	n.last(t.Context())
	require.Equal(t, [][]uuid.UUID{{id}, {other}, {id}}, calls, "what waits is reported at the end")
}
