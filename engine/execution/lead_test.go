package execution_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// hungStatements are statements that end only with their context.
type hungStatements struct {
	text  string
	begun chan struct{} // receives a value for each of them
}

func (h *hungStatements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, h.text) {
		select {
		case h.begun <- struct{}{}:
		case <-ctx.Done():
		}
		<-ctx.Done()
	}
	return ctx
}

func (*hungStatements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// hang makes the statements of an engine that contain text hang.
func hang(t *testing.T, c *execution.Config, text string) *hungStatements {
	t.Helper()
	hung := &hungStatements{text: text, begun: make(chan struct{})}
	config := c.Pool.Config()
	config.ConnConfig.Tracer = hung
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	c.Pool = pool
	return hung
}

// TestAHungConnectionDoesNotStopRenewals: a renewal of leases that gets no answer ends in time for the
// next one.
func TestAHungConnectionDoesNotStopRenewals(t *testing.T) {
	t.Parallel()
	var hung *hungStatements
	b := setup(t, func(c *execution.Config) {
		hung = hang(t, c, "name: RenewLeases ")
		c.Timing.Linger = time.Minute // the loop keeps its lease
	})
	id := b.launch("name: waits\nversion: 1.0.0\noperators: [{name: a, type: approval}]", nil)
	b.until(id, "it waits for a person", func(e query.Execution) bool { return e.Counts.AwaitingApproval == 1 })
	for range 2 {
		await(t, hung.begun)
	}
}

// TestAHungConnectionDoesNotStopSearches: a search for attempts without pods that gets no answer ends in
// time for the next one.
func TestAHungConnectionDoesNotStopSearches(t *testing.T) {
	t.Parallel()
	var hung *hungStatements
	setupPods(t, func(c *execution.Config) {
		hung = hang(t, c, "name: ListSettledReservations ")
		c.Timing.Missing = 100 * time.Millisecond
	})
	for range 2 {
		await(t, hung.begun)
	}
}
