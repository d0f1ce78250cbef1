package handlers_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPresetsByTheAPI: a launch takes the values of a preset, inputs of the request come first,
// and a value that the version does not accept fails the launch unless it is replaced.
func TestPresetsByTheAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, typedDocument)
	const presets = "/api/v1/workflows/typed.train/presets"
	b.member.post(t, presets, `{"name": "wrong", "inputs": {"epochs": 1000}}`).problem(t, http.StatusUnprocessableEntity)
	saved := b.member.post(t, presets, `{"name": "quick", "sharing": "project", "inputs": {"epochs": 150, "day": "2026-01-24"}}`).object(t, http.StatusCreated)
	require.Equal(t, "mia", saved["created_by"])
	require.Len(t, b.admin.get(t, presets).object(t, http.StatusOK)["presets"], 1)

	launched := b.member.post(t, "/api/v1/executions", `{"workflow": "typed.train", "preset": "quick"}`).object(t, http.StatusCreated)
	inputs := func(id any) map[string]any {
		return b.member.get(t, "/api/v1/executions/"+id.(string)).object(t, http.StatusOK)["inputs"].(map[string]any)
	}
	require.Equal(t, json.Number("150"), inputs(launched["execution_id"])["epochs"])
	launched = b.member.post(t, "/api/v1/executions", `{"workflow": "typed.train", "preset": "QUICK", "inputs": {"epochs": 3}}`).object(t, http.StatusCreated)
	require.Equal(t, json.Number("3"), inputs(launched["execution_id"])["epochs"])
	require.Equal(t, json.Number("2"), b.member.get(t, presets+"/quick").object(t, http.StatusOK)["uses"])
	b.member.post(t, "/api/v1/executions", `{"workflow": "typed.train", "preset": "slow"}`).problem(t, http.StatusNotFound)

	next := strings.Replace(strings.Replace(typedDocument, "1.2.0", "2.0.0", 1), "max=200", "max=100", 1)
	require.NotEqual(t, typedDocument, next)
	b.register(t, next)
	body := b.member.get(t, presets+"/quick").object(t, http.StatusOK)
	require.Equal(t, "epochs", body["misfits"].([]any)[0].(map[string]any)["path"])
	p := b.member.post(t, "/api/v1/executions", `{"workflow": "typed.train", "preset": "quick"}`).problem(t, http.StatusUnprocessableEntity)
	require.NotEmpty(t, at(p, "preset.epochs"))
	b.member.post(t, "/api/v1/executions", `{"workflow": "typed.train", "preset": "quick", "inputs": {"epochs": 5}}`).object(t, http.StatusCreated)
	changed := b.member.send(t, http.MethodPatch, presets+"/quick", "application/json", `{"inputs": {"epochs": 50}}`).object(t, http.StatusOK)
	require.Equal(t, "2.0.0", changed["version"])
	require.Equal(t, map[string]any{"epochs": json.Number("50")}, changed["inputs"])

	stale, err := json.Marshal(map[string]any{"description": "older", "updated_at": saved["updated_at"]})
	require.NoError(t, err)
	b.member.send(t, http.MethodPatch, presets+"/quick", "application/json", string(stale)).problem(t, http.StatusConflict)
	fresh, err := json.Marshal(map[string]any{"description": "newer", "updated_at": changed["updated_at"]})
	require.NoError(t, err)
	b.member.send(t, http.MethodPatch, presets+"/quick", "application/json", string(fresh)).object(t, http.StatusOK)

	made := b.member.send(t, http.MethodPut, presets+"/quick/default?for=project", "", "").object(t, http.StatusOK)
	require.Equal(t, true, made["project_default"])
	ended := b.member.send(t, http.MethodDelete, presets+"/quick/default?for=project", "", "").object(t, http.StatusOK)
	require.Equal(t, false, ended["project_default"])
	require.Equal(t, http.StatusNoContent, b.member.send(t, http.MethodDelete, presets+"/quick", "", "").status)
	b.member.get(t, presets+"/quick").problem(t, http.StatusNotFound)
}
