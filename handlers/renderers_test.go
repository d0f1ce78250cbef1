package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// definition is a custom type with a page.
func definition(name, extends, renderer string) string {
	return `{"type_name": "` + name + `", "extends": "` + extends + `", "ui_renderer": ` + renderer + `}`
}

func TestRendererPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.admin.post(t, "/api/v1/types", definition("ColorMap", "Enum(viridis, magma)", `{"html": "<!doctype html><p>pick one</p>", "inputs": true}`)).object(t, http.StatusCreated)
	renderer := made["ui_renderer"].(map[string]any)
	require.Regexp(t, "^sha256:[0-9a-f]{64}$", renderer["file"])
	require.NotContains(t, renderer, "html")
	b.admin.post(t, "/api/v1/types", definition("ColorMap", "Enum(viridis, magma)", `{"html": "<!doctype html><p>pick one</p>", "inputs": true}`)).object(t, http.StatusCreated)
	b.admin.post(t, "/api/v1/types", definition("ColorMap", "Enum(viridis, magma)", `{"html": "<p>another</p>", "inputs": true}`)).problem(t, http.StatusConflict)

	page := b.member.get(t, "/types/ColorMap/renderer")
	require.Equal(t, "<!doctype html><p>pick one</p>", page.body)
	policy := page.header.Get("Content-Security-Policy")
	for _, part := range []string{"sandbox allow-scripts;", "default-src 'none'", "webrtc 'block'", "form-action 'none'", "frame-ancestors 'self'"} {
		require.Contains(t, policy, part)
	}
	require.NotContains(t, policy, "connect-src")
	require.NotContains(t, policy, "allow-same-origin")
	require.Equal(t, http.StatusNotFound, b.member.get(t, "/types/Integer/renderer").status)

	b.start(t)
	b.register(t, "name: colored\nversion: 1.0.0\ninputs: [{name: colors, type: ColorMap}]\noperators: [{name: a, type: noop}]\n")
	form := b.member.get(t, "/workflows/colored/launch").body
	require.Contains(t, form, `data-renderer="/types/ColorMap/renderer?v=sha256`)
	require.Contains(t, form, `name="inputs.colors"`, "the built-in control stays")
	ui := b.member.get(t, "/api/v1/types/ColorMap/ui-schema").object(t, http.StatusOK)
	require.Equal(t, true, ui["renderer_page"].(map[string]any)["inputs"])
}

func TestWhatIsNoRenderer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, tt := range map[string][2]string{
		"a list": {"Enum(a, b)", `["x"]`}, "unknown key": {"Enum(a, b)", `{"html": "x", "onload": "y"}`}, "nothing": {"Enum(a, b)", `{"inputs": true}`},
		"both": {"Enum(a, b)", `{"html": "x", "file": "y"}`}, "a path": {"Enum(a, b)", `{"file": "color_map.html"}`},
		"a page that the server does not have": {"Enum(a, b)", `{"file": "sha256:` + strings.Repeat("0", 64) + `"}`},
		"inputs of a file":                     {"File", `{"html": "x", "inputs": true}`},
		"too large":                            {"Enum(a, b)", `{"html": "` + strings.Repeat("x", 512<<10+1) + `"}`},
	} {
		refused := b.admin.post(t, "/api/v1/types", definition("Own", tt[0], tt[1])).problem(t, http.StatusUnprocessableEntity)
		require.NotEmpty(t, at(refused, "ui_renderer"), name)
	}
	require.Equal(t, http.StatusNotFound, b.member.get(t, "/types/Own/renderer").status)
}

func TestValuesAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	check := func(expression, value string) map[string]any {
		return b.member.post(t, "/api/v1/types/"+expression+"/check", `{"value": `+value+`}`).object(t, http.StatusOK)
	}
	require.Equal(t, "adam", check("Enum(adam,sgd)", `"adam"`)["value"])
	refused := check("Enum(adam,sgd)", `"x"`)["problems"].([]any)
	require.Contains(t, refused[0].(map[string]any)["message"], "Choose")
	b.member.post(t, "/api/v1/types/Nothing/check", `{"value": 1}`).problem(t, http.StatusNotFound)
}
