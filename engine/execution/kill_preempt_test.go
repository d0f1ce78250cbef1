package execution_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// TestKillPointsOfPreemption crashes the server while an attempt is being preempted, because
// a limit was lowered below the current use. It is asked once, ends as preempted, and runs
// again when capacity is available.
func TestKillPointsOfPreemption(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"preempt.marked:1", "preempt.begin:1", "preempt.begin>flush.committed:1"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setupKill(t)
			b.register(fmt.Sprintf(`
name: kill
version: 1.0.0
operators:
  - {name: long, type: shell, resources: {cpu: 2}, code: {script: 'echo "$TASK $NODE" >> %[1]s/runs; while [ ! -e %[1]s/stop ]; do sleep 0.02; done'}}
  - {name: after, type: noop, depends_on: [long]}
`, b.dir))
			go func() {
				if b.eventually("SELECT count(*) FROM nodes WHERE state = 'RUNNING'") {
					b.limitCPU(1000)
				}
			}()
			b.crashAt(point)
			require.True(t, b.eventually("SELECT count(*) FROM attempts WHERE outcome = 'PREEMPTED'"), "the attempt was preempted")
			require.True(t, b.eventually("SELECT count(*) FROM nodes WHERE state = 'READY' AND reason->>'code' = 'PREEMPTED'"), "its node waits and names the preemptor")
			b.limitCPU(4000)
			touch(t, b.dir+"/stop")
			b.waitAll(1, time.Minute)
			b.checkAll("SUCCEEDED", map[string]int{"long": 2})
		})
	}
}

// limitCPU sets the limit of the team of the local project.
func (b *killBundle) limitCPU(millis int) {
	_, err := b.pool.Exec(b.ctx, `INSERT INTO quotas (node_id, limits) VALUES ($1, jsonb_build_object('cpu', $2::int))
		ON CONFLICT (node_id) DO UPDATE SET limits = excluded.limits`, auth.LocalTeam, millis)
	if err != nil {
		b.t.Errorf("set a limit: %v", err)
	}
}

// eventually waits until a count is not zero: the servers are other processes.
func (b *killBundle) eventually(count string) bool {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var n int
		if err := b.pool.QueryRow(b.ctx, count).Scan(&n); err == nil && n > 0 {
			return true
		}
	}
	return false
}
