package handlers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/typeregistry"
)

func TestTypesOverTheAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var list struct {
		Types []typeregistry.Entry `json:"types"`
	}
	b.member.get(t, "/api/v1/types").into(t, http.StatusOK, &list)
	require.GreaterOrEqual(t, len(list.Types), 25)
	for _, entry := range list.Types {
		one := b.member.get(t, "/api/v1/types/"+entry.Name).object(t, http.StatusOK)
		require.Equal(t, entry.Name, one["type_name"])
		require.NotNil(t, one["json_schema"], entry.Name)
		ui := b.member.get(t, "/api/v1/types/"+entry.Name+"/ui-schema").object(t, http.StatusOK)
		require.NotEmpty(t, ui["ui_component"], entry.Name)
		require.NotNil(t, ui["validation_rules"], entry.Name)
	}
	b.member.get(t, "/api/v1/types/Nothing").problem(t, http.StatusNotFound)
}

// TestUISchemaAsThePlatformDocumentShows: type_name, ui_component,
// autocomplete_source, and validation_rules with rule and error.
func TestUISchemaAsThePlatformDocumentShows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ui := b.member.get(t, "/api/v1/types/FeatureSet/ui-schema").object(t, http.StatusOK)
	require.Equal(t, "FeatureSet", ui["type_name"])
	require.Equal(t, "FeatureSetSelector", ui["ui_component"])
	require.Equal(t, "/api/v1/feature-store/feature-sets", ui["autocomplete_source"])
	rule := ui["validation_rules"].([]any)[0].(map[string]any)
	require.Equal(t, "exists_in_feature_store", rule["rule"])
	require.NotEmpty(t, rule["error"])
	b.member.get(t, ui["autocomplete_source"].(string)).object(t, http.StatusOK)

	for expression, want := range map[string]string{
		"Dataset": "DatasetSelector", `Model(framework="pytorch")`: "ModelSelector", "Date": "DatePicker", "Integer(min=1, max=9)": "NumberInput",
		"Enum(a, b)": "Select", "String": "TextInput", "HyperparameterSet": "HyperparameterEditor",
	} {
		ui := b.member.get(t, "/api/v1/types/"+url.PathEscape(expression)+"/ui-schema").object(t, http.StatusOK)
		require.Equal(t, want, ui["ui_component"], expression)
		require.Equal(t, want, ui["component"], expression)
		if source, ok := ui["autocomplete_source"].(string); ok {
			b.member.get(t, source).object(t, http.StatusOK)
		}
	}
	number := b.member.get(t, "/api/v1/types/"+url.PathEscape("Integer(min=1, max=9)")+"/ui-schema").object(t, http.StatusOK)
	require.Equal(t, "1 9", fmt.Sprint(number["min"], " ", number["max"]))
	model := b.member.get(t, "/api/v1/types/"+url.PathEscape(`Model(framework="pytorch")`)+"/ui-schema").object(t, http.StatusOK)
	require.Equal(t, "pytorch", model["filters"].(map[string]any)["framework"])
}

func TestCustomTypes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const definition = `{"type_name": "RecommendationModel", "extends": "Model",
		"schema": {"input_features": ["user_id", "context_embedding"], "output_type": "ranked_items"}, "ui_renderer": "model_visualizer_v2"}`
	made := b.admin.post(t, "/api/v1/types", definition).object(t, http.StatusCreated)
	require.Equal(t, "RecommendationModel", made["type_name"])
	require.Equal(t, "Model", made["extends"])
	require.Equal(t, "model_visualizer_v2", made["ui_renderer"])
	require.Equal(t, "ranked_items", made["schema"].(map[string]any)["output_type"])
	b.admin.post(t, "/api/v1/types", definition).object(t, http.StatusCreated)
	b.admin.post(t, "/api/v1/types", strings.Replace(definition, "_v2", "_v3", 1)).problem(t, http.StatusConflict)
	ui := b.member.get(t, "/api/v1/types/RecommendationModel/ui-schema").object(t, http.StatusOK)
	require.Equal(t, "ModelSelector", ui["ui_component"])
	require.Equal(t, "model_visualizer_v2", ui["ui_renderer"])

	b.admin.post(t, "/api/v1/types", `{"type_name": "Grade", "extends": "Integer(min=1, max=6)",
		"validation_rules": [{"rule": "range", "min": 1, "max": 6, "error": "Grades go from 1 to 6."}]}`).object(t, http.StatusCreated)
	rules := b.member.get(t, "/api/v1/types/Grade/ui-schema").object(t, http.StatusOK)["validation_rules"].([]any)
	require.Contains(t, fmt.Sprint(rules), "Grades go from 1 to 6.")
	b.register(t, "name: uses.grade\nversion: 1.0.0\ninputs: [{name: grade, type: Grade}]\noperators: [{name: a, type: noop}]\n")
	p := b.member.post(t, "/api/v1/executions", `{"workflow": "uses.grade", "inputs": {"grade": 7}}`).problem(t, http.StatusUnprocessableEntity)
	require.NotEmpty(t, at(p, "inputs.grade"))
	b.member.post(t, "/api/v1/executions", `{"workflow": "uses.grade", "inputs": {"grade": 2}}`).object(t, http.StatusCreated)

	for body, path := range map[string]string{
		`{"type_name": "grade2", "extends": "Integer"}`:                                                "type_name",
		`{"type_name": "Integer", "extends": "Integer"}`:                                               "type_name",
		`{"type_name": "Loose", "extends": "Nothing"}`:                                                 "extends",
		`{"type_name": "Loop", "extends": "List<Loop>"}`:                                               "extends",
		`{"type_name": "Ruled", "extends": "String", "validation_rules": [{"rule": "be nice"}]}`:       "validation_rules[0].rule",
		`{"type_name": "Ruled", "extends": "String", "validation_rules": [{"rule": "required"}, "?"]}`: "validation_rules[1]",
	} {
		p := b.admin.post(t, "/api/v1/types", body).problem(t, http.StatusUnprocessableEntity)
		require.Len(t, p.Errors, 1, body)
		require.True(t, strings.HasPrefix(p.Errors[0].Path, path) || strings.HasPrefix(path, p.Errors[0].Path), "%s: %+v", body, p.Errors)
	}
	for _, body := range []string{"", "null", "[]", `"x"`, "{", `{"type_name": 1}`, `{"type_name": "Odd", "extends": "String", "colour": 1}`} {
		b.admin.post(t, "/api/v1/types", body).problem(t, http.StatusUnprocessableEntity)
	}
}

func TestCatalogueOverTheAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	file := b.member.send(t, http.MethodPost, "/api/v1/blobs?filename=digits.csv", "text/csv", "label,pixel\n1,2\n").object(t, http.StatusCreated)
	made := b.member.post(t, "/api/v1/datasets", `{"name": "digits", "version": "1.0", "format": "csv", "rows": 1, "tags": ["images"], "description": "Hand-written",
		"columns": [{"name": "label", "dtype": "Integer"}], "file": `+jsonText(t, file)+`}`).object(t, http.StatusCreated)
	require.Equal(t, "digits@1.0", made["ref"])
	require.Equal(t, file["$file"], made["sha256"])
	require.Equal(t, "mia", made["created_by"])
	b.member.post(t, "/api/v1/datasets", `{"name": "digits", "version": "1.0", "format": "parquet"}`).problem(t, http.StatusConflict)
	b.member.post(t, "/api/v1/datasets", `{"name": "digits", "version": "2.0", "format": "csv"}`).object(t, http.StatusCreated)
	require.Equal(t, "digits@2.0", b.member.get(t, "/api/v1/datasets/digits").object(t, http.StatusOK)["ref"], "the newest by name")
	require.Equal(t, "digits@1.0", b.member.get(t, "/api/v1/datasets/digits%401.0").object(t, http.StatusOK)["ref"])
	b.member.get(t, "/api/v1/models/digits").problem(t, http.StatusNotFound)

	both := b.member.post(t, "/api/v1/datasets", `{"name": "sent.back", "version": "1", "format": "parquet", "columns": `+jsonText(t, made["columns"])+`, "schema": `+jsonText(t, made["schema"])+`}`).object(t, http.StatusCreated)
	require.Equal(t, made["columns"], both["columns"], "columns of a read entry, which has them twice")
	require.Equal(t, made["columns"], b.member.post(t, "/api/v1/datasets", `{"name": "sent.back", "version": "2", "format": "parquet", "schema": `+jsonText(t, made["schema"])+`}`).object(t, http.StatusCreated)["columns"])
	differ := b.member.post(t, "/api/v1/datasets", `{"name": "sent.back", "version": "3", "format": "parquet", "columns": [{"name": "a", "dtype": "Float"}], "schema": [{"name": "b", "dtype": "Float"}]}`).problem(t, http.StatusUnprocessableEntity)
	require.Contains(t, at(differ, "schema"), "another name of columns")

	for i := range 5 {
		b.member.post(t, "/api/v1/models", fmt.Sprintf(`{"name": "net%d", "version": "1", "framework": %q}`, i, []string{"pytorch", "onnx"}[i%2])).object(t, http.StatusCreated)
	}
	entries := func(path string) []string {
		t.Helper()
		var refs []string
		for page := ""; ; {
			var answer struct {
				Entries  []struct{ Ref string } `json:"entries"`
				NextPage string                 `json:"next_page"`
			}
			b.member.get(t, path+"&page="+url.QueryEscape(page)).into(t, http.StatusOK, &answer)
			for _, e := range answer.Entries {
				refs = append(refs, e.Ref)
			}
			if page = answer.NextPage; page == "" {
				return refs
			}
		}
	}
	require.ElementsMatch(t, []string{"net0@1", "net1@1", "net2@1", "net3@1", "net4@1"}, entries("/api/v1/models?limit=2"))
	require.ElementsMatch(t, []string{"net1@1", "net3@1"}, entries("/api/v1/models?limit=1&framework=onnx"))
	require.Equal(t, []string{"net4@1"}, entries("/api/v1/models?q=NET4"))
	require.Len(t, entries("/api/v1/datasets?format=csv"), 2)
	b.member.get(t, "/api/v1/models?page=broken").problem(t, http.StatusUnprocessableEntity)

	b.member.post(t, "/api/v1/feature-store/feature-sets",
		`{"name": "news_feed/user_features", "version": "v2", "entity_key": "user_id", "features": [{"name": "age", "dtype": "Integer"}, {"name": "embedding", "dtype": "Float"}]}`).object(t, http.StatusCreated)
	features := b.member.get(t, "/api/v1/feature-store/features?q=AGE").object(t, http.StatusOK)["features"].([]any)
	require.Len(t, features, 1)
	require.Equal(t, "age", features[0].(map[string]any)["name"])
	b.register(t, "name: uses.features\nversion: 1.0.0\ninputs: [{name: set, type: FeatureSet}]\noperators: [{name: a, type: noop}]\n")
	b.member.post(t, "/api/v1/executions", `{"workflow": "uses.features", "inputs": {"set": {"feature_store_ref": "fs://news_feed/user_features/v2"}}}`).object(t, http.StatusCreated)
	p := b.member.post(t, "/api/v1/executions", `{"workflow": "uses.features", "inputs": {"set": {"feature_store_ref": "fs://news_feed/nothing/v2"}}}`).problem(t, http.StatusUnprocessableEntity)
	require.NotEmpty(t, at(p, "inputs.set"))

	p = b.member.post(t, "/api/v1/datasets", `{"name": "a b", "version": "", "rows": -1, "file": {"$file": "`+strings.Repeat("0", 64)+`"}}`).problem(t, http.StatusUnprocessableEntity)
	require.NotEmpty(t, at(p, "rows"))
	p = b.member.post(t, "/api/v1/datasets", `{"name": "a", "version": "1", "file": {"$file": "`+strings.Repeat("0", 64)+`"}}`).problem(t, http.StatusUnprocessableEntity)
	require.NotEmpty(t, at(p, "file"))
	p = b.member.post(t, "/api/v1/datasets", `{"name": "@", "version": "one two"}`).problem(t, http.StatusUnprocessableEntity)
	require.NotEmpty(t, at(p, "name"))
	require.NotEmpty(t, at(p, "version"))
}
