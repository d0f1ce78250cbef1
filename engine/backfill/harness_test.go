package backfill_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/backfill"
	"github.com/flowforge/flowforge/engine/enginetest"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/workflow"
)

// bundle is an engine on its own database, whose backfills are launched by look.
type bundle struct {
	t         *testing.T
	ctx       context.Context
	pool      *pgxpool.Pool
	workflows *workflow.Service
	engine    *execution.Service
	schedules *schedule.Service
	backfills *backfill.Service
	clock     *clock
	denied    *atomic.Bool
	config    backfill.Config
}

// quick ends by itself and takes a day.
const quick = `{name: quick, version: 1.0.0, inputs: [{name: day, type: Date, default: "2026-01-01"}, {name: n, type: "Integer(max=5)", default: 1}],
	operators: [{name: one, type: noop}]}`

// gate waits for a person, so that its runs stay.
const gate = `{name: gate, version: 1.0.0, operators: [{name: wait, type: approval}]}`

func setup(t *testing.T) *bundle {
	t.Helper()
	e := enginetest.New(t)
	b := &bundle{clock: &clock{at: start}, t: t, ctx: e.Ctx, pool: e.Pool, workflows: e.Workflows, engine: e.Service, denied: &e.Denied}
	b.schedules = schedule.New(schedule.Config{Pool: e.Pool, Workflows: e.Workflows, Executions: e.Service, Logger: e.Log, Now: b.clock.now, Acting: e.Acting})
	b.config = backfill.Config{Pool: e.Pool, Schedules: b.schedules, Workflows: e.Workflows, Executions: e.Service, Logger: e.Log, Now: b.clock.now, Acting: e.Acting}
	b.backfills = backfill.New(b.config)
	e.Run()
	e.Register(quick, gate)
	return b
}

// start is a Tuesday.
var start = time.Date(2026, 11, 24, 11, 30, 0, 0, time.UTC)

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// daily is a schedule that runs each day at two in Berlin, paused so that nothing else launches.
func (b *bundle) daily(workflow string, change func(*schedule.Spec)) schedule.Schedule {
	b.t.Helper()
	sp := schedule.Spec{
		Workflow: workflow, Name: workflow + " daily", When: schedule.When{Expressions: []string{"0 2 * * *"}, Timezone: "Europe/Berlin"}, Priority: -1, Paused: true,
	}
	if change != nil {
		change(&sp)
	}
	sc, err := b.schedules.Create(b.ctx, sp)
	require.NoError(b.t, err, "%v", apperr.FieldsOf(err))
	return sc
}

// spec is a backfill of a schedule from 1 October for a number of days.
func (b *bundle) spec(sc schedule.Schedule, days int) backfill.Spec {
	b.t.Helper()
	zone, err := time.LoadLocation(sc.Timezone)
	require.NoError(b.t, err)
	from := time.Date(2026, 10, 1, 0, 0, 0, 0, zone)
	return backfill.Spec{Schedule: sc.ID, From: from, Until: from.AddDate(0, 0, days), Priority: -1, Parallelism: backfill.MaxParallelism}
}

func (b *bundle) create(sp backfill.Spec) backfill.Backfill {
	b.t.Helper()
	out, err := b.backfills.Create(b.ctx, sp)
	require.NoError(b.t, err, "%v", apperr.FieldsOf(err))
	return out
}

// look launches what there is room for.
func (b *bundle) look() {
	b.t.Helper()
	require.NoError(b.t, b.backfills.Look(auth.AsSystem(b.ctx)))
}

func (b *bundle) slots(id uuid.UUID) []backfill.Slot {
	b.t.Helper()
	list, next, err := b.backfills.Slots(b.ctx, id, nil, backfill.MaxSlots)
	require.NoError(b.t, err)
	require.Nil(b.t, next)
	return list
}

// launched are the slots that have an execution of the backfill.
func (b *bundle) launched(id uuid.UUID) (out []backfill.Slot) {
	b.t.Helper()
	for _, s := range b.slots(id) {
		if s.State == backfill.SlotLaunched {
			out = append(out, s)
		}
	}
	return out
}

func (b *bundle) executions() (n int) {
	b.t.Helper()
	require.NoError(b.t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM executions").Scan(&n))
	return n
}

// ends looks until the backfill has a status.
func (b *bundle) ends(id uuid.UUID, status backfill.Status) backfill.Backfill {
	b.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		b.look()
		got, err := b.backfills.Get(b.ctx, id)
		require.NoError(b.t, err)
		if got.Status == status {
			return got
		}
		require.True(b.t, time.Now().Before(deadline), "the backfill is %s, not %s", got.Status, status)
	}
}

// hasEnded waits until an execution has been cancelled.
func (b *bundle) hasEnded(id uuid.UUID) {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		e, err := b.engine.Get(b.ctx, id)
		require.NoError(b.t, err)
		if e.Status == query.Cancelled {
			return
		}
		require.True(b.t, time.Now().Before(deadline), "the execution is %s", e.Status)
	}
}
