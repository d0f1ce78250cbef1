package execution_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestItemsThatCannotBeStored: a fan-out over what JSON or Postgres cannot represent fails. It does not keep
// the execution from ending.
func TestItemsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, c := range []struct{ expression, message string }{
		{"[inputs.zero / inputs.zero]", "NaN is not a finite number"},
		{"[1.0 / inputs.zero]", "+Inf is not a finite number"},
		{`[{"a": ["b\u0000"]}]`, "a string contains the character NUL"},
		{`[{"b\u0000": 1}]`, "a string contains the character NUL"},
	} {
		document, err := json.Marshal(map[string]any{
			"name": fmt.Sprintf("items%d", i), "version": "1.0.0", "inputs": []any{map[string]any{"name": "zero", "type": "Float"}},
			"operators": []any{map[string]any{"name": "each", "type": "shell", "foreach": map[string]any{"expression": c.expression}, "code": map[string]any{"script": "true"}}},
		})
		require.NoError(t, err)
		id := b.launch(string(document), map[string]any{"zero": json.Number("0")})
		require.Equal(t, query.Failed, b.finish(id).Status, c.expression)
		require.Contains(t, b.node(id, "each").Error.Message, c.message)
	}
}

// TestMetadataThatCannotBeStored: the metadata of an output is text of the task.
func TestMetadataThatCannotBeStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(`
name: files
version: 1.0.0
operators: [{name: train, type: shell, code: {script: 'sleep 60'}, outputs: [{name: model, type: Model}]}]
`, nil)
	b.until(id, "running", func(e query.Execution) bool { return e.Counts.Running == 1 })
	blob := b.upload("weights")
	_, err := b.engine.Supervisor.Deliver(auth.AsSystem(b.ctx), []*flowforgev1.AttemptReport{{
		TaskId: query.TaskID(id, 0, 1), Token: testSigner(t).Sign(auth.TaskScope{ExecutionID: id, Attempt: 1}, time.Now().Add(time.Hour)),
		Report: &flowforgev1.AttemptReport_Finished{Finished: &flowforgev1.Finished{
			Outcome: flowforgev1.Outcome_OUTCOME_SUCCEEDED,
			Outputs: []*flowforgev1.Output{{Name: "model", Filename: "model.bin", Metadata: `{"note": "a\u0000"}`, Content: &flowforgev1.Output_Blob{Blob: blob}}},
		}},
	}})
	require.NoError(t, err)
	require.Equal(t, query.Failed, b.finish(id).Status)
	require.Contains(t, b.node(id, "train").Error.Message, "its metadata cannot be stored")
}
