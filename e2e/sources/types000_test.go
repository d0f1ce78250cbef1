package sources

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// contains fails unless got has every field of want, at every depth, with its value.
func contains(t *testing.T, want, got any, path string) {
	t.Helper()
	w, isObject := want.(object)
	if !isObject {
		require.Equal(t, want, got, path)
		return
	}
	g, ok := got.(object)
	require.True(t, ok, "%s is %v", path, got)
	for name, value := range w {
		contains(t, value, g[name], path+"."+name)
	}
}

// parsed decodes a JSON text of a test.
func parsed(t *testing.T, text string) object {
	t.Helper()
	return decode[object](t, answer{http.StatusOK, nil, text}, http.StatusOK)
}

// Test000CustomMLTypes registers a dataset, a model and a feature set with every field that
// "Custom ML Types" lists. The answer and later reads return the fields unchanged.
func Test000CustomMLTypes(t *testing.T) {
	t.Parallel()
	for path, text := range map[string]string{
		"/api/v1/feature-store/feature-sets": `{"name": "types/users", "version": "v1", "entity_key": "user_id", "timestamp_key": "seen_at", "features": [
			{"name": "age", "dtype": "Integer", "dimensions": [1], "default_value": 0, "statistics": {"mean": 34.5, "min": 13, "max": 99}},
			{"name": "context_embedding", "dtype": "Float", "dimensions": [16, 8], "default_value": null, "description": "of the last page"}]}`,
		"/api/v1/models": `{"name": "types/ranker", "version": "v1", "framework": "pytorch", "architecture": "transformer",
			"input_schema": [{"name": "tokens", "dtype": "Integer", "dimensions": [-1, 128]}],
			"output_schema": [{"name": "score", "dtype": "Float", "dimensions": [1]}], "exportable_formats": ["onnx", "caffe2"]}`,
		"/api/v1/datasets": `{"name": "types/clicks", "version": "v1", "format": "parquet", "estimated_rows": 1000000,
			"schema": [{"name": "user_id", "dtype": "String", "nullable": false}, {"name": "day", "dtype": "Date"}], "partitioning": ["day"]}`,
	} {
		want := parsed(t, text)
		made := decode[object](t, shared.send(t, http.MethodPost, path, text), http.StatusCreated)
		contains(t, want, made, path)
		listed := decode[object](t, shared.get(t, path+"?q=types/"), http.StatusOK)["entries"].([]any)
		require.Len(t, listed, 1)
		contains(t, want, listed[0], path)
	}
	features := decode[object](t, shared.get(t, "/api/v1/feature-store/features?q=context_embedding"), http.StatusOK)["features"].([]any)
	require.Equal(t, []any{json.Number("16"), json.Number("8")}, features[0].(object)["dimensions"])
	require.Equal(t, "types/users@v1", features[0].(object)["feature_set"])
}

// Test000TypedPorts registers a workflow whose inputs and outputs have the types of
// "Custom ML Types" as objects, and reads them from the definition.
func Test000TypedPorts(t *testing.T) {
	t.Parallel()
	model := `{"type_name": "Model", "parameters": {"framework": "pytorch", "architecture": "transformer",
		"input_schema": [{"name": "tokens", "dtype": "Integer", "dimensions": [-1, 128]}],
		"output_schema": [{"name": "score", "dtype": "Float", "dimensions": [1]}], "exportable_formats": ["onnx", "caffe2"]}}`
	features := `{"type_name": "FeatureSet", "parameters": {"entity_key": "user_id", "timestamp_key": "seen_at", "features": [
		{"name": "age", "dtype": "Integer", "dimensions": [1], "default_value": 0, "statistics": {"mean": 34.5}}]}}`
	made := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/workflows", `{"name": "typed-ports", "version": "1.0.0",
		"input_schema": {"fields": [{"name": "features", "type": `+features+`, "description": "of the users", "ui_hints": {"label": "Users"}}], "required_fields": ["features"]},
		"operators": [{"name": "Train", "operator_type": "TrainOperator",
			"resource_requirements": {"cpu_cores": 1, "memory_gb": 0.5, "storage_gb": 1, "network_bandwidth": "high"},
			"outputs": [{"name": "model", "type": `+model+`, "storage_hint": "disk"}], "code": {"script": "pass"}}]}`), http.StatusCreated)
	version := decode[object](t, shared.get(t, "/api/v1/workflows/"+made["workflow_id"].(string)+"/versions/1.0.0"), http.StatusOK)
	definition := version["definition"].(object)
	input := definition["inputs"].([]any)[0].(object)
	require.Equal(t, `FeatureSet(features=[age: Integer[1] @{default_value: 0, statistics: {mean: 34.5}}], entity_key="user_id", timestamp_key="seen_at")`, input["type"])
	require.Equal(t, object{"label": "Users"}, input["ui"])
	operator := definition["operators"].([]any)[0].(object)
	require.Equal(t, object{"cpu": "1000m", "memory": "512Mi", "network_bandwidth": "high", "storage": "1024Mi"}, operator["resources"])
	require.Equal(t, `Model(framework="pytorch", architecture="transformer", input_schema=[tokens: Integer[?, 128]], output_schema=[score: Float[1]], exportable_formats=["onnx", "caffe2"])`,
		operator["outputs"].([]any)[0].(object)["type"])
}
