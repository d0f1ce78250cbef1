// Package sinktest runs sinks on a feed of events.
package sinktest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/feed/consumer"
	"github.com/flowforge/flowforge/engine/feed/sink"
)

// Feed is a feed with the consumer of a sink.
type Feed struct {
	*testing.T
	Ctx       context.Context
	Pool      *pgxpool.Pool
	Consumers *consumer.Service

	system sink.System
}

// New returns an empty feed in a database of its own.
func New(t *testing.T, system sink.System) *Feed {
	t.Helper()
	f := &Feed{T: t, Ctx: auth.AsSystem(t.Context()), Pool: dbtest.New(t), system: system}
	f.Consumers = consumer.New(consumer.Config{Pool: f.Pool})
	return f
}

// Run runs a sink until the function is called, which waits for its end, or until the test ends.
func (f *Feed) Run(s *sink.Sink) (end func()) {
	f.Helper()
	ctx, cancel := context.WithCancel(f.Ctx)
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	end = func() {
		cancel()
		running.Wait()
	}
	f.Cleanup(end)
	return end
}

// Record adds an event with about size bytes of data to the feed, which cannot be compressed.
func (f *Feed) Record(id string, execution *uuid.UUID, size int) {
	f.Helper()
	text := ""
	for len(text) < size {
		text += rand.Text()
	}
	data, err := json.Marshal(map[string]string{"text": text})
	require.NoError(f, err)
	_, err = f.Pool.Exec(f.Ctx, `WITH moved AS (UPDATE event_feed_state SET position = position + 1 RETURNING position)
		INSERT INTO event_feed (position, id, topic, type, at, recorded_at, tenant_id, project_id, execution_id, subject, data)
		SELECT position, $1, 'task', 'node.started', now(), now(), $2, $3, $4, 'train', $5 FROM moved`, id, auth.LocalTenant, auth.LocalProject, execution, data)
	require.NoError(f, err)
}

// EndLeases ends the leases of a sink that was killed.
func (f *Feed) EndLeases() {
	f.Helper()
	_, err := f.Pool.Exec(f.Ctx, "UPDATE event_deliveries SET due_at = now() - interval '1 minute' WHERE lease IS NOT NULL")
	require.NoError(f, err)
}

// Until waits for a state of the sink's consumer.
func (f *Feed) Until(reached func(consumer.Consumer) bool) consumer.Consumer {
	f.Helper()
	for {
		c, err := f.Consumers.Get(f.Ctx, f.system.Ref())
		if err == nil && reached(c) {
			return c
		}
		require.NoError(f, f.Ctx.Err())
	}
}

// Sent is the state after n events, when the broker works.
func Sent(n int64) func(consumer.Consumer) bool {
	return func(c consumer.Consumer) bool { return c.Acknowledged == n && c.Lag == 0 && c.Problem == "" }
}

// Stopped is the state while the broker accepts no events.
func Stopped(c consumer.Consumer) bool { return c.Problem != "" }
