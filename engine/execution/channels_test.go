package execution_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/data/channel"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const carries = `
name: carries
version: 1.0.0
inputs: [{name: lr, type: Float, default: 0.1}]
operators:
  - name: make
    type: shell
    outputs: [{name: plain, type: File}, {name: quick, type: File, storage: memory}, {name: far, type: File, storage: distributed}]
    code: {script: 'echo bytes'}
  - name: read
    type: shell
    inputs:
      - {name: lr, from: inputs.lr}
      - {name: plain, from: make.plain}
      - {name: quick, from: make.quick}
      - {name: far, from: make.far}
    code: {script: 'true'}
`

// requestedInputs runs carries, whose runner reports arrival for the file of /plain, and returns the
// engine's requests by input, and the edges.
func requestedInputs(t *testing.T, b *testBundle, arrival *flowforgev1.PlacedInput) (map[string]*flowforgev1.InputFile, map[string]execution.Edge) {
	t.Helper()
	b.keepFiles()
	var mu sync.Mutex
	files := map[string]*flowforgev1.InputFile{}
	b.launcher.placed = func(a launcher.Attempt) []*flowforgev1.PlacedInput {
		mu.Lock()
		defer mu.Unlock()
		var requests []*flowforgev1.PlacedInput
		for _, f := range a.GetFiles() {
			files[f.GetPointer()] = f
			if f.GetPointer() == "/plain" && arrival != nil {
				requests = append(requests, arrival)
			}
		}
		return requests
	}
	id := b.launch(carries, nil)
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	list, err := b.engine.Channels.Edges(b.ctx, id, "read")
	require.NoError(t, err)
	edges := map[string]execution.Edge{}
	for _, e := range list {
		edges[e.Input] = e
	}
	require.Len(t, edges, 4)
	none, err := b.engine.Channels.Edges(b.ctx, id, "make")
	require.NoError(t, err)
	require.Empty(t, none)
	mu.Lock()
	defer mu.Unlock()
	return files, edges
}

func bytesOf(n int64) string { return fmt.Sprintf("%d B", n) }

func TestEdgesOnOneMachine(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *execution.Config) { c.StoreDir = "/store" })
	files, edges := requestedInputs(t, b, &flowforgev1.PlacedInput{Input: "plain", Pointer: "/plain", Channel: "LOCAL_DISK", Size: 5, Copied: 0, Micros: 40})
	for input, want := range map[string]channel.Channel{"plain": channel.LocalDisk, "quick": channel.Memory, "far": channel.Distributed} {
		require.Equal(t, string(want), files["/"+input].GetChannel(), input)
		require.Equal(t, want, edges[input].Channel, input)
		require.Equal(t, "make."+input, edges[input].From)
		require.NotEmpty(t, edges[input].Artifact)
	}
	require.Equal(t, "passed inline, 3 B", edges["lr"].Text(bytesOf))
	require.Equal(t, "from make.plain, local disk: same machine, 5 B, no copy", edges["plain"].Text(bytesOf))
	require.Equal(t, 1, edges["plain"].Came.Attempt)
	require.Nil(t, edges["quick"].Came, "it was not reported")
	require.Equal(t, "from make.far, artifact store: its output sets storage: distributed, 5 B", edges["far"].Text(bytesOf))
}

func TestEdgesReportTheUsedChannel(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *execution.Config) { c.StoreDir = "/store" })
	_, edges := requestedInputs(t, b, &flowforgev1.PlacedInput{
		Input: "plain", Pointer: "/plain", Channel: "DISTRIBUTED", Size: 5, Moved: 5, Copied: 5, Note: "it is not in the store's folder",
	})
	require.Equal(t, "from make.plain, artifact store, 5 B, fetched, it is not in the store's folder", edges["plain"].Text(bytesOf))
	require.Equal(t, channel.LocalDisk, edges["plain"].Channel, "the choice is still known")
}

func TestEdgesBetweenMachines(t *testing.T) {
	t.Parallel()
	b := setup(t)
	files, edges := requestedInputs(t, b, &flowforgev1.PlacedInput{Input: "plain", Pointer: "/plain", Channel: "SMOKE", Compression: "gzip", Size: -5, Moved: 3})
	require.Equal(t, "DISTRIBUTED", files["/quick"].GetChannel(), "memory is local to one machine")
	arrival := edges["plain"].Came
	require.Equal(t, channel.Distributed, arrival.Channel, "a runner cannot invent a channel")
	require.Equal(t, channel.None, arrival.Compression)
	require.Zero(t, arrival.Size)
}
