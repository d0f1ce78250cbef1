package execution_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// TestFailedExecutionIsFailed: an execution whose first task fails is FAILED and not
// CANCELLED, regardless of its dependents and parallel branches; its exit handler sees that,
// and the TTL of failures applies.
func TestFailedExecutionIsFailed(t *testing.T) { //nolint:tparallel // the subtests share an engine
	t.Parallel()
	b := setup(t)
	const bad = "  - {name: bad, type: shell, code: {script: exit 3}}\n"
	task := func(name, after string) string {
		return fmt.Sprintf("  - {name: %s, type: shell, depends_on: [%s], code: {script: 'true'}}\n", name, after)
	}
	shapes := map[string]string{
		"diamond":   bad + task("left", "bad") + task("right", "bad") + task("join", "left, right") + task("end", "join"),
		"two-roots": bad + "  - {name: other, type: shell, code: {script: sleep 30}}\n" + task("a", "other") + task("b", "a, bad") + task("c", "b"),
		"apart":     bad + "  - {name: other, type: shell, code: {script: sleep 30}}\n" + task("a", "other") + task("b", "a"),
	}
	for n := 1; n <= 8; n++ {
		chain := bad
		for k, before := 1, "bad"; k < n; k++ {
			name := fmt.Sprintf("n%d", k)
			chain += task(name, before)
			before = name
		}
		shapes[fmt.Sprintf("chain-%d", n)] = chain
	}
	for name, operators := range shapes {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // they share an engine
			b := b.in(t)
			id := b.launch("name: "+name+"\nversion: 1.0.0\nttl: {after_failure: 1h, after_success: 2h, after_completion: 3h}\noperators:\n"+operators+`on_exit:
  - {name: rescue, type: noop, when: "execution.status == 'FAILED'"}
  - {name: others, type: noop, when: "execution.status != 'FAILED'"}
`, nil)
			e, err := b.engine.Get(b.ctx, b.finish(id).ID)
			require.NoError(t, err)
			require.Equal(t, query.Failed, e.Status, "%+v", e.Counts)
			require.Equal(t, "bad", e.Error.Node)
			require.Equal(t, "exit", e.Error.Code)
			require.Equal(t, time.Hour, e.ExpiresAt.Sub(*e.FinishedAt))
			require.Equal(t, dag.Succeeded, b.node(id, "rescue").State)
			require.Equal(t, dag.Skipped, b.node(id, "others").State)
			kinds := strings.Join(b.kinds(id), " ")
			require.Contains(t, kinds, "execution.failed")
			require.NotContains(t, kinds, "execution.cancelled")
		})
	}
}
