package schedule_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/schedule"
)

// refuse makes the database refuse changes of the rows of a table that match a condition.
func (b *bundle) refuse(table, condition string) {
	b.t.Helper()
	_, err := b.pool.Exec(b.ctx, fmt.Sprintf(`
		CREATE OR REPLACE FUNCTION refuse_%[1]s() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused by the test'; END $$;
		CREATE OR REPLACE TRIGGER refuse BEFORE UPDATE OF %[3]s ON %[1]s FOR EACH ROW WHEN (%[2]s) EXECUTE FUNCTION refuse_%[1]s()`,
		table, condition, map[string]string{"schedules": "name", "executions": "expires_at"}[table]))
	require.NoError(b.t, err)
}

func (b *bundle) accept(table string) {
	b.t.Helper()
	_, err := b.pool.Exec(b.ctx, "DROP TRIGGER refuse ON "+table)
	require.NoError(b.t, err)
}

func (b *bundle) get(id uuid.UUID) schedule.Schedule {
	b.t.Helper()
	sc, err := b.schedules.Get(b.ctx, id)
	require.NoError(b.t, err)
	return sc
}

// named returns a schedule with the given name that fires at each full hour.
func named(name string, change func(*schedule.Spec)) schedule.Spec {
	return hourly("quick", func(sp *schedule.Spec) {
		sp.Name = name
		change(sp)
	})
}

// TestAScheduleThatCannotBePaused: it does not keep others from being paused or launched. It shows why, until it
// is paused.
func TestAScheduleThatCannotBePaused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	failing := func(sp *schedule.Spec) {
		sp.PauseAfter, sp.Inputs, sp.Overlap = 1, map[string]any{"n": 4}, schedule.OverlapAllow
	}
	all := []schedule.Schedule{b.create(named("a", failing)), b.create(named("b", failing)), b.create(named("c", failing))}
	works := b.create(named("works", func(sp *schedule.Spec) { sp.PauseAfter, sp.Overlap = 1, schedule.OverlapAllow }))
	_, _, err := b.workflows.Register(b.ctx, []byte(`{name: quick, version: 2.0.0, inputs: [{name: n, type: "Integer(max=3)", default: 1}], operators: [{name: one, type: noop}]}`))
	require.NoError(t, err)
	b.refuse("schedules", "OLD.name = 'b'")
	b.clock.set(noon)
	require.NoError(t, b.schedules.FireAll(auth.AsSystem(b.ctx)))
	require.ErrorContains(t, b.schedules.PauseFailing(auth.AsSystem(b.ctx)), all[1].ID.String())
	require.True(t, b.get(all[0].ID).Paused)
	require.True(t, b.get(all[2].ID).Paused)
	stuck := b.get(all[1].ID)
	require.False(t, stuck.Paused)
	require.Equal(t, "FlowForge could not pause this schedule after consecutive failures, and tries again. "+
		"The server's log contains the cause: ask an administrator to search it for the ID of this schedule.", stuck.Problem)

	// The next run of the others is launched. The failing one is not.
	b.clock.set(noon.Add(time.Hour))
	require.ErrorContains(t, b.schedules.FireAll(auth.AsSystem(b.ctx)), all[1].ID.String())
	require.Equal(t, []schedule.State{schedule.Launched, schedule.Launched}, b.states(works.ID))
	require.Equal(t, []schedule.State{schedule.Refused}, b.states(all[1].ID))
	list, _, err := b.schedules.List(b.ctx, schedule.Filter{Name: "b"})
	require.NoError(t, err)
	require.NotEmpty(t, list[0].Problem)

	b.accept("schedules")
	require.NoError(t, b.schedules.FireAll(auth.AsSystem(b.ctx)))
	require.True(t, b.get(all[1].ID).Paused)
	require.Empty(t, b.get(all[1].ID).Problem)
}

// TestAScheduleThatCannotBeRecomputed: it does not keep others from following the clock.
func TestAScheduleThatCannotBeRecomputed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	none := func(*schedule.Spec) {}
	all := []schedule.Schedule{b.create(named("a", none)), b.create(named("b", none)), b.create(named("c", none))}
	b.fire(noon)
	b.refuse("schedules", "OLD.name = 'b'")
	b.clock.set(noon.Add(-48 * time.Hour))
	require.ErrorContains(t, b.schedules.FollowClock(auth.AsSystem(b.ctx)), all[1].ID.String())
	early := noon.Add(-47 * time.Hour)
	require.Equal(t, early, *b.get(all[0].ID).NextAt)
	require.Equal(t, early, *b.get(all[2].ID).NextAt)
	require.Contains(t, b.get(all[1].ID).Problem, "FlowForge could not compute the next run of this schedule after a change of the clock")
	b.accept("schedules")
	require.NoError(t, b.schedules.FollowClock(auth.AsSystem(b.ctx)))
	require.Equal(t, early, *b.get(all[1].ID).NextAt)
	require.Empty(t, b.get(all[1].ID).Problem)
}

// TestAScheduleThatCannotExpire: it does not keep the executions of others.
func TestAScheduleThatCannotExpire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	few := func(sp *schedule.Spec) { sp.KeepSucceeded = new(1) }
	all := []schedule.Schedule{b.create(named("a", few)), b.create(named("b", few)), b.create(named("c", few))}
	for i := range 2 {
		b.fire(noon.Add(time.Duration(i) * time.Hour))
		for _, sc := range all {
			b.ended(b.occurrences(sc.ID)[i], "SUCCEEDED")
		}
	}
	b.refuse("executions", "OLD.name LIKE 'b, %'")
	require.ErrorContains(t, b.schedules.ExpireHistory(auth.AsSystem(b.ctx)), all[1].ID.String())
	expired := func() (names []string) {
		require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT array_agg(left(name, 1) ORDER BY name) FROM executions WHERE expires_at IS NOT NULL").Scan(&names))
		return names
	}
	require.Equal(t, []string{"a", "c"}, expired())
	require.Contains(t, b.get(all[1].ID).Problem, "FlowForge could not remove the old executions of this schedule")
	b.accept("executions")
	require.NoError(t, b.schedules.ExpireHistory(auth.AsSystem(b.ctx)))
	require.Equal(t, []string{"a", "b", "c"}, expired())
	require.Empty(t, b.get(all[1].ID).Problem)

	// Removing old executions does not hide a problem of another kind.
	const other = "FlowForge could not process the run of this schedule, and tries again."
	_, err := b.pool.Exec(b.ctx, "UPDATE schedules SET problem = $2 WHERE id = $1", all[1].ID, other)
	require.NoError(t, err)
	require.NoError(t, b.schedules.ExpireHistory(auth.AsSystem(b.ctx)))
	require.Equal(t, other, b.get(all[1].ID).Problem)
}

// statements counts the statements of a pool.
type statements struct{ atomic.Int64 }

func (s *statements) count(t *testing.T, pool *pgxpool.Pool) *pgxpool.Pool {
	t.Helper()
	config := pool.Config()
	config.ConnConfig.Tracer = s
	counted, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(counted.Close)
	require.NoError(t, counted.Ping(t.Context()))
	s.Store(0)
	return counted
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.Add(1)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestListsReadOccurrencesTogether: with their schedules, in one statement.
func TestListsReadOccurrencesTogether(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.schedules.Calendars().Save(b.ctx, schedule.Calendar{Name: "germany"})
	require.NoError(t, err)
	var ids []uuid.UUID
	for _, name := range []string{"a", "b", "c"} {
		ids = append(ids, b.create(named(name, func(sp *schedule.Spec) { sp.Calendar = "germany" })).ID)
	}
	b.create(named("paused", func(sp *schedule.Spec) { sp.Paused = true }))
	for i := range 3 {
		b.fire(noon.Add(time.Duration(i) * time.Hour))
	}
	var statements statements
	config := b.config
	config.Pool = statements.count(t, b.pool)
	list, _, err := schedule.New(config).List(b.ctx, schedule.Filter{Recent: 2})
	require.NoError(t, err)
	require.Equal(t, int64(3), statements.Load(), "schedules, the calendar, occurrences")
	require.Len(t, list, 4)
	for i, id := range ids {
		all, _, err := b.schedules.Occurrences(b.ctx, id, nil, 10)
		require.NoError(t, err)
		require.Len(t, all, 3)
		require.Equal(t, id, list[i].ID)
		require.Len(t, list[i].Recent, 2)
		require.Equal(t, all[0].FireAt, list[i].Recent[0].FireAt)
		require.Equal(t, all[1].ExecutionID, list[i].Recent[1].ExecutionID)
	}
	require.Empty(t, list[3].Recent)
}

// TestCalendarsInUse: the refusal names the schedules and what to do.
func TestCalendarsInUse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.schedules.Calendars().Save(b.ctx, schedule.Calendar{Name: "germany"})
	require.NoError(t, err)
	use := func(sp *schedule.Spec) { sp.Calendar = "germany" }
	b.create(named("a", use))
	require.EqualError(t, b.schedules.Calendars().Delete(b.ctx, "germany"),
		"The schedule a uses the calendar germany. To delete the calendar, first select another calendar or no calendar in this schedule.")
	for _, name := range []string{"b", "c", "d", "e", "f", "g"} {
		b.create(named(name, use))
	}
	require.EqualError(t, b.schedules.Calendars().Delete(b.ctx, "germany"),
		"7 schedules use the calendar germany: a, b, c, d, e and 2 more. To delete the calendar, first select another calendar or no calendar in these schedules.")
}
