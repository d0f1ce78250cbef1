package handlers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/workflow"
)

// typedDocument has inputs of several types and one node.
const typedDocument = `
name: typed.train
version: 1.2.0
owner_team: vision
description: Trains on digits
tags: [example]
inputs:
  - {name: epochs, type: "Integer(min=1, max=200)", default: 20, ui: {label: Epochs}}
  - {name: seed, type: Integer, default: 1}
  - {name: day, type: Date}
  - {name: extra, type: JSON, default: {}}
operators:
  - {name: train, type: noop}
`

func TestRegisterWorkflow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const yaml = "application/yaml"
	first := b.admin.send(t, http.MethodPost, "/api/v1/workflows", yaml, typedDocument).object(t, http.StatusCreated)
	require.Equal(t, "REGISTERED", first["status"])
	require.Equal(t, "typed.train", first["name"])
	require.Equal(t, "/workflows/typed.train/launch", first["ui_launch_url"])
	again := b.member.send(t, http.MethodPost, "/api/v1/workflows", yaml, typedDocument).object(t, http.StatusCreated)
	require.Equal(t, "UNCHANGED", again["status"])
	require.Equal(t, first["version_id"], again["version_id"])
	changed := strings.Replace(typedDocument, "max=200", "max=300", 1)
	p := b.admin.send(t, http.MethodPost, "/api/v1/workflows", yaml, changed).problem(t, http.StatusConflict)
	require.Contains(t, p.Detail, "1.2.0")
	next := b.admin.send(t, http.MethodPost, "/api/v1/workflows", yaml, strings.Replace(changed, "1.2.0", "1.3.0", 1)).object(t, http.StatusCreated)
	require.Equal(t, first["workflow_id"], next["workflow_id"])

	for _, ref := range []string{"typed.train", first["workflow_id"].(string)} {
		w := b.member.get(t, "/api/v1/workflows/"+ref).object(t, http.StatusOK)
		require.Equal(t, "1.3.0", w["latest_version"])
		require.Equal(t, "vision", w["owner_team"])
		require.Len(t, w["versions"], 2)
	}
	v := b.member.get(t, "/api/v1/workflows/typed.train/versions/1.2.0").object(t, http.StatusOK)
	require.Equal(t, first["version_id"], v["version_id"])
	require.Equal(t, "typed.train", v["definition"].(map[string]any)["name"])
	require.Len(t, v["plan"].(map[string]any)["nodes"], 1)
	require.Equal(t, "1.3.0", b.member.get(t, "/api/v1/workflows/typed.train/versions/latest").object(t, http.StatusOK)["version"])
	b.member.get(t, "/api/v1/workflows/typed.train/versions/9.9.9").problem(t, http.StatusNotFound)
}

// TestRegisterAsThePlatformDocumentShows takes the JSON of the first API.
func TestRegisterAsThePlatformDocumentShows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.admin.post(t, "/api/v1/workflows", `{
		"name": "recommendation_training", "version": "1.0.0", "owner_team": "news_feed_ml",
		"input_schema": {"fields": [
			{"name": "training_date", "type": "Date", "required": true},
			{"name": "feature_set", "type": "FeatureSet", "required": true},
			{"name": "hyperparams", "type": "HyperparameterSet", "required": false}
		]},
		"operators": [{"name": "LoadData", "operator_type": "noop"}]
	}`).object(t, http.StatusCreated)
	b.admin.post(t, "/api/v1/feature-store/feature-sets",
		`{"name": "news_feed/user_features", "version": "2", "entity_key": "user", "features": [{"name": "age", "dtype": "Integer"}]}`)
	ui := b.admin.get(t, "/api/v1/workflows/recommendation_training/versions/1.0.0/ui-schema").object(t, http.StatusOK)
	require.Equal(t, "/api/v1/executions", ui["submit_url"])
	require.Equal(t, "POST", ui["method"])
	require.Equal(t, "/executions/{execution_id}", ui["success_redirect"])
	var components []string
	for _, f := range ui["fields"].([]any) {
		field := f.(map[string]any)
		components = append(components, fmt.Sprintf("%s %s %v", field["name"], field["component"], field["required"]))
	}
	require.Equal(t, []string{"training_date DatePicker true", "feature_set FeatureSetSelector true", "hyperparams HyperparameterEditor false"}, components)
}

func TestEveryProblemOfADocumentIsReported(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.admin.send(t, http.MethodPost, "/api/v1/workflows", "application/yaml", `
name: Bad Name
version: one
colour: blue
inputs:
  - {name: epochs, type: "Integer(min=a)"}
operators:
  - {name: a, type: noop, depends_on: [b]}
  - {name: b, type: noop, depends_on: [a, missing]}
  - {name: b, type: dance}
`).problem(t, http.StatusUnprocessableEntity)
	for _, path := range []string{"name", "version", "colour", "inputs[0].type", "operators[1].depends_on[1]", "operators[2].name", "operators[2].type"} {
		require.NotEmpty(t, at(p, path), "%s is missing in %+v", path, p.Errors)
	}
	p = b.admin.send(t, http.MethodPost, "/api/v1/workflows", "application/yaml",
		"name: circle\nversion: 1.0.0\noperators:\n  - {name: a, type: noop, depends_on: [b]}\n  - {name: b, type: noop, depends_on: [a]}\n").problem(t, http.StatusUnprocessableEntity)
	require.Contains(t, fmt.Sprint(p.Errors), "a → b → a")
}

func TestWorkflowsAreListedPageByPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var want []string
	for i := range 11 {
		name := fmt.Sprintf("flow.n%02d", i)
		want = append(want, name)
		b.register(t, fmt.Sprintf("name: %s\nversion: 1.0.0\nowner_team: team%d\ntags: [t%d]\ndescription: About %d\noperators: [{name: a, type: noop}]\n", name, i%2, i%3, i))
	}
	names := func(query string) []string {
		t.Helper()
		var got []string
		for page := ""; ; {
			var answer struct {
				Workflows []struct{ Name string } `json:"workflows"`
				NextPage  string                  `json:"next_page"`
			}
			b.member.get(t, "/api/v1/workflows?limit=3&"+query+"&page="+url.QueryEscape(page)).into(t, http.StatusOK, &answer)
			require.LessOrEqual(t, len(answer.Workflows), 3)
			for _, w := range answer.Workflows {
				got = append(got, w.Name)
			}
			if page = answer.NextPage; page == "" {
				return got
			}
		}
	}
	require.Equal(t, want, names(""))
	require.Len(t, names("team=team0"), 6)
	require.Equal(t, []string{"flow.n00", "flow.n06"}, names("team=team0&tag=t0"))
	require.Equal(t, []string{"flow.n07"}, names("q=about+7"))
	require.Empty(t, names("q=100%25"))
	b.admin.post(t, "/api/v1/workflows/flow.n05/archive", "").object(t, http.StatusOK)
	require.Equal(t, []string{"flow.n05"}, names("status=ARCHIVED"))
	require.Equal(t, slices.Delete(slices.Clone(want), 5, 6), names("status=ACTIVE"))
	require.Equal(t, want, names(""))
	p := b.member.get(t, "/api/v1/workflows?status=GONE").problem(t, http.StatusUnprocessableEntity)
	require.NotEmpty(t, at(p, "status"))

	b.member.post(t, "/api/v1/executions", `{"workflow": "flow.n05"}`).problem(t, http.StatusConflict)
	w := b.admin.post(t, "/api/v1/workflows/flow.n05/unarchive", "").object(t, http.StatusOK)
	require.Equal(t, "ACTIVE", w["status"])
	b.member.post(t, "/api/v1/executions", `{"workflow": "flow.n05"}`).object(t, http.StatusCreated)
}

func TestALargeDocumentIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.admin.send(t, http.MethodPost, "/api/v1/workflows", "application/yaml", "name: x\n#"+strings.Repeat("x", workflow.MaxDocumentBytes)).problem(t, http.StatusRequestEntityTooLarge)
	require.Contains(t, p.Detail, "larger")
	b.admin.send(t, http.MethodPost, "/api/v1/workflows", "application/yaml", "").problem(t, http.StatusUnprocessableEntity)
}
