package schedule_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/enginetest"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/workflow"
)

// bundle is an engine on its own database, whose schedules are fired by fire.
type bundle struct {
	t         *testing.T
	ctx       context.Context
	pool      *pgxpool.Pool
	workflows *workflow.Service
	engine    *execution.Service
	schedules *schedule.Service
	clock     *clock
	denied    *atomic.Bool
	config    schedule.Config
}

// quick ends by itself and takes a day.
const quick = `{name: quick, version: 1.0.0, inputs: [{name: day, type: Date, default: "2026-01-01"}, {name: n, type: "Integer(max=5)", default: 1}],
	operators: [{name: one, type: noop}]}`

// gate waits for a user, so that its runs stay.
const gate = `{name: gate, version: 1.0.0, operators: [{name: wait, type: approval}]}`

func setup(t *testing.T) *bundle {
	t.Helper()
	e := enginetest.New(t)
	b := &bundle{clock: &clock{at: start}, t: t, ctx: e.Ctx, pool: e.Pool, workflows: e.Workflows, engine: e.Service, denied: &e.Denied}
	b.config = schedule.Config{
		Pool: e.Pool, Workflows: e.Workflows, Executions: e.Service, Every: 10 * time.Millisecond, Logger: e.Log, Now: b.clock.now, Acting: e.Acting,
	}
	b.schedules = schedule.New(b.config)
	b.workflows.ScheduleWith(b.schedules)
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

// hourly fires at each full hour.
func hourly(workflow string, change func(*schedule.Spec)) schedule.Spec {
	sp := schedule.Spec{Workflow: workflow, Name: workflow + " hourly", When: schedule.When{Expressions: []string{"0 * * * *"}}, Priority: -1}
	if change != nil {
		change(&sp)
	}
	return sp
}

func (b *bundle) create(sp schedule.Spec) schedule.Schedule {
	b.t.Helper()
	sc, err := b.schedules.Create(b.ctx, sp)
	require.NoError(b.t, err, "%v", apperr.FieldsOf(err))
	return sc
}

// fire sets the clock and fires what is due then.
func (b *bundle) fire(at time.Time) {
	b.t.Helper()
	b.clock.set(at)
	require.NoError(b.t, b.schedules.FireAll(auth.AsSystem(b.ctx)))
}

// occurrences are those of a schedule, the oldest first.
func (b *bundle) occurrences(id uuid.UUID) []schedule.Occurrence {
	b.t.Helper()
	list, _, err := b.schedules.Occurrences(b.ctx, id, nil, 200)
	require.NoError(b.t, err)
	slices.Reverse(list)
	return list
}

// states are the states of the occurrences, the oldest first.
func (b *bundle) states(id uuid.UUID) (out []schedule.State) {
	b.t.Helper()
	for _, o := range b.occurrences(id) {
		out = append(out, o.State)
	}
	return out
}

func (b *bundle) executions() (n int) {
	b.t.Helper()
	require.NoError(b.t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM executions").Scan(&n))
	return n
}

// ended waits until the execution of an occurrence has a status.
func (b *bundle) ended(o schedule.Occurrence, status string) {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		e, err := b.engine.Get(b.ctx, *o.ExecutionID)
		require.NoError(b.t, err)
		if string(e.Status) == status {
			return
		}
		require.True(b.t, time.Now().Before(deadline), "the execution is %s, not %s", e.Status, status)
	}
}
