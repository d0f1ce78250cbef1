package ha_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// everyTwo is the interval of the schedules of TestSchedulesWithoutLeader.
const everyTwo = 2 * time.Second

// TestSchedulesWithoutLeader: the leader is killed around the second at which schedules fire. Each fire
// launches one execution, also those of the time without a leader.
func TestSchedulesWithoutLeader(t *testing.T) {
	t.Parallel()
	in := setup(t)
	front := in.start("web,worker")
	in.start("scheduler,launcher")
	in.start("scheduler,launcher")
	in.register(front, "{name: tick, version: 1.0.0, operators: [{name: one, type: noop}]}")
	for i := range 5 {
		status := in.call(front, http.MethodPost, "/api/v1/schedules", map[string]any{
			"workflow": "tick", "name": fmt.Sprintf("tick %d", i), "every": "2s", "overlap": "allow", "misfire": "all", "catch_up_max": 1000,
		}, nil)
		require.Equal(t, http.StatusCreated, status)
	}
	for i := range rounds(t) {
		leader, fires := in.leader(), in.number("SELECT count(*) FROM schedule_occurrences")
		in.until("a run by this leader", func() bool { return in.number("SELECT count(*) FROM schedule_occurrences") > fires })
		// From 200 ms before the next run until 200 ms after it.
		at := time.Now().Truncate(everyTwo).Add(everyTwo + time.Duration(i%41-20)*10*time.Millisecond)
		in.until("the time around a run", func() bool { return !time.Now().Before(at) })
		in.forget(leader)
		require.NoError(t, leader.cmd.Process.Kill())
		<-leader.done
		in.start("scheduler,launcher")
	}
	in.until("all runs are decided", func() bool { return in.number("SELECT count(*) FROM schedules WHERE due_at <= now()") == 0 })
	_, err := in.pool.Exec(t.Context(), "UPDATE schedules SET paused = true, updated_at = now()")
	require.NoError(t, err)
	for what, query := range map[string]string{
		"gaps between runs": `SELECT count(*) FROM (SELECT fire_at - lag(fire_at) OVER (PARTITION BY schedule_id ORDER BY fire_at) AS apart FROM schedule_occurrences) f
			WHERE apart <> interval '2 seconds'`,
		"runs without an execution": `SELECT count(*) FROM schedule_occurrences o WHERE o.state <> 'LAUNCHED' OR NOT EXISTS (SELECT FROM executions e WHERE e.id = o.execution_id)`,
		"executions without a run":  `SELECT count(*) FROM executions e WHERE NOT EXISTS (SELECT FROM schedule_occurrences o WHERE o.execution_id = e.id)`,
	} {
		require.Zero(t, in.number(query), what)
	}
	t.Logf("%d runs, %d kills", in.number("SELECT count(*) FROM schedule_occurrences"), rounds(t))
}
