package quota_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// clock is a manual clock.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// testBundle is a Service on its own database: 100 cores, 8 A100.
type testBundle struct {
	*quota.Service

	t     testing.TB
	ctx   context.Context
	pool  *pgxpool.Pool
	clock *clock
}

func setup(t testing.TB) *testBundle {
	t.Helper()
	b := &testBundle{t: t, ctx: auth.WithSubject(t.Context(), auth.Local()), pool: dbtest.New(t), clock: &clock{now: time.Now().UTC().Truncate(time.Second)}}
	b.Service = b.open()
	return b
}

// open returns another Service on the same rows, like that of another server.
func (b *testBundle) open() *quota.Service {
	b.t.Helper()
	devices, err := quota.ParseGPUs("A100:8")
	require.NoError(b.t, err)
	s, err := quota.New(quota.Config{
		Pool: b.pool, Instance: "test", Now: b.clock.Now, Logger: slog.New(slog.DiscardHandler),
		Capacity: quota.Capacity{CPUMillis: 100_000, MemoryMiB: 100_000, Pods: 1000, GPUs: devices},
	})
	require.NoError(b.t, err)
	require.NoError(b.t, s.Prepare(b.ctx))
	return s
}

// project adds a team with one project and returns both.
func (b *testBundle) project(name string) (team, project uuid.UUID) {
	b.t.Helper()
	team, project = uuid.New(), uuid.New()
	b.exec(`INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name)
		SELECT $1, 'team', id, kind, id, path || $1::uuid, $2 FROM tenancy_nodes WHERE id = $3`, team, name, auth.LocalTenant)
	b.exec(`INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, namespace)
		SELECT $1, 'project', id, kind, tenant_id, path || $1::uuid, $2, 'ff-' || $2 FROM tenancy_nodes WHERE id = $3`, project, name, team)
	return team, project
}

func (b *testBundle) exec(sql string, args ...any) {
	b.t.Helper()
	_, err := b.pool.Exec(b.ctx, sql, args...)
	require.NoError(b.t, err)
}

// limit sets the limits of a level like an administrator's transaction.
func (b *testBundle) limit(level uuid.UUID, limit, borrow fair.Vector) {
	b.t.Helper()
	b.exec(`INSERT INTO quotas (node_id, limits, borrow) VALUES ($1, $2, $3)
		ON CONFLICT (node_id) DO UPDATE SET limits = excluded.limits, borrow = excluded.borrow, version = quotas.version + 1`,
		level, limit, fair.Vector{}.Plus(borrow))
}

// grant is the grant of a scheduler for attempt 1 of a node.
func grant(project, execution uuid.UUID, node int, amount fair.Amount) fair.Grant {
	return fair.Grant{Request: fair.Request{
		Key: fair.Key{Execution: execution, Node: node}, Project: project, Attempt: 1, Amount: amount, Preemptible: true,
	}}
}

// reserve reserves in its own transaction.
func (b *testBundle) reserve(grants ...fair.Grant) *fair.Reason {
	b.t.Helper()
	var reason *fair.Reason
	require.NoError(b.t, b.tx(func(q *db.Queries) (err error) {
		reason, err = b.Reservations.Reserve(b.ctx, q, grants)
		return err
	}))
	return reason
}

func (b *testBundle) release(project uuid.UUID, slots ...quota.Slot) int {
	b.t.Helper()
	var n int
	require.NoError(b.t, b.tx(func(q *db.Queries) (err error) {
		n, err = b.Reservations.Release(b.ctx, q, project, slots)
		return err
	}))
	return n
}

func (b *testBundle) tx(do func(*db.Queries) error) error {
	return db.Tx(b.ctx, b.pool, func(_ pgx.Tx, q *db.Queries) error { return do(q) })
}

// used returns a counter.
func (b *testBundle) used(level uuid.UUID) fair.Vector {
	b.t.Helper()
	var used fair.Vector
	require.NoError(b.t, b.pool.QueryRow(b.ctx, "SELECT used FROM quota_usage WHERE node_id = $1", level).Scan(&used))
	return used
}
