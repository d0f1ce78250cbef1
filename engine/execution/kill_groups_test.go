package execution_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// groupDoc has nested groups, with limits, conditions, a handled failure, and an exit
// handler.
func groupDoc(dir string) string {
	run := `echo "$TASK $NODE" >> ` + dir + `/runs`
	return fmt.Sprintf(`
name: kill
version: 1.0.0
outputs: [{name: all, type: "List<List<Integer>>", from: outer.vs}]
operators:
  - {name: begin, type: shell, code: {script: '%[1]s'}}
  - {name: outer, type: graph, graph: row, depends_on: [begin], foreach: {items: [1, 2], parallelism: 1}, inputs: [{name: n, type: Integer, from: item}]}
  - {name: odd, type: noop, foreach: {range: {from: 1, to: 4}}, when: "item > 2"}
  - {name: breaks, type: shell, code: {script: '%[1]s; exit 1'}}
  - {name: rescue, type: shell, depends: breaks.Failed, code: {script: '%[1]s'}}
on_exit:
  - {name: tell, type: shell, code: {script: '%[1]s'}}
graphs:
  row:
    inputs: [{name: n, type: Integer}]
    outputs: [{name: vs, type: "List<Integer>", from: cell.v}]
    operators:
      - {name: cell, type: shell, foreach: {expression: "[inputs.n, 5]"}, outputs: [{name: v, type: Integer}], code: {script: '%[1]s; echo 7'}}
`, run)
}

// TestKillPointsOfGroups crashes the server around every step in which nodes expand and
// groups end.
func TestKillPointsOfGroups(t *testing.T) {
	t.Parallel()
	for _, point := range []string{
		"flush.written:1", "flush.written:2", "flush.written:3", "flush.written:5", "flush.committed:1", "flush.committed:3", "flush.committed:6",
		"flush.effects:2", "start.begin:3", "start.done:3", "deliver.posted:3", "deliver.answer:4",
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setupKill(t)
			b.register(groupDoc(b.dir))
			b.crashAt(point)
			b.waitAll(1, time.Minute)
			b.checkAll("SUCCEEDED", map[string]int{
				"begin": 1, "outer[0]/cell[0]": 1, "outer[0]/cell[1]": 1, "outer[1]/cell[0]": 1, "outer[1]/cell[1]": 1, "breaks": 1, "rescue": 1, "tell": 1,
			})
			var all string
			require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT outputs->>'all' FROM executions").Scan(&all))
			require.JSONEq(t, "[[7,7],[7,7]]", all)
		})
	}
}

// TestKillPointsOfCommands crashes the server while it carries out a user's command to a
// running node: the node ends as commanded, and runs once.
func TestKillPointsOfCommands(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"stop.begin:1", "stop.done:1", "stop.begin>flush.written:1", "stop.begin>flush.committed:1"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setupKill(t)
			b.register(fmt.Sprintf(`
name: kill
version: 1.0.0
outputs: [{name: v, type: Integer, from: long.v}]
operators:
  - {name: long, type: shell, outputs: [{name: v, type: Integer}], code: {script: 'echo "$TASK $NODE" >> %[1]s/runs; sleep 60'}}
  - {name: after, type: shell, depends_on: [long], code: {script: 'echo "$TASK $NODE" >> %[1]s/runs'}}
`, b.dir))
			go func() {
				if b.eventually("SELECT count(*) FROM nodes WHERE state = 'RUNNING'") {
					b.succeedByHand()
				}
			}()
			b.crashAt(point)
			b.waitAll(1, time.Minute)
			b.checkAll("SUCCEEDED", map[string]int{"long": 1, "after": 1})
			var v, left int
			require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT (outputs->>'v')::int, (SELECT count(*) FROM node_commands) FROM executions").Scan(&v, &left))
			require.Equal(t, 9, v)
			require.Zero(t, left)
		})
	}
}

// succeedByHand marks the only running node as succeeded, like another process would.
func (b *killBundle) succeedByHand() {
	_, err := b.pool.Exec(b.ctx, `INSERT INTO node_commands (execution_id, node_index, command, data, ordered_by, ordered_at)
		SELECT execution_id, node_index, 'SUCCEED', '{"v": 9}', 'other', now() FROM nodes WHERE state = 'RUNNING'`)
	if err != nil {
		b.t.Errorf("write a command: %v", err)
	}
}
