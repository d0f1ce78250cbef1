package execution_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// preparingLauncher records which attempts the engine prepares and starts, by node.
type preparingLauncher struct {
	*processLauncher

	mu       sync.Mutex
	prepared map[string]launcher.Attempt
	started  map[string]launcher.Attempt
}

func (p *preparingLauncher) Prepare(_ context.Context, attempts []launcher.Attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range attempts {
		p.prepared[a.Node] = a
	}
}

func (p *preparingLauncher) Start(ctx context.Context, attempts []launcher.Attempt) error {
	p.mu.Lock()
	for _, a := range attempts {
		p.started[a.Node] = a
	}
	p.mu.Unlock()
	return p.processLauncher.Start(ctx, attempts)
}

func (p *preparingLauncher) knows(node string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.prepared[node] != nil
}

func TestPlainAttemptsArePreparedAsTheyStart(t *testing.T) {
	t.Parallel()
	p := &preparingLauncher{prepared: map[string]launcher.Attempt{}, started: map[string]launcher.Attempt{}}
	b := setup(t, func(c *execution.Config) {
		p.processLauncher = c.Launcher.(*processLauncher)
		c.Launcher = p
	})
	id := b.launch(`
name: prepared
version: 1.0.0
inputs: [{name: n, type: Integer}]
operators:
  - name: count
    type: shell
    inputs: [{name: n, type: Integer, from: inputs.n}]
    outputs: [{name: value, type: Integer}]
    code: {script: 'echo 7'}
  - name: double
    type: shell
    inputs: [{name: value, type: Integer, from: count.value}]
    code: {script: 'true'}
  - name: packaged
    type: shell
    inputs: [{name: value, type: Integer, from: count.value}]
    code: {script: 'true', package: 'sha256:`+strings.Repeat("ab", 32)+`'}
  - name: configured
    type: shell
    depends_on: [double]
    parameters: {rate: 3}
    code: {script: 'true'}
`, map[string]any{"n": json.Number("3")})
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	require.Eventually(t, func() bool { return p.knows("count") && p.knows("double") && p.knows("packaged") }, 30*time.Second, time.Millisecond, "the calls may come late")
	p.mu.Lock()
	defer p.mu.Unlock()
	for node, spec := range p.prepared {
		require.True(t, proto.Equal(spec, p.started[node]), "%s starts as it was prepared", node)
	}
	require.NotContains(t, p.prepared, "configured", "a parameter may name a secret, which only a running attempt may read")
}
