package handlers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/runner"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// runners runs each attempt in a runner of its own, which knows nothing of the others,
// as pods do.
type runners struct {
	t      *testing.T
	url    string
	mu     sync.Mutex
	byTask map[string]*runner.Supervisor
}

func (r *runners) start(a launcher.Attempt) {
	s, err := runner.New(runner.Config{
		Dir: r.t.TempDir(), Server: runner.Endpoint{URL: r.url}, Environ: os.Environ(), Heartbeat: 50 * time.Millisecond,
		Pod: &runner.Pod{Grace: 20 * time.Second},
	})
	if err != nil {
		r.t.Errorf("start a runner: %v", err)
		return
	}
	r.t.Cleanup(s.Close)
	r.mu.Lock()
	r.byTask[a.TaskId] = s
	r.mu.Unlock()
	if err := s.Start(a); err != nil {
		r.t.Errorf("start %s: %v", a.TaskId, err)
	}
}

func (r *runners) stop(ref launcher.Ref) {
	r.mu.Lock()
	s := r.byTask[ref.TaskID]
	r.mu.Unlock()
	if s != nil {
		s.Stop([]string{ref.TaskID}, time.Second)
	}
}

// TestStreamBetweenRunners: attempts that share no disk and no process hand a stream
// over through the server, while it is written; a writer that fails once takes its
// reader with it.
func TestStreamBetweenRunners(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pods := &runners{t: t, url: b.server.URL, byTask: map[string]*runner.Supervisor{}}
	b.tasks.run, b.tasks.end = pods.start, pods.stop
	b.start(t)
	dir := t.TempDir()
	v := b.register(t, fmt.Sprintf(`
name: between
version: 1.0.0
outputs: [{name: sum, type: Integer, from: read.sum}]
operators:
  - name: make
    type: shell
    retry: {limit: 1, initial_delay: 10ms}
    outputs: [{name: rows, type: File, storage: streaming}]
    code: {script: 'for n in 1 2 3; do echo $n >> "$FLOWFORGE_OUTPUTS/rows"; until [ -e %[1]s/$FLOWFORGE_ATTEMPT.$n ]; do sleep 0.02; done; [ $FLOWFORGE_ATTEMPT.$n != 1.2 ] || exit 3; done'}
  - name: read
    type: shell
    inputs: [{name: rows, from: make.rows}]
    outputs: [{name: sum, type: Integer}]
    code: {script: 's=0; while read -r n; do s=$((s+n)); touch %[1]s/$FLOWFORGE_ATTEMPT.$n; done < "$FLOWFORGE_PARAM_ROWS"; echo $s > "$FLOWFORGE_OUTPUTS/sum.json"'}
`, dir))
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: v.Name, Priority: query.Normal})
	require.NoError(t, err)
	e = b.until(t, e.ID, func(e query.Execution) bool { return e.Status.Ended() })
	nodes, _, err := b.executions.Nodes.List(b.ctx, e.ID, query.NodeFilter{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, query.Succeeded, e.Status, "%+v", nodes)
	require.JSONEq(t, `{"sum": 6}`, jsonText(t, e.Outputs))
	for _, n := range nodes {
		require.Equal(t, 2, n.Attempt, n.Name)
		require.Equal(t, dag.Succeeded, n.State)
	}
	edges, err := b.executions.Channels.Edges(b.ctx, e.ID, "read")
	require.NoError(t, err)
	require.Equal(t, "from make.rows, stream: it is read while it is being written, 6, fetched", edges[0].Text(func(n int64) string { return fmt.Sprint(n) }))
	tries, err := b.executions.Nodes.Get(b.ctx, e.ID, "read")
	require.NoError(t, err)
	require.Contains(t, tries.Attempts[0].Message, "It read the output of make, which is being retried")
	seen, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, seen, 5, strings.Join(seen, " "))
}
