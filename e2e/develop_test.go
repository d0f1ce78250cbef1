package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheFormOfADevelopmentVersionReloads: saving another version changes the fields and keeps
// what was typed, the focus and the position in the text.
func TestTheFormOfADevelopmentVersionReloads(t *testing.T) {
	t.Parallel()
	save := func(version, inputs string) {
		document := `{"name": "develop.reload", "version": "` + version + `", "inputs": [` + inputs + `],
			"operators": [{"name": "one", "type": "command", "code": {"command": ["true"]}}]}`
		shared.server.api(t, http.MethodPost, "/workflows", json.RawMessage(document), nil)
		shared.server.api(t, http.MethodPut, "/workflows/develop.reload/development", map[string]string{"version": version}, nil)
	}
	const title = `{"name": "title", "type": "String", "default": "first"}`
	save("1.0.0-dev.h1", title)
	page := open(t, options{})
	visit(t, page, "/workflows/develop.reload/dev")
	holds(t, page.Locator("#develop"), "Version 1.0.0-dev.h1")
	fill(t, input(page, "title"), "typed")
	_, err := input(page, "title").Evaluate("field => field.setSelectionRange(2, 2)", nil)
	require.NoError(t, err)

	save("1.0.0-dev.h2", title+`, {"name": "rate", "type": "Float", "default": 0.25}`)
	hasValue(t, input(page, "rate"), "0.25")
	holds(t, page.Locator("#develop"), "Version 1.0.0-dev.h2")
	hasValue(t, input(page, "title"), "typed")
	require.NoError(t, expect().Locator(input(page, "title")).ToBeFocused())
	at, err := input(page, "title").Evaluate("field => field.selectionStart", nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, at)
	accepted(t, page)

	save("1.0.0-dev.h3", strings.Replace(title, "first", "third", 1))
	require.NoError(t, expect().Locator(input(page, "rate")).ToHaveCount(0))
	hasValue(t, input(page, "title"), "typed")
	id := launchNow(t, page)
	require.Equal(t, map[string]any{"title": "typed"}, shared.server.inputsOf(t, id))
	e := shared.server.wait(t, id, ended)
	require.Equal(t, "SUCCEEDED", e.Status)
}
