package execution_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/argo"
)

// TestKillPointsOfDaemons crashes the server while a daemon begins, serves others and is
// stopped.
func TestKillPointsOfDaemons(t *testing.T) {
	t.Parallel()
	for _, point := range []string{
		"flush.written:2", "flush.written:3", "flush.written:4", "flush.written:5", "flush.committed:1@db=QUEUED", "flush.committed:1@db=RUNNING", "flush.committed:1@use=QUEUED",
		"flush.committed:1@use=SUCCEEDED", "flush.committed:1@last=QUEUED", "flush.committed:1@last=SUCCEEDED", "flush.committed:1@db=SUCCEEDED",
		"flush.effects:2", "flush.effects:4", "start.begin:1", "start.done:1", "deliver.answer:1", "deliver.answer:2", "stop.begin:1", "stop.done:1",
		"stop.begin>flush.written:1", "stop.begin>flush.committed:1",
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setupKill(t)
			b.registerAs(fmt.Sprintf(argoHead, "kill")+strings.ReplaceAll(`
spec:
  entrypoint: main
  templates:
  - name: main
    steps: [[{name: db, template: db}], [{name: use, template: use, arguments: {parameters: [{name: at, value: "{{steps.db.ip}}"}]}}], [{name: last, template: use, arguments: {parameters: [{name: at, value: "{{steps.db.ip}}"}]}}]]
  - name: db
    daemon: true
    container: {image: busybox, command: [sh, -c, "echo $TASK $NODE >>$DIR/runs; echo $$ >$DIR/pid; exec sleep 1000"]}
  - name: use
    inputs: {parameters: [{name: at}]}
    container: {image: busybox, command: [sh, -c, "echo $TASK $NODE >>$DIR/runs; until test -s $DIR/pid; do sleep 0.02; done; sleep 0.1; test {{inputs.parameters.at}} = 127.0.0.1 && kill -0 $(cat $DIR/pid)"]}
`, "$DIR", b.dir), argo.Format{})
			b.crashAt(point)
			b.waitAll(1, time.Minute)
			b.checkAll("SUCCEEDED", map[string]int{"db": 1, "use": 1, "last": 1})
			var got string
			require.NoError(t, b.pool.QueryRow(b.ctx, `SELECT string_agg(name, ' ' ORDER BY e.seq) FROM events e JOIN nodes n USING (execution_id, node_index) WHERE e.kind = 'node.succeeded'`).Scan(&got))
			require.Equal(t, "use last db", got)
			require.NoError(t, b.pool.QueryRow(b.ctx, `SELECT string_agg(kind, ' ' ORDER BY e.seq) FROM events e JOIN nodes n USING (execution_id, node_index) WHERE n.name = 'db' AND kind NOT IN ('node.ready', 'node.stopping')`).Scan(&got))
			require.Equal(t, "node.queued node.started node.serving node.succeeded", got)
		})
	}
}
