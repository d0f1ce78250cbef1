package ha_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestABackfillSurvivesKills: leaders are killed while a backfill runs, once together with all other
// servers. The servers that start finish it, with one execution for each time.
func TestABackfillSurvivesKills(t *testing.T) {
	t.Parallel()
	const times, kills = 240, 6
	in := setup(t)
	front := in.start("web,worker")
	in.start("scheduler,launcher")
	in.start("scheduler,launcher")
	in.register(front, "{name: hour, version: 1.0.0, operators: [{name: one, type: noop}]}")
	var made struct {
		ID string `json:"id"`
	}
	status := in.call(front, http.MethodPost, "/api/v1/schedules", map[string]any{"workflow": "hour", "name": "hourly", "cron": "0 * * * *", "paused": true}, &made)
	require.Equal(t, http.StatusCreated, status)
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	status = in.call(front, http.MethodPost, "/api/v1/backfills", map[string]any{
		"schedule": made.ID, "from": from, "until": from.Add(times * time.Hour), "parallelism": 3,
	}, &made)
	require.Equal(t, http.StatusCreated, status)

	const launched = "SELECT count(*) FROM backfill_slots WHERE state = 'LAUNCHED'"
	for i := range kills {
		in.until("the backfill launches", func() bool { return in.number(launched) >= times/(kills+1)*(i+1) })
		if i == kills/2 {
			in.killAll()
			in.mu.Lock()
			clear(in.servers)
			in.mu.Unlock()
			front = in.start("web,worker")
		} else {
			leader := in.leader()
			in.forget(leader)
			require.NoError(t, leader.cmd.Process.Kill())
			<-leader.done
		}
		require.Less(t, in.number(launched), times, "the kill is in the middle of the backfill")
		in.start("scheduler,launcher")
	}
	in.until("the backfill has finished", func() bool { return in.number("SELECT count(*) FROM backfills WHERE status = 'FINISHED'") == 1 })
	for what, query := range map[string]string{
		"times without an execution": `SELECT count(*) FROM backfill_slots s WHERE NOT EXISTS (SELECT FROM executions e WHERE e.id = s.execution_id AND e.status = 'SUCCEEDED')`,
		"executions without a time":  `SELECT count(*) FROM executions e WHERE NOT EXISTS (SELECT FROM backfill_slots s WHERE s.execution_id = e.id)`,
		"times with one name":        `SELECT count(*) - count(DISTINCT name) FROM executions`,
	} {
		require.Zero(t, in.number(query), what)
	}
	require.Equal(t, times, in.number("SELECT count(*) FROM executions"))
	require.Equal(t, http.StatusOK, in.call(front, http.MethodGet, "/api/v1/backfills/"+made.ID, nil, nil))
}
