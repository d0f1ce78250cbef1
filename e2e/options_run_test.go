package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestOptionsComeFromARun: an operator lists the options of an input, as a process; the form completes
// them and shows their age, refreshes them on request, the command line lists them, a launch rejects
// others, and a failure links to its execution.
func TestOptionsComeFromARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("svc", `[{"path": "svc-1", "name": "First", "rows": 10}, {"path": "svc-2", "name": "Second", "rows": 20}]`)
	s := shared.server
	write("shards.yaml", `
name: forms.shards
version: 1.0.0
inputs: [{name: kind, type: String}]
outputs: [{name: shards, type: JSON, from: read.shards}]
operators:
  - name: read
    type: shell
    inputs: [{name: kind, type: String, from: inputs.kind}]
    code: {script: 'cp "`+dir+`/$FLOWFORGE_PARAM_KIND" "$FLOWFORGE_OUTPUTS/shards"'}
    outputs: [{name: shards, type: JSON}]
`)
	write("listed.yaml", `
name: forms.listed
version: 1.0.0
inputs:
  - {name: kind, type: String, default: svc}
  - {name: shard, type: String, options: {workflow: forms.shards, inputs: {kind: "{{kind}}"}, value: .path, label: .name, preview: [.rows], cache: 1h, timeout: 1m}}
operators:
  - {name: nothing, type: noop, outputs: []}
`)
	for _, name := range []string{"shards.yaml", "listed.yaml"} {
		s.flowforge(t, "apply", "-f", filepath.Join(dir, name))
	}

	page := open(t, options{})
	page.SetDefaultTimeout(60_000)
	visit(t, page, "/workflows/forms.listed/launch")
	box := page.Locator(`[data-input="shard"] [role=listbox]`)
	click(t, input(page, "shard"))
	patient := playwright.NewPlaywrightAssertions(60_000) // the run waits for a share among those of other tests
	require.NoError(t, patient.Locator(box).ToContainText("Second"))
	holds(t, box, "rows 20")
	audit(t, page)
	press(t, page, "ArrowDown", "Enter")
	hasValue(t, input(page, "shard"), "svc-1")
	accepted(t, page)
	fill(t, input(page, "shard"), "svc-9")
	press(t, page, "Tab")
	holds(t, page.Locator("#launch-check"), "“svc-9” is not an option. Choose svc-1 or svc-2.")

	write("svc", `[{"path": "svc-1", "name": "First", "rows": 10}, {"path": "svc-3", "name": "Third", "rows": 30}]`)
	fill(t, input(page, "shard"), "") // the list shows what matches the text
	note := page.Locator(`.field:has([data-input="shard"]) [data-option-note]`)
	holds(t, note, "Options from")
	click(t, note.Locator("button:has-text('Refresh now')"))
	require.NoError(t, patient.Locator(box).ToContainText("Third"))
	audit(t, page)
	require.Contains(t, s.flowforge(t, "options", "forms.listed", "shard"), "svc-3  Third  rows 30")
	write("svc", `[]`)
	require.NotContains(t, s.flowforge(t, "options", "forms.listed", "shard", "--refresh"), "svc-3")

	fill(t, input(page, "kind"), "absent")
	press(t, page, "Tab")
	fill(t, input(page, "shard"), "other")
	require.NoError(t, patient.Locator(box).ToContainText("The run of forms.shards that lists the options failed."))
	audit(t, page)
	hasValue(t, input(page, "shard"), "other")
	href, err := note.Locator("a:has-text('Open the execution')").GetAttribute("href")
	require.NoError(t, err)
	require.Contains(t, href, "/executions/")

	var found struct {
		Executions []struct{ Name, State string } `json:"executions"`
	}
	visit(t, page, "/executions")
	_, err = page.Locator("#execution-purpose").SelectOption(playwright.SelectOptionValues{Labels: &[]string{"Option lists"}})
	require.NoError(t, err)
	click(t, page.Locator("button:has-text('Filter')"))
	holds(t, page.Locator("main"), "Options, shard")
	audit(t, page)

	s.api(t, http.MethodGet, "/executions?workflow=forms.shards", nil, &found)
	require.Len(t, found.Executions, 4, "one for each set of inputs, and two refreshes: %v", found)
	require.Equal(t, "Options, shard", found.Executions[0].Name)
}
