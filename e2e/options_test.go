package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

const offeredDocument = `
name: forms.offered
version: 1.0.0
inputs:
  - {name: kind, type: String, default: svc, options: [{value: svc, label: Support vectors, description: For few rows}, {value: forest, label: Random forest}]}
  - {name: checkpoint, type: String, options: {http: "ENDPOINT/?q={{query}}&kind={{kind}}", items: .data, value: .id, label: .name, preview: [.layers]}}
  - {name: seed, type: Integer, default: 1, options: {from: executions, where: "workflow = forms.offered and inputs.kind = {{kind}}", value: inputs.seed, label: name, free: true}}
operators:
  - {name: nothing, type: noop, outputs: []}
`

// checkpoints is an endpoint with 60 checkpoints of each kind, which can be down.
func checkpoints(t *testing.T) (address string, down *atomic.Bool) {
	t.Helper()
	down = &atomic.Bool{}
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		var found []map[string]any
		for i := range 60 {
			id := fmt.Sprintf("%s-%d", r.URL.Query().Get("kind"), i+1)
			if name := fmt.Sprintf("Checkpoint %d", i+1); strings.Contains(name+id, r.URL.Query().Get("q")) {
				found = append(found, map[string]any{"id": id, "name": name, "layers": i})
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": found})
	}))
	t.Cleanup(endpoint.Close)
	return endpoint.URL, down
}

// TestOptionsComeFromTheirSource: the form completes values from a list, an endpoint and earlier
// executions, by keyboard, page by page and for the values of other inputs; a source that fails keeps
// what was typed.
func TestOptionsComeFromTheirSource(t *testing.T) {
	t.Parallel()
	address, down := checkpoints(t)
	document, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(offeredDocument, "ENDPOINT", address)))
	require.NoError(t, err)
	shared.server.api(t, http.MethodPost, "/workflows", json.RawMessage(document), nil)
	shared.server.launch(t, "forms.offered", map[string]any{"checkpoint": "svc-3", "seed": 77})
	for i, o := range []options{{}, {width: 390, dark: true}} {
		last := fmt.Sprint(59 - i) // the server uses answers again for some seconds
		down.Store(false)
		page := open(t, o)
		page.SetDefaultTimeout(20_000)
		visit(t, page, "/workflows/forms.offered/launch")
		list := func(name string) playwright.Locator {
			return page.Locator(`[data-input="` + name + `"] [role=option]:not([data-more])`)
		}
		box := page.Locator(`[data-input="checkpoint"] [role=listbox]`)
		holds(t, page.Locator("[data-option-about]").First(), "Support vectors · For few rows")

		click(t, input(page, "checkpoint"))
		require.NoError(t, expect().Locator(list("checkpoint")).ToHaveCount(20))
		audit(t, page)
		press(t, page, "ArrowUp", "Enter") // show more
		require.NoError(t, expect().Locator(list("checkpoint")).ToHaveCount(40))
		fill(t, input(page, "checkpoint"), "Checkpoint 57")
		require.NoError(t, expect().Locator(list("checkpoint")).ToHaveCount(1))
		press(t, page, "ArrowDown", "Enter")
		hasValue(t, input(page, "checkpoint"), "svc-57")
		holds(t, page.Locator("main"), "Checkpoint 57 · layers 56")
		accepted(t, page)

		click(t, input(page, "seed"))
		holds(t, list("seed").First(), "77")
		press(t, page, "Escape")

		fill(t, input(page, "kind"), "forest") // the options of the checkpoint follow
		press(t, page, "Tab")
		holds(t, page.Locator("#launch-check"), "“svc-57” is not an option")
		fill(t, input(page, "checkpoint"), "forest-5")
		require.NoError(t, expect().Locator(list("checkpoint").First()).ToContainText("forest-5"))

		down.Store(true)
		fill(t, input(page, "checkpoint"), "forest-"+last)
		holds(t, box, "502 Bad Gateway")
		audit(t, page)
		down.Store(false)
		press(t, page, "ArrowDown", "Enter") // try again
		holds(t, box, "Checkpoint "+last)
		hasValue(t, input(page, "checkpoint"), "forest-"+last)
		press(t, page, "Escape")
		accepted(t, page)
		noSidewaysScroll(t, page)
	}

	plain := open(t, options{noScript: true, tolerates: []string{"422"}})
	visit(t, plain, "/workflows/forms.offered/launch")
	fill(t, input(plain, "checkpoint"), "svc-100")
	click(t, plain.Locator(`button:has-text("Launch")`).Last())
	holds(t, plain.Locator(".error-summary"), "“svc-100” is not an option")
	hasValue(t, input(plain, "checkpoint"), "svc-100")
}
