package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestPhonesShowEverything: at 390 px, a long name widens no page, a queue shows its reasons, a
// preview of Markdown shows whole lines, and tabs start at the current one.
func TestPhonesShowEverything(t *testing.T) {
	t.Parallel()
	s := ownServer(t, "FLOWFORGE_CPU_MILLIS=1000")
	name := "phone.everything_" + strings.Repeat("and_more_", 10)
	definition, err := json.Marshal(map[string]any{"name": name, "version": "1.0.0", "operators": []any{
		map[string]any{
			"name": "write", "type": "shell", "outputs": []any{map[string]any{"name": "notes", "type": "File"}, map[string]any{"name": "rows", "type": "File"}},
			"code": map[string]any{"script": `cd $FLOWFORGE_OUTPUTS
echo "# Results

A paragraph that is longer than a narrow window shows in one line, so that it has to wrap.

| class | precision | recall | support | a column with a long name |
|---|---:|---:|---:|---|
| zero | 0.98 | 0.99 | 178 | a cell with a long text, so that the table is wide |

- [x] trained" > notes
printf 'note,value\na note of several words,1\nanother note of several words,2\n' > rows`},
		},
	}})
	require.NoError(t, err)
	s.api(t, http.MethodPost, "/workflows", rawJSON(string(definition)), nil)
	s.wait(t, s.launch(t, name, nil), ended)
	s.api(t, http.MethodPost, "/workflows", rawJSON(`{"name": "phone.queue", "version": "1.0.0", "operators": [
		{"name": "first", "type": "shell", "resources": {"cpu": "1000m"}, "code": {"script": "sleep 600"}},
		{"name": "second", "type": "shell", "resources": {"cpu": "1000m"}, "code": {"script": "sleep 600"}}]}`), nil)
	page := openOn(t, s, options{width: 390, dark: true})
	visit(t, page, "/")
	visible(t, page.Locator("main .btn").Filter(playwright.LocatorFilterOptions{HasText: "Launch again"}))
	noSidewaysScroll(t, page)

	for artifact, inside := range map[string]string{"notes": ".markdown > p", "rows": ".table-content"} {
		visit(t, page, "/artifacts?q="+artifact)
		require.NoError(t, page.Locator("main").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: artifact, Exact: new(true)}).First().Click())
		visible(t, page.Locator(inside).First())
		noSidewaysScroll(t, page)
		if artifact == "notes" {
			inWindow(t, page, inside)
			visible(t, page.GetByText("☑ trained"))
			continue
		}
		oneLine, err := page.Locator(".table-content tbody tr").First().Evaluate(`row => row.getBoundingClientRect().height < 40`, nil)
		require.NoError(t, err)
		require.Equal(t, true, oneLine, "a row of a table has one line")
	}

	s.launch(t, "phone.queue", nil)
	visit(t, page, "/waiting")
	visible(t, page.Locator(".queue .status-wrap").First())
	inWindow(t, page, ".queue .status-wrap")
	visit(t, page, "/admin/storage")
	inWindow(t, page, ".tabs > [aria-current]")
	visit(t, page, "/admin/quotas")
	inWindow(t, page, ".quota-table :is(.qtext, .row-actions a, td, th)")
	visit(t, page, "/docs/api")
	inWindow(t, page, ".api-row > :last-child")
	left, err := page.Evaluate(`() => new Set([...document.querySelectorAll(".api-row > :last-child")].map((text) => Math.round(text.getBoundingClientRect().left))).size`)
	require.NoError(t, err)
	require.EqualValues(t, 1, left, "descriptions begin at one line")
}

// inWindow fails for each element that is partly alongside the window.
func inWindow(t *testing.T, page playwright.Page, selector string) {
	t.Helper()
	out, err := page.Evaluate(`(selector) => [...document.querySelectorAll(selector)].filter((element) => {
		const box = element.getBoundingClientRect();
		return element.checkVisibility() && (box.left < 0 || box.right > innerWidth);
	}).map((element) => element.textContent.trim())`, selector)
	require.NoError(t, err)
	require.Empty(t, out, "%s on %s", selector, page.URL())
}

// TestThePaletteHasResultsOrNone: "No results" does not follow a command that was found.
func TestThePaletteHasResultsOrNone(t *testing.T) {
	t.Parallel()
	page := open(t, options{})
	visit(t, page, "/")
	for text, shown := range map[string]bool{"appearance": false, "nothing-has-this-name": true} {
		require.NoError(t, page.Keyboard().Press("Control+k"))
		require.NoError(t, page.Locator("#palette input").Fill(text))
		none := page.Locator("#palette .palette-none")
		require.NoError(t, none.WaitFor(playwright.LocatorWaitForOptions{State: playwright.WaitForSelectorStateAttached}))
		visibly, err := none.IsVisible()
		require.NoError(t, err)
		require.Equal(t, shown, visibly, text)
		visit(t, page, "/")
	}
}
