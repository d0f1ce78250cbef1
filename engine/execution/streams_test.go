package execution_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/data/channel"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const streams = `
name: streams
version: 1.0.0
operators:
  - name: make
    type: shell
    retry: {limit: 1, initial_delay: 10ms}
    outputs: [{name: rows, type: File, storage: streaming}]
    code: {script: 'echo rows'}
  - name: read
    type: shell
    retry: {limit: 0}
    inputs: [{name: rows, from: make.rows}]
    outputs: [{name: sum, type: File}]
    code: {script: 'echo sum'}
`

// streamBundle is an execution with a running writer and reader.
type streamBundle struct {
	*podBundle
	id           uuid.UUID
	make0, read0 launcher.Attempt
}

func setupStream(t *testing.T, changes ...string) *streamBundle {
	t.Helper()
	b := setupPods(t)
	id := b.launch(strings.NewReplacer(changes...).Replace(streams), nil)
	writer := b.pod(t, query.TaskID(id, 0, 1))
	require.Equal(t, dag.Pending, b.node(id, "read").State, "its writer does not run yet")
	b.begins(writer)
	reader := b.pod(t, query.TaskID(id, 1, 1))
	b.begins(reader)
	b.nodeIs(id, "read", "it runs", func(n query.NodeDetail) bool { return n.State == dag.Running })
	return &streamBundle{b, id, writer, reader}
}

// pod waits for the pod of an attempt and returns it.
func (b *podBundle) pod(t *testing.T, task string) launcher.Attempt {
	t.Helper()
	return b.cluster.pod(t, task)
}

// upload writes bytes to the store.
func (b *testBundle) upload(content string) *flowforgev1.Blob {
	b.t.Helper()
	blob, err := b.artifacts.Upload(b.ctx, strings.NewReader(content))
	require.NoError(b.t, err)
	return &flowforgev1.Blob{Sha256: blob.SHA256, Size: blob.Size}
}

// leaves ends an attempt as succeeded, with a file as its output.
func (b *podBundle) leaves(a launcher.Attempt, output string, blob *flowforgev1.Blob, arrival ...*flowforgev1.PlacedInput) {
	b.t.Helper()
	b.report(a, &flowforgev1.AttemptReport{Report: &flowforgev1.AttemptReport_Finished{Finished: &flowforgev1.Finished{
		StartedAt: time.Now().UnixMilli(), FinishedAt: time.Now().UnixMilli(), Outcome: flowforgev1.Outcome_OUTCOME_SUCCEEDED, Inputs: arrival,
		Outputs: []*flowforgev1.Output{{Name: output, Filename: output, Content: &flowforgev1.Output_Blob{Blob: blob}}},
	}}})
}

// asProjectTask acts as the task of an attempt of the local project.
func (b *testBundle) asProjectTask(id uuid.UUID, node, attempt int) context.Context {
	return auth.WithSubject(b.ctx, auth.ForTask(auth.TaskScope{
		ExecutionID: id, NodeIndex: node, Attempt: attempt, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject,
	}))
}

// follows requests the state of the stream as the reader's attempt.
func (b *streamBundle) follows(attempt, known int) (execution.Stream, error) {
	return b.engine.Streams.Follow(b.asProjectTask(b.id, 1, attempt), b.make0.GetTaskId(), "rows", known, 0)
}

func (b *streamBundle) edge() execution.Edge {
	b.t.Helper()
	edges, err := b.engine.Channels.Edges(b.ctx, b.id, "read")
	require.NoError(b.t, err)
	require.Len(b.t, edges, 1)
	return edges[0]
}

// TestReaderStartsAgainAfterItsWriterEnded: the writer ends while no loop drives the execution, and the
// reader's start is uncertain. The next loop starts the reader again, with the file that the writer left.
func TestReaderStartsAgainAfterItsWriterEnded(t *testing.T) {
	t.Parallel()
	b := setupPods(t, func(c *execution.Config) { c.Cluster = false })
	id := b.launch(streams, nil)
	writer := b.pod(t, query.TaskID(id, 0, 1))
	b.begins(writer)
	reader := b.pod(t, query.TaskID(id, 1, 1))
	b.until(id, "no loop drives it", func(query.Execution) bool {
		var driven bool
		require.NoError(t, b.pool.QueryRow(b.ctx, `SELECT lease_until IS NOT NULL FROM executions WHERE id = $1`, id).Scan(&driven))
		return !driven
	})
	b.leaves(writer, "rows", b.upload("rows"))
	b.nodeIs(id, "make", "its end is written", func(n query.NodeDetail) bool { return n.State == dag.Succeeded })
	b.begins(reader)
	b.leaves(reader, "sum", b.upload("sum"))
	require.Equal(t, query.Succeeded, b.finish(id).Status)
}

// stops waits until the engine requests the end of an attempt.
func (b *podBundle) stops(task string) {
	b.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		b.cluster.mu.Lock()
		stopped := b.cluster.stopped[task]
		b.cluster.mu.Unlock()
		if stopped {
			return
		}
		select {
		case <-b.cluster.changes:
		case <-deadline:
			b.t.Fatalf("%s was not stopped", task)
		}
	}
}

func TestStreamIsReadWhileItsWriterRuns(t *testing.T) {
	t.Parallel()
	b := setupStream(t)
	require.Equal(t, channel.HintStreaming, b.make0.GetOutputs()[0].GetStorage())
	require.Equal(t, b.make0.GetTaskId(), b.read0.GetFiles()[0].GetStream().GetTaskId())
	require.Equal(t, "rows", b.read0.GetFiles()[0].GetStream().GetOutput())
	require.Equal(t, "from make.rows, stream: it is read while it is being written", b.edge().Text(bytesOf))

	stream, err := b.follows(1, 0)
	require.NoError(t, err)
	require.Equal(t, execution.StreamWriting, stream.State)
	piece, whole, writer := b.upload("ro"), b.upload("rows"), b.asProjectTask(b.id, 0, 1)
	require.True(t, apperr.Is(b.engine.Streams.Append(writer, "rows", 1, piece.Sha256, piece.Size), apperr.Conflict), "piece 0 comes first")
	require.True(t, apperr.Is(b.engine.Streams.Append(writer, "rows", 0, strings.Repeat("ab", 32), 2), apperr.NotFound))
	for range 2 { // a repetition changes nothing
		require.NoError(t, b.engine.Streams.Append(writer, "rows", 0, piece.Sha256, piece.Size))
	}
	stream, err = b.follows(1, 0)
	require.NoError(t, err)
	require.Equal(t, []execution.BlobRef{{SHA256: piece.Sha256, Size: 2}}, stream.Pieces)
	stream, err = b.follows(1, 1)
	require.NoError(t, err)
	require.Empty(t, stream.Pieces)
	reader, other := b.asProjectTask(b.id, 1, 1), b.upload("other")
	require.NoError(t, b.engine.Tasks.InputBlob(reader, piece.Sha256))
	for name, sha := range map[string]string{"not the result yet": whole.Sha256, "nothing of its own": other.Sha256} {
		require.True(t, apperr.Is(b.engine.Tasks.InputBlob(reader, sha), apperr.NotFound), name)
	}
	require.True(t, apperr.Is(b.engine.Tasks.InputBlob(writer, piece.Sha256), apperr.NotFound), "the writer has no inputs")

	b.leaves(b.make0, "rows", whole)
	b.nodeIs(b.id, "make", "its end", func(n query.NodeDetail) bool { return n.State == dag.Succeeded })
	require.NoError(t, b.engine.Tasks.InputBlob(reader, whole.Sha256))
	stream, err = b.follows(1, 1)
	require.NoError(t, err)
	require.Equal(t, execution.StreamEnded, stream.State)
	require.Equal(t, whole.Sha256, stream.Whole.SHA256)
	b.leaves(b.read0, "sum", whole, &flowforgev1.PlacedInput{Input: "rows", Pointer: "/rows", Channel: "STREAMING", Size: 4, Moved: 4, Micros: 7})
	require.Equal(t, query.Succeeded, b.finish(b.id).Status)
	require.Equal(t, "from make.rows, stream: it is read while it is being written, 4 B, fetched", b.edge().Text(bytesOf))
	var left int
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM stream_pieces").Scan(&left))
	require.Zero(t, left, "pieces of an ended stream")
	_, err = b.follows(1, 0)
	require.True(t, apperr.Is(err, apperr.Unauthenticated), "the reader has ended: %v", err)
}

func TestStreamIsOfTheOwnExecution(t *testing.T) {
	t.Parallel()
	b := setupStream(t)
	other := b.launchVersion(strings.Replace(streams, "name: streams", "name: others", 1))
	for _, writer := range []string{query.TaskID(other, 0, 1), query.TaskID(b.id, 7, 1), query.TaskID(b.id, 1, 1), "make", ""} {
		_, err := b.engine.Streams.Follow(b.asProjectTask(b.id, 1, 1), writer, "rows", 0, 0)
		require.True(t, apperr.Is(err, apperr.NotFound), "%q: %v", writer, err)
	}
	_, err := b.engine.Streams.Follow(b.asProjectTask(b.id, 1, 1), b.make0.GetTaskId(), "count", 0, 0)
	require.True(t, apperr.Is(err, apperr.NotFound), "it reads another output: %v", err)
	_, err = b.engine.Streams.Follow(b.asProjectTask(b.id, 0, 1), b.make0.GetTaskId(), "rows", 0, 0)
	require.True(t, apperr.Is(err, apperr.NotFound), "the writer reads nothing: %v", err)
	_, err = b.engine.Streams.Follow(b.ctx, b.make0.GetTaskId(), "rows", 0, 0)
	require.Error(t, err, "users cannot follow streams")
}

// TestWriterIsTriedAgain: its reader is stopped and restarts with it, without spending a
// retry.
func TestWriterIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := setupStream(t)
	b.ends(b.make0, flowforgev1.Outcome_OUTCOME_FAILED, "error")
	b.stops(b.read0.GetTaskId())
	stream, err := b.follows(1, 0)
	require.NoError(t, err)
	require.Equal(t, execution.StreamGone, stream.State)
	again := b.pod(t, query.TaskID(b.id, 0, 2))
	b.begins(again) // before its earlier reader has ended
	b.ends(b.read0, flowforgev1.Outcome_OUTCOME_CANCELLED, "")
	reader := b.pod(t, query.TaskID(b.id, 1, 2))
	require.Equal(t, again.GetTaskId(), reader.GetFiles()[0].GetStream().GetTaskId())
	n := b.node(b.id, "read")
	require.Equal(t, 0, n.Retries)
	require.Equal(t, "CANCELLED", n.Attempts[0].Outcome)
	require.Contains(t, n.Attempts[0].Message, "It read the output of make, which is being retried")
	stream, err = b.engine.Streams.Follow(b.asProjectTask(b.id, 1, 2), b.make0.GetTaskId(), "rows", 0, 0)
	require.NoError(t, err)
	require.Equal(t, execution.StreamGone, stream.State, "the first attempt produces nothing more")

	b.begins(reader)
	b.leaves(again, "rows", b.upload("rows"))
	b.leaves(reader, "sum", b.upload("sum"))
	require.Equal(t, query.Succeeded, b.finish(b.id).Status)
}

// TestWriterFails: its reader ends with it and reports that, regardless of fail-fast, and of whether its
// runner learned it from the command to stop or from the stream.
func TestWriterFails(t *testing.T) {
	t.Parallel()
	const stream = flowforgev1.Outcome_OUTCOME_INTERRUPTED
	for name, test := range map[string]struct {
		retry   string
		outcome flowforgev1.Outcome
		class   string
	}{
		"everything stops":                  {"{limit: 0}", flowforgev1.Outcome_OUTCOME_CANCELLED, ""},
		"the rest continues":                {"{limit: 0, fail_fast: false}", flowforgev1.Outcome_OUTCOME_CANCELLED, ""},
		"everything stops, by the stream":   {"{limit: 0}", stream, "stream"},
		"the rest continues, by the stream": {"{limit: 0, fail_fast: false}", stream, "stream"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupStream(t, "{limit: 1, initial_delay: 10ms}", test.retry)
			b.ends(b.make0, flowforgev1.Outcome_OUTCOME_FAILED, "error")
			b.stops(b.read0.GetTaskId())
			b.ends(b.read0, test.outcome, test.class)
			e := b.finish(b.id)
			require.Equal(t, query.Failed, e.Status)
			require.Equal(t, "make", e.Error.Node)
			n := b.node(b.id, "read")
			require.Equal(t, dag.Skipped, n.State)
			require.Equal(t, "make did not succeed.", n.Reason.Message)
			require.Equal(t, "CANCELLED", n.Attempts[0].Outcome)
			require.Contains(t, n.Attempts[0].Message, "It read the output of make, which failed: ")
		})
	}
}

// TestReaderIsNotBelievedBeforeItsWriter: a reader's success before its writer's end is not
// accepted.
func TestReaderIsNotBelievedBeforeItsWriter(t *testing.T) {
	t.Parallel()
	b := setupStream(t)
	b.leaves(b.read0, "sum", b.upload("sum"))
	n := b.nodeIs(b.id, "read", "it runs again", func(n query.NodeDetail) bool { return n.Attempt == 2 })
	require.Equal(t, "INTERRUPTED", n.Attempts[0].Outcome)
	require.Contains(t, n.Attempts[0].Message, "It ended before make, whose output it reads")
	require.Equal(t, 0, n.Retries)
	b.leaves(b.make0, "rows", b.upload("rows"))
	b.leaves(b.pod(t, query.TaskID(b.id, 1, 2)), "sum", b.upload("sum"))
	require.Equal(t, query.Succeeded, b.finish(b.id).Status)
}

// TestReaderFailsAlone: its writer continues.
func TestReaderFailsAlone(t *testing.T) {
	t.Parallel()
	b := setupStream(t, "{limit: 0}", "{limit: 1, initial_delay: 10ms}")
	b.ends(b.read0, flowforgev1.Outcome_OUTCOME_FAILED, "error")
	reader := b.pod(t, query.TaskID(b.id, 1, 2))
	require.Equal(t, b.make0.GetTaskId(), reader.GetFiles()[0].GetStream().GetTaskId(), "from its beginning")
	require.Equal(t, 1, b.node(b.id, "read").Retries)
	b.leaves(b.make0, "rows", b.upload("rows"))
	b.leaves(reader, "sum", b.upload("sum"))
	require.Equal(t, query.Succeeded, b.finish(b.id).Status)
}

func TestStreamIsCancelled(t *testing.T) {
	t.Parallel()
	b := setupStream(t)
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, b.id, "enough"))
	b.stops(b.make0.GetTaskId())
	b.stops(b.read0.GetTaskId())
	b.ends(b.make0, flowforgev1.Outcome_OUTCOME_CANCELLED, "")
	b.ends(b.read0, flowforgev1.Outcome_OUTCOME_CANCELLED, "")
	require.Equal(t, query.Cancelled, b.finish(b.id).Status)
	require.Equal(t, dag.Cancelled, b.node(b.id, "read").State)
}

// TestNoCapacityForAReader: a writer never waits for its reader, so capacity for one is enough
// for both, one after the other.
func TestNoCapacityForAReader(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]string{"quota": streams, "parallelism": strings.Replace(streams, "version: 1.0.0", "version: 1.0.0\nparallelism: 1", 1)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(c *execution.Config) {
				c.StoreDir = "/store"
				if name == "quota" {
					c.Capacity = quota.Capacity{CPUMillis: 4000, MemoryMiB: 4096, Pods: 1}
				}
			})
			b.keepFiles()
			id := b.launch(doc, nil)
			require.Equal(t, query.Succeeded, b.finish(id).Status)
			edges, err := b.engine.Channels.Edges(b.ctx, id, "read")
			require.NoError(t, err)
			require.Equal(t, "from make.rows, local disk: same machine; its writer had ended, 4 B", edges[0].Text(bytesOf))
		})
	}
}
