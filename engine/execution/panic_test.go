package execution_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// TestAPanicEndsTheLoop: a loop that panics leaves its execution to the next one. Its lease is not renewed, and
// who waits for it gets an answer.
func TestAPanicEndsTheLoop(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"flush.begin", "flush.written", "flush.committed", "flush.effects", "rest.before_release"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			var panicked atomic.Bool
			b := setup(t, func(c *execution.Config) {
				c.Crash = func(at string) {
					if at == point && !panicked.Swap(true) {
						panic("of the test")
					}
				}
			})
			id := b.launch(`
name: two
version: 1.0.0
operators:
  - {name: first, type: shell, code: {script: "sleep 0.5"}}
  - {name: second, type: shell, code: {script: "true"}, depends_on: [first]}
`, nil)
			require.Equal(t, query.Succeeded, b.finish(id).Status)
			require.True(t, panicked.Load())
		})
	}
}
