package sources

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// operators are the operators that the document omits from its example.
const operators = `[
	{"name": "LoadData", "operator_type": "LoadOperator", "outputs": [{"name": "rows", "type": "Integer"}], "code": {"script": "from flowforge import client\nclient.output('rows', 3)"}},
	{"name": "Train", "operator_type": "TrainOperator", "outputs": [{"name": "model", "type": "Model"}],
	 "inputs": [{"name": "rows", "type": "Integer", "source": {"operator": "LoadData", "output": "rows"}}],
	 "code": {"script": "from flowforge import client\nclient.output('model', 'weights', metadata={'accuracy': 0.923, 'framework': 'pytorch'})"}}]`

// register000 is the first request of the Workflow Management API.
const register000 = `{
    "name": "recommendation_training",
    "version": "1.0.0",
    "owner_team": "news_feed_ml",
    "input_schema": {
        "fields": [
            {"name": "training_date", "type": "Date", "required": true},
            {"name": "feature_set", "type": "FeatureSet", "required": true},
            {"name": "hyperparams", "type": "HyperparameterSet", "required": false}
        ]
    },
    "operators": [...]
}`

// launch000 is the first request of the Execution API.
const launch000 = `{
    "workflow_id": "wf-abc123",
    "version": "1.0.0",
    "inputs": {
        "training_date": "2026-01-24",
        "feature_set": {"feature_store_ref": "fs://news_feed/user_features/v2"},
        "hyperparams": {"learning_rate": 0.001, "batch_size": 256}
    },
    "priority": "NORMAL",
    "idempotency_key": "train-2026-01-24-attempt-1"
}`

// Test000REST walks the API of document 000.
func Test000REST(t *testing.T) { //nolint:tparallel // the requests are about one execution, in order
	t.Parallel()
	features := `{"name": "news_feed/user_features", "version": "v2", "entity_key": "user_id", "features": [{"name": "age", "dtype": "Integer"}]}`
	require.Equal(t, http.StatusCreated, shared.send(t, http.MethodPost, "/api/v1/feature-store/feature-sets", features).status, "the feature store of the example")
	made := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/workflows", strings.Replace(register000, "[...]", operators, 1)), http.StatusCreated)
	require.Equal(t, "REGISTERED", made["status"])
	require.NotEmpty(t, made["version_id"])
	require.Equal(t, "/workflows/recommendation_training/launch", made["ui_launch_url"])
	id := made["workflow_id"].(string)
	t.Run("GET /workflows/{workflow_id}/versions/{version}", func(t *testing.T) {
		require.Equal(t, http.StatusOK, shared.get(t, "/api/v1/workflows/"+id).status)
		version := decode[object](t, shared.get(t, "/api/v1/workflows/"+id+"/versions/1.0.0"), http.StatusOK)
		listed := version["definition"].(object)["operators"].([]any)
		require.Equal(t, "TrainOperator", listed[1].(object)["operator_type"], "what is accepted is returned")
	})
	t.Run("GET /workflows?team&status&page", func(t *testing.T) {
		list := decode[object](t, shared.get(t, "/api/v1/workflows?team=news_feed_ml&status=REGISTERED&page=1"), http.StatusOK)
		require.Equal(t, "recommendation_training", list["workflows"].([]any)[0].(object)["name"])
		list = decode[object](t, shared.get(t, "/api/v1/workflows?team=news_feed_ml&status=REGISTERED&page=2"), http.StatusOK)
		require.Empty(t, list["workflows"])
	})
	launched := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/executions", strings.Replace(launch000, "wf-abc123", id, 1)), http.StatusCreated)
	require.Equal(t, "PENDING", launched["status"])
	require.NotEmpty(t, launched["dag_id"])
	execution := launched["execution_id"].(string)
	var e object
	require.Eventually(t, func() bool {
		e = decode[object](t, shared.get(t, "/api/v1/executions/"+execution), http.StatusOK)
		return e["status"] == "SUCCEEDED" || e["status"] == "FAILED"
	}, 2*time.Minute, 50*time.Millisecond)
	require.Equal(t, "SUCCEEDED", e["status"], "%v", e)
	t.Run("GET /executions/{execution_id}: progress and nodes", func(t *testing.T) {
		progress := e["progress"].(object)
		require.Equal(t, json.Number("2"), progress["total_operators"])
		require.Equal(t, json.Number("2"), progress["completed"])
		require.Equal(t, json.Number("100"), progress["layer_percent"])
	})
	t.Run("GET /artifacts/{artifact_id}", func(t *testing.T) {
		list := decode[object](t, shared.get(t, "/api/v1/executions/"+execution+"/artifacts"), http.StatusOK)["artifacts"].([]any)
		require.Len(t, list, 1)
		a := decode[object](t, shared.get(t, "/api/v1/artifacts/"+list[0].(object)["artifact_id"].(string)), http.StatusOK)
		require.Equal(t, "Model", a["type"])
		require.Equal(t, json.Number("9"), a["size_bytes"])
		require.Regexp(t, "^artifact://", a["storage_uri"])
		for kind, n := range map[string]int{"Model": 1, "Dataset": 0} {
			require.Len(t, decode[object](t, shared.get(t, "/api/v1/executions/"+execution+"/artifacts?type="+kind), http.StatusOK)["artifacts"], n)
			require.Len(t, decode[object](t, shared.get(t, "/api/v1/artifacts?workflow=recommendation_training&type="+kind), http.StatusOK)["artifacts"], n)
		}
		download := shared.get(t, "/api/v1/artifacts/"+list[0].(object)["artifact_id"].(string)+"/download")
		require.Equal(t, answer{http.StatusOK, download.header, `"weights"`}, download)
		require.Equal(t, "pytorch", a["framework"])
		require.Equal(t, json.Number("0.923"), a["metadata"].(object)["accuracy"])
		require.Equal(t, execution, a["metadata"].(object)["created_from_execution"])
	})
	t.Run("POST /executions/{execution_id}/resume from a node by its id", func(t *testing.T) {
		node := e["nodes"].([]any)[1].(object)["node_id"].(json.Number).String()
		for _, from := range []string{node, `"` + node + `"`, `"` + execution + "." + node + `"`, `"Train"`} {
			plan := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/executions/"+execution+"/resume?dry_run=true", `{"from_node": `+from+`}`), http.StatusOK)
			require.Equal(t, json.Number("1"), plan["runs"], "%s: %v", from, plan)
		}
		made := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/executions/"+execution+"/resume",
			`{"from_node": "Train", "override_inputs": {"hyperparams": {"learning_rate": 0.01, "batch_size": 256}}}`), http.StatusCreated)
		again := shared.execution(t, made["execution_id"].(string), succeeded)
		require.Equal(t, object{"learning_rate": json.Number("0.01"), "batch_size": json.Number("256")}, again["inputs"].(object)["hyperparams"])
	})
	t.Run("the form of the workflow: Auto UI Schema Generation", func(t *testing.T) {
		form := decode[object](t, shared.get(t, "/api/v1/workflows/"+id+"/versions/1.0.0/ui-schema"), http.StatusOK)
		require.Equal(t, []any{"/api/v1/executions", "POST", "/executions/{execution_id}"}, []any{form["submit_url"], form["method"], form["success_redirect"]})
		for i, want := range []object{
			{"name": "training_date", "component": "DatePicker", "required": true},
			{"name": "feature_set", "component": "FeatureSetSelector", "required": true, "autocomplete_source": "/api/v1/feature-store/feature-sets"},
			{"name": "hyperparams", "component": "HyperparameterEditor", "required": false},
		} {
			contains(t, want, form["fields"].([]any)[i], want["name"].(string))
		}
	})
}

// Test000TypeRegistry is the Type Registry API.
func Test000TypeRegistry(t *testing.T) {
	t.Parallel()
	custom := `{
    "type_name": "RecommendationModel",
    "extends": "Model",
    "schema": {
        "input_features": ["user_id", "context_embedding"],
        "output_type": "ranked_items"
    },
    "ui_renderer": "model_visualizer_v2"
}`
	require.Equal(t, http.StatusCreated, shared.send(t, http.MethodPost, "/api/v1/types", custom).status)
	got := decode[object](t, shared.get(t, "/api/v1/types/RecommendationModel"), http.StatusOK)
	require.Equal(t, "RecommendationModel", got["type_name"])
	ui := decode[object](t, shared.get(t, "/api/v1/types/FeatureSet/ui-schema"), http.StatusOK)
	require.Equal(t, "FeatureSet", ui["type_name"])
	require.Equal(t, []any{"FeatureSetSelector", "/api/v1/feature-store/feature-sets"}, []any{ui["ui_component"], ui["autocomplete_source"]}, "as in the form of the workflow")
	require.Contains(t, rules(ui), "exists_in_feature_store")
}

// rules are the names of the validation rules of a form field, each of which has an error.
func rules(ui object) []any {
	var names []any
	for _, e := range ui["validation_rules"].([]any) {
		if rule := e.(object); rule["error"] != "" {
			names = append(names, rule["rule"])
		}
	}
	return names
}
