package execution_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const oneTask = `
name: one
version: 1.0.0
operators:
  - {name: only, type: shell, code: {script: "true"}}
`

// refuseStarts makes the launcher start nothing, until admit.
func (p *podLauncher) refuseStarts() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.admits = func(launcher.Attempt) bool { return false }
}

func (p *podLauncher) admit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.admits = nil
}

// TestAnAttemptThatStartsMeanwhileIsNotMissing: the launcher receives the attempt after it has listed its
// attempts, and the loop is certain of it before the list is compared.
func TestAnAttemptThatStartsMeanwhileIsNotMissing(t *testing.T) {
	t.Parallel()
	b := setupPods(t, func(c *execution.Config) { c.Cluster = false })
	b.cluster.refuseStarts()
	id := b.launch(oneTask, nil)
	require.Eventually(t, func() bool {
		b.cluster.mu.Lock()
		defer b.cluster.mu.Unlock()
		return b.cluster.calls >= 2
	}, 20*time.Second, 5*time.Millisecond, "the start is repeated")

	read, compare, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	ctx := context.WithValue(b.ctx, listed{}, func() {
		close(read)
		<-compare
	})
	go func() { done <- b.engine.FindMissing(ctx, id, 0, 1) }()
	<-read
	b.cluster.admit()
	a := b.pod(t, query.TaskID(id, 0, 1))
	require.Eventually(t, func() bool { return !b.engine.Starting(id) }, 20*time.Second, 5*time.Millisecond)
	close(compare)
	require.NoError(t, <-done)
	b.begins(a)
	b.ends(a, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	require.Len(t, b.node(id, "only").Attempts, 1)
}

// TestAnAttemptOfALoopThatLoadsIsNotMissing: the loop has its lease and will start the attempt.
func TestAnAttemptOfALoopThatLoadsIsNotMissing(t *testing.T) {
	t.Parallel()
	var ended atomic.Bool
	var loads atomic.Int32
	loading, load := make(chan struct{}), make(chan struct{})
	b := setupPods(t, func(c *execution.Config) {
		c.Cluster = false
		c.Crash = func(at string) {
			switch {
			case at == "start.again" && !ended.Swap(true):
				panic("of the test")
			case at == "drive.acquired" && loads.Add(1) == 2:
				close(loading)
				<-load
			}
		}
	})
	b.cluster.refuseStarts()
	id := b.launch(oneTask, nil)
	<-loading
	require.NoError(t, b.engine.FindMissing(b.ctx, id, 0, 1))
	b.cluster.admit()
	close(load)
	a := b.pod(t, query.TaskID(id, 0, 1))
	b.begins(a)
	b.ends(a, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	require.Len(t, b.node(id, "only").Attempts, 1)
}
