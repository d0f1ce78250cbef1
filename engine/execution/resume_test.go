package execution_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// resume resumes and waits for the end.
func (b *testBundle) resume(r execution.ResumeRequest) query.Execution {
	b.t.Helper()
	e, created, err := b.engine.Resumption.Resume(b.ctx, r)
	require.NoError(b.t, err, "%v", apperr.FieldsOf(err))
	require.True(b.t, created)
	return b.finish(e.ID)
}

// ran returns the nodes that ran in an execution: those with attempts.
func (b *testBundle) ran(id uuid.UUID) []string {
	b.t.Helper()
	rows, err := b.pool.Query(b.ctx, `SELECT DISTINCT n.name FROM attempts a JOIN nodes n USING (execution_id, node_index) WHERE a.execution_id = $1`, id)
	require.NoError(b.t, err)
	defer rows.Close()
	names := []string{}
	for rows.Next() {
		var name string
		require.NoError(b.t, rows.Scan(&name))
		names = append(names, name)
	}
	return names
}

// keepFiles lets tasks produce files: what they write becomes the bytes.
func (b *testBundle) keepFiles() {
	b.launcher.upload = func(name string, content []byte) *flowforgev1.Output {
		blob, err := b.artifacts.Upload(b.ctx, bytes.NewReader(content))
		if err != nil {
			b.t.Errorf("store %s: %v", name, err)
			return &flowforgev1.Output{Name: name}
		}
		return &flowforgev1.Output{Name: name, Filename: name, Content: &flowforgev1.Output_Blob{Blob: &flowforgev1.Blob{Sha256: blob.SHA256, Size: blob.Size}}}
	}
}

// hasBytes checks that the store has undamaged bytes.
func (b *testBundle) hasBytes(hash string) {
	b.t.Helper()
	r, err := b.artifacts.Store().Open(b.ctx, hash)
	require.NoError(b.t, err)
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	require.NoError(b.t, err)
}

// chain has a node that fails until the file flag exists.
func chain(flag string) string {
	return fmt.Sprintf(`
name: chain
version: 1.0.0
inputs:
  - {name: lr, type: Float, default: 0.1}
  - {name: seed, type: Integer, default: 1}
outputs: [{name: data, type: File, from: load.data}, {name: v, type: Integer, from: end.v}]
operators:
  - {name: load, type: shell, inputs: [{name: seed, from: inputs.seed}], outputs: [{name: data, type: File}], code: {script: 'echo bytes'}}
  - {name: train, type: shell, inputs: [{name: lr, from: inputs.lr}, {name: data, from: load.data}], outputs: [{name: v, type: Integer}], retry: {fail_fast: false}, code: {script: 'test -e %s && echo 2'}}
  - {name: other, type: shell, code: {script: 'true'}}
  - {name: skip, type: shell, when: 'inputs.lr > 5', code: {script: 'true'}}
  - {name: end, type: shell, depends: 'other && skip.Completed', inputs: [{name: v, from: train.v}], outputs: [{name: v, type: Integer}], code: {script: 'echo 3'}}
`, flag)
}

func TestResumeFromFirstFailure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keepFiles()
	flag := filepath.Join(t.TempDir(), "flag")
	first := b.finish(b.launch(chain(flag), nil))
	require.Equal(t, query.Failed, first.Status)
	touch(t, flag)

	plan, err := b.engine.Resumption.Plan(b.ctx, execution.ResumeRequest{Of: first.ID})
	require.NoError(t, err)
	require.Empty(t, plan.Refusal)
	require.Equal(t, []int{2, 3}, []int{plan.Runs, plan.Kept})
	require.Equal(t, execution.ResumeNode{Name: "train", Runs: true, Ground: dag.Unfinished, Why: "It failed.", Before: dag.Failed}, plan.Nodes[1])
	require.Equal(t, "It depends on train, which will run.", plan.Nodes[4].Why)
	require.Equal(t, "It was skipped and would be skipped again.", plan.Nodes[3].Why)

	e := b.resume(execution.ResumeRequest{Of: first.ID})
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, &first.ID, e.ResumeOf)
	require.ElementsMatch(t, []string{"train", "end"}, b.ran(e.ID))
	require.Equal(t, query.Counts{Total: 5, Succeeded: 4, Skipped: 1}, e.Counts)
	load := b.node(e.ID, "load")
	require.Equal(t, &query.Origin{Execution: first.ID, Node: "load", Use: query.OriginReused}, load.Origin)
	require.Equal(t, b.node(first.ID, "load").Outputs, load.Outputs, "the artifact is the same, and not another one")
	require.Equal(t, load.Outputs["data"], e.Outputs["data"])
	require.Contains(t, b.kinds(e.ID), "execution.launched")

	_, _, err = b.engine.Resumption.Resume(b.ctx, execution.ResumeRequest{Of: e.ID})
	require.True(t, apperr.Is(err, apperr.Conflict), "a succeeded execution needs a start node")

	again := b.resume(execution.ResumeRequest{Of: e.ID, From: "end"})
	require.Equal(t, []string{"end"}, b.ran(again.ID))
	require.Equal(t, first.ID, b.node(again.ID, "load").Origin.Execution, "the execution in which it ran")
	require.Equal(t, e.ID, b.node(again.ID, "train").Origin.Execution)
}

func TestResumeWithChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keepFiles()
	flag := filepath.Join(t.TempDir(), "flag")
	touch(t, flag)
	first := b.finish(b.launch(chain(flag), nil))
	require.Equal(t, query.Succeeded, first.Status, "%+v", first.Error)

	changed := b.resume(execution.ResumeRequest{Of: first.ID, From: "end", Inputs: map[string]any{"lr": json.Number("0.5")}})
	require.ElementsMatch(t, []string{"train", "end"}, b.ran(changed.ID), "load does not read lr")
	require.Equal(t, json.Number("0.5"), changed.Inputs["lr"])

	same := b.resume(execution.ResumeRequest{Of: first.ID, From: "other", Inputs: map[string]any{"lr": json.Number("1e-1")}})
	require.ElementsMatch(t, []string{"other", "end"}, b.ran(same.ID), "an equal number is not a change")

	b.register(strings.NewReplacer("version: 1.0.0", "version: 1.1.0", "echo 2", "echo 4", "type: Integer, default: 1}", "type: Integer, default: 1, description: any}").Replace(chain(flag)))
	code := b.resume(execution.ResumeRequest{Of: first.ID, From: "end", Version: "1.1.0"})
	require.ElementsMatch(t, []string{"train", "end"}, b.ran(code.ID))
	require.Equal(t, "1.1.0", code.Version)
	require.Equal(t, json.Number("4"), b.node(code.ID, "train").Outputs["v"])

	_, _, err := b.engine.Resumption.Resume(b.ctx, execution.ResumeRequest{Of: first.ID, From: "nothing"})
	require.True(t, apperr.Is(err, apperr.NotFound))
	_, _, err = b.engine.Resumption.Resume(b.ctx, execution.ResumeRequest{Of: first.ID, From: "end", Inputs: map[string]any{"lr": "x"}})
	require.Equal(t, "inputs.lr", apperr.FieldsOf(err)[0].Path)
	_, _, err = b.engine.Resumption.Resume(b.ctx, execution.ResumeRequest{Of: first.ID, From: "end", Resources: map[string]execution.ResourceOverride{"end": {MemoryMiB: new(1 << 30)}}})
	require.Equal(t, "resources.end", apperr.FieldsOf(err)[0].Path)
	larger := b.resume(execution.ResumeRequest{Of: first.ID, From: "end", Resources: map[string]execution.ResourceOverride{"end": {MemoryMiB: new(64), CPUMillis: new(200)}}})
	require.Equal(t, 64, b.node(larger.ID, "end").Attempts[0].MemoryMiB)
}

func TestResumeRunsAgainWhatLostItsBytes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keepFiles()
	flag := filepath.Join(t.TempDir(), "flag")
	first := b.finish(b.launch(chain(flag), nil))
	touch(t, flag)
	_, err := b.pool.Exec(b.ctx, "DELETE FROM project_blobs")
	require.NoError(t, err)
	e := b.resume(execution.ResumeRequest{Of: first.ID})
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.ElementsMatch(t, []string{"load", "train", "end"}, b.ran(e.ID))
}

// fan fails for the items in the file bad.
func fan(bad string) string {
	return fmt.Sprintf(`
name: fan
version: 1.0.0
inputs: [{name: xs, type: "List<Integer>"}, {name: add, type: Integer, default: 0}]
outputs: [{name: all, type: "List<Integer>", from: each.v}]
operators:
  - {name: list, type: noop}
  - {name: each, type: shell, depends_on: [list], foreach: inputs.xs, inputs: [{name: x, from: item}, {name: add, from: inputs.add}], outputs: [{name: v, type: Integer}], retry: {fail_fast: false},
     code: {script: 'x=$(echo "$INPUTS" | sed "s/.*\"x\":\([0-9]*\).*/\1/"); grep -qx "$x" %s && exit 1; echo "$x"'}}
  - {name: join, type: noop, depends_on: [each]}
`, bad)
}

func TestResumeRunsFailedItemsAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bad := filepath.Join(t.TempDir(), "bad")
	require.NoError(t, os.WriteFile(bad, []byte("3\n7\n"), 0o600))
	var xs []any
	for n := range 40 {
		xs = append(xs, json.Number(fmt.Sprint(n)))
	}
	first := b.finish(b.launch(fan(bad), map[string]any{"xs": xs}))
	require.Equal(t, query.Failed, first.Status)
	require.NoError(t, os.WriteFile(bad, nil, 0o600))

	plan, err := b.engine.Resumption.Plan(b.ctx, execution.ResumeRequest{Of: first.ID})
	require.NoError(t, err)
	require.Equal(t, execution.ResumeNode{Name: "each", Runs: true, Ground: dag.Unfinished, Why: "It failed.", Before: dag.Failed, Inside: 40, Kept: 38}, plan.Nodes[1])

	e := b.resume(execution.ResumeRequest{Of: first.ID})
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.ElementsMatch(t, []string{"each[3]", "each[7]"}, b.ran(e.ID))
	require.Equal(t, xs, e.Outputs["all"])
	require.Equal(t, query.Counts{Total: 43, Succeeded: 43}, e.Counts)
	require.Equal(t, &query.Origin{Execution: first.ID, Node: "each[0]", Use: query.OriginReused}, b.node(e.ID, "each[0]").Origin)

	// A new item runs; the others keep their results, regardless of the execution that
	// produced them.
	xs[5] = json.Number("500")
	with := execution.ResumeRequest{Of: e.ID, From: "join", Inputs: map[string]any{"xs": xs}}
	plan, err = b.engine.Resumption.Plan(b.ctx, with)
	require.NoError(t, err)
	require.Equal(t, 39, plan.Nodes[1].Kept)
	other := b.resume(with)
	require.Equal(t, []string{"each[5]"}, b.ran(other.ID))
	require.Equal(t, xs, other.Outputs["all"])
	require.Equal(t, first.ID, b.node(other.ID, "each[0]").Origin.Execution)
	require.Equal(t, e.ID, b.node(other.ID, "each[3]").Origin.Execution)

	one := b.resume(execution.ResumeRequest{Of: other.ID, From: "each[2]"})
	require.Equal(t, []string{"each[2]"}, b.ran(one.ID))
	all := b.resume(execution.ResumeRequest{Of: other.ID, From: "join", Inputs: map[string]any{"add": json.Number("1")}})
	require.Len(t, b.ran(all.ID), 40, "all items read add")
}

func TestResumeInsideGraphs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	flag := filepath.Join(t.TempDir(), "flag")
	doc := fmt.Sprintf(`
name: nested
version: 1.0.0
inputs: [{name: a, type: Integer, default: 1}, {name: b, type: Integer, default: 2}]
operators:
  - {name: row, type: graph, graph: g, foreach: [1, 2], inputs: [{name: n, type: Integer, from: item}, {name: a, from: inputs.a}, {name: b, from: inputs.b}], retry: {fail_fast: false}}
graphs:
  g:
    inputs: [{name: n, type: Integer}, {name: a, type: Integer}, {name: b, type: Integer}]
    operators:
      - {name: first, type: shell, inputs: [{name: a, from: inputs.a}], code: {script: 'true'}}
      - {name: second, type: shell, depends_on: [first], inputs: [{name: b, from: inputs.b}], code: {script: 'test "$NODE" = "row[0]/second" || test -e %s'}}
`, flag)
	first := b.finish(b.launch(doc, nil))
	require.Equal(t, query.Failed, first.Status)
	touch(t, flag)
	e := b.resume(execution.ResumeRequest{Of: first.ID})
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, []string{"row[1]/second"}, b.ran(e.ID))
	chosen := b.resume(execution.ResumeRequest{Of: first.ID, From: "row[0]/first"})
	require.ElementsMatch(t, []string{"row[0]/first", "row[0]/second", "row[1]/second"}, b.ran(chosen.ID))
	changed := b.resume(execution.ResumeRequest{Of: first.ID, Inputs: map[string]any{"b": json.Number("9")}})
	require.ElementsMatch(t, []string{"row[0]/second", "row[1]/second"}, b.ran(changed.ID))
}

func TestResumeIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch("name: slow\nversion: 1.0.0\noperators: [{name: a, type: shell, code: {script: 'sleep 60'}}, {name: b, type: noop}]", nil)
	_, _, err := b.engine.Resumption.Resume(b.ctx, execution.ResumeRequest{Of: id})
	require.True(t, apperr.Is(err, apperr.Conflict), "it runs")
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, ""))
	b.finish(id)
	stranger := auth.WithSubject(b.ctx, auth.Subject{ID: uuid.New(), Name: "stranger"})
	_, err = b.engine.Resumption.Plan(stranger, execution.ResumeRequest{Of: id})
	require.Error(t, err)
	_, err = b.engine.Resumption.Plan(b.ctx, execution.ResumeRequest{Of: uuid.New()})
	require.True(t, apperr.Is(err, apperr.NotFound))
	request := execution.ResumeRequest{Of: id, IdempotencyKey: "once"}
	e, created, err := b.engine.Resumption.Resume(b.ctx, request)
	require.NoError(t, err)
	require.True(t, created)
	again, created, err := b.engine.Resumption.Resume(b.ctx, request)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, e.ID, again.ID)
	request.From = "b"
	_, _, err = b.engine.Resumption.Resume(b.ctx, request)
	require.True(t, apperr.Is(err, apperr.Conflict), "the key belongs to another request")
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, e.ID, ""))
	b.finish(e.ID)
}
