package schedule_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/schedule"
)

// randomSpec returns a schedule with runs from noon on.
func randomSpec(random *rand.Rand, i int) schedule.Spec {
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	return hourly("gate", func(sp *schedule.Spec) {
		sp.Name = fmt.Sprintf("schedule %02d", i)
		sp.Expressions = []string{pick("0 * * * *", "*/30 * * * *", "@every 20m", "0 12-13 * * *")}
		sp.Timezone = pick("UTC", "Europe/Berlin", "Asia/Kolkata")
		sp.Misfire = schedule.Misfires()[random.IntN(len(schedule.Misfires()))]
		sp.Overlap = schedule.Overlap(pick("skip", "queue_one", "queue_all", "allow")) // cancelled executions end at any time
		sp.MaxRunning, sp.CatchUpMax = 1+random.IntN(2), 1+random.IntN(3)
		switch random.IntN(4) {
		case 0:
			sp.Condition = "schedule.last_scheduled_time == nil"
		case 1:
			sp.StopWhen = "schedule.last_scheduled_time != nil"
		}
		sp.Anchor = noon
		if random.IntN(4) == 0 {
			sp.Exclude = []schedule.Window{{From: "12:30", Until: "13:30"}}
		}
	})
}

// decided selects what happened to all schedules, except for IDs and the times of decisions.
const decided = `SELECT coalesce(jsonb_agg(s.of ORDER BY s.name), '[]')::text FROM (
	SELECT s.name, jsonb_build_object('name', s.name, 'paused', s.paused, 'message', s.message, 'last', s.last_at, 'next', s.next_at, 'due', s.due_at,
		'runs', (SELECT jsonb_agg(to_jsonb(o) - '{schedule_id,execution_id,decided_at}'::text[] || jsonb_build_object('name', e.name, 'at', e.scheduled_at, 'by', e.submitted_by_name) ORDER BY o.fire_at)
			FROM schedule_occurrences o LEFT JOIN executions e ON e.id = o.execution_id WHERE o.schedule_id = s.id)) AS of
	FROM schedules s) s`

// TestTogether: schedules that fire together end up like schedules that fire one by one.
func TestTogether(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var results []string
	for _, together := range []bool{true, false} {
		b, random := setup(t), rand.New(rand.NewPCG(seed, 1))
		var ids []uuid.UUID
		for i := range 30 {
			ids = append(ids, b.create(randomSpec(random, i)).ID)
		}
		for _, at := range []time.Time{noon, noon.Add(time.Hour), noon.Add(4*time.Hour + 10*time.Minute)} {
			b.clock.set(at)
			for range 3 { // a turn is limited
				if together {
					require.NoError(t, b.schedules.FireTogether(auth.AsSystem(b.ctx), ids))
					continue
				}
				for _, id := range ids {
					require.NoError(t, b.schedules.FireOne(auth.AsSystem(b.ctx), id))
				}
			}
		}
		var result string
		require.NoError(t, b.pool.QueryRow(b.ctx, decided).Scan(&result))
		results = append(results, result)
	}
	require.JSONEq(t, results[1], results[0])
}

// TestOneDoesNotDelayOthers: schedules that cannot run, or ran before, do not affect those that are due
// at the same time.
func TestOneDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	named := func(name string, change func(*schedule.Spec)) schedule.Schedule {
		return b.create(hourly("quick", func(sp *schedule.Spec) {
			sp.Name, sp.Overlap = name, schedule.OverlapAllow
			if change != nil {
				change(sp)
			}
		}))
	}
	first := named("a", nil)
	refused := named("b", func(sp *schedule.Spec) { sp.Inputs = map[string]any{"n": 4} })
	edited := named("c", nil)
	before := named("d", nil)
	forbidden := named("e", nil)
	unwritable := named("f", nil)
	last := named("g", nil)
	_, _, err := b.workflows.Register(b.ctx, []byte(`{name: quick, version: 2.0.0, inputs: [{name: n, type: "Integer(max=3)", default: 1}, {name: day, type: Date, default: "2026-01-01"}], operators: [{name: one, type: noop}]}`))
	require.NoError(t, err)
	_, err = b.pool.Exec(b.ctx, `INSERT INTO schedule_occurrences (schedule_id, fire_at, last_fire_at, interval_start, state, reason, decided_at)
		VALUES ($1, $2, $2, $2, 'SKIPPED', 'overlap', $2)`, before.ID, noon)
	require.NoError(t, err)
	// The database rejects the occurrence of this schedule only when the group is written.
	_, err = b.pool.Exec(b.ctx, fmt.Sprintf("ALTER TABLE schedule_occurrences ADD CONSTRAINT refuses CHECK (schedule_id <> '%s')", unwritable.ID))
	require.NoError(t, err)
	stranger := uuid.New()
	_, err = b.pool.Exec(b.ctx, "UPDATE schedules SET owner_id = $1 WHERE id = $2", stranger, forbidden.ID)
	require.NoError(t, err)
	config := b.config
	config.Acting = func(id uuid.UUID, name string, project uuid.UUID) (auth.Subject, error) {
		if id == stranger {
			return auth.Subject{ID: stranger, Name: "stranger", Role: auth.RoleUser}, nil
		}
		return b.config.Acting(id, name, project)
	}
	config.Crash = func(at string) {
		if at == "launch.begin" {
			_, err := b.schedules.Replace(b.ctx, edited.ID, edited.Spec)
			require.NoError(t, err)
		}
	}
	b.clock.set(noon)
	err = schedule.New(config).FireAll(auth.AsSystem(b.ctx))
	require.ErrorContains(t, err, "refuses", "the next pass retries it")
	for name, c := range map[string]struct {
		of   schedule.Schedule
		want []schedule.State
	}{
		"the first": {first, []schedule.State{schedule.Launched}}, "the last": {last, []schedule.State{schedule.Launched}},
		"refused inputs": {refused, []schedule.State{schedule.Refused}}, "an owner without permission": {forbidden, []schedule.State{schedule.Refused}},
		"edited in the meantime": {edited, nil}, "decided before": {before, []schedule.State{schedule.Skipped}}, "cannot be written": {unwritable, nil},
	} {
		require.Equal(t, c.want, b.states(c.of.ID), name)
	}
	require.Equal(t, 2, b.executions())
	next := func(sc schedule.Schedule) time.Time {
		sc, err := b.schedules.Get(b.ctx, sc.ID)
		require.NoError(t, err)
		return *sc.NextAt
	}
	require.Equal(t, noon.Add(time.Hour), next(before), "the schedule advances")
	require.Equal(t, noon, next(unwritable))
	require.ErrorContains(t, b.schedules.FireAll(auth.AsSystem(b.ctx)), "refuses")
	require.Equal(t, []schedule.State{schedule.Launched}, b.states(edited.ID), "the edited schedule keeps its run")
}

// TestKilledTogether: a stop at any point of a group launches each run once.
func TestKilledTogether(t *testing.T) {
	t.Parallel()
	for _, point := range schedule.Points() {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			const n = 4
			var ids []uuid.UUID
			for i := range n {
				ids = append(ids, b.create(hourly("gate", func(sp *schedule.Spec) {
					sp.Name, sp.Overlap, sp.Misfire = fmt.Sprint("schedule ", i), schedule.OverlapCancel, schedule.MisfireSkip
				})).ID)
			}
			b.fire(noon)
			config, died := b.config, false
			config.Crash = func(at string) {
				if at == point {
					died = true
					panic("stopped at " + at)
				}
			}
			for _, at := range []time.Time{noon.Add(2*time.Hour - time.Minute), noon.Add(3 * time.Hour)} {
				b.clock.set(at)
				func() {
					defer func() { _ = recover() }()
					_ = schedule.New(config).FireTogether(auth.AsSystem(b.ctx), ids)
				}()
			}
			require.True(t, died, "%s was not reached", point)
			b.fire(noon.Add(3*time.Hour + time.Second))
			for _, id := range ids {
				launched := 0
				for _, o := range b.occurrences(id) {
					if o.State == schedule.Launched {
						launched++
					}
				}
				require.Equal(t, 2, launched)
			}
			require.Equal(t, 2*n, b.executions(), "each execution has its occurrence")
		})
	}
}

// TestManyAtOnce: two servers launch several groups of schedules that are due in the same second, each
// of them once.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", nil))
	const n = 401
	b.copies(n)
	b.clock.set(noon)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if err := schedule.New(b.config).FireAll(auth.AsSystem(b.ctx)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var launched, due int
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT (SELECT count(*) FROM schedule_occurrences WHERE state = 'LAUNCHED'), (SELECT count(*) FROM schedules WHERE due_at <= $1)", noon).Scan(&launched, &due))
	require.Equal(t, n, launched)
	require.Zero(t, due)
	require.Equal(t, n, b.executions())
	require.Equal(t, []schedule.State{schedule.Launched}, b.states(sc.ID))
}

// copies adds copies of the only schedule until there are n.
func (b *bundle) copies(n int) {
	b.t.Helper()
	_, err := b.pool.Exec(b.ctx, "CREATE TABLE copies AS SELECT s.* FROM schedules s, generate_series(2, $1)", n)
	require.NoError(b.t, err)
	for _, sql := range []string{"UPDATE copies SET id = gen_random_uuid()", "UPDATE copies SET name = id || ' copy'", "INSERT INTO schedules SELECT * FROM copies"} {
		_, err := b.pool.Exec(b.ctx, sql)
		require.NoError(b.t, err)
	}
}

// TestAGroupDoesNotWaitForOthers: the first groups are committed before the last ones are read, so a server
// that is killed loses only the groups that it was writing.
func TestAGroupDoesNotWaitForOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.create(hourly("quick", nil))
	const n = 650
	b.copies(n)
	b.clock.set(noon)
	ctx, kill := context.WithCancel(auth.AsSystem(b.ctx))
	defer kill()
	config := b.config
	var begun atomic.Int32
	var committed sync.Once
	config.Crash = func(at string) {
		switch at {
		case "launch.begin":
			begun.Add(1)
		case "launch.committed":
			committed.Do(func() {
				assert.Less(t, begun.Load(), int32(n/100), "groups that were read before the first one was committed")
				assert.GreaterOrEqual(t, b.executions(), 100)
				kill()
			})
		}
	}
	_ = schedule.New(config).FireAll(ctx)
	require.Less(t, b.executions(), n, "the server was killed")
	require.NoError(t, b.schedules.FireAll(auth.AsSystem(b.ctx)))
	require.Equal(t, n, b.executions())
	var launched int
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(DISTINCT schedule_id) FROM schedule_occurrences WHERE state = 'LAUNCHED'").Scan(&launched))
	require.Equal(t, n, launched)
}
