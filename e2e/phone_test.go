package e2e

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

const phoneDocument = `{"name": "phone.narrow_names", "version": "1.0.0", "description": "Long names and types, for narrow windows",
	"tags": ["computer-vision", "handwritten-digits", "nightly"],
	"inputs": [
		{"name": "optimizer_settings", "type": "Union<adam: Struct{rate: Float(min=0, max=1) = 0.001, beta: Float = 0.9} | momentum: Struct{rate: Float = 0.1, momentum: Float = 0.9}>", "default": {"$type": "adam"}, "description": "The optimizer and its settings"},
		{"name": "class_weights", "type": "Map<String, Float(min=0)>(key_pattern=\"[a-z]+\")", "default": {}, "description": "One weight for each class"}],
	"operators": [
		{"name": "summarize_evaluation_results", "type": "shell", "outputs": [{"name": "confusion_matrix_of_the_evaluation", "type": "Table(columns=[label: Integer, predicted: Integer, count: Integer])"}],
			"code": {"script": "printf 'label,predicted,count\\n1,1,9\\n' > $FLOWFORGE_OUTPUTS/confusion_matrix_of_the_evaluation"}}]}`

// TestPhonesKeepWordsTogether: tables of a narrow window never squeeze a name or a type into a
// column of letters.
func TestPhonesKeepWordsTogether(t *testing.T) {
	t.Parallel()
	shared.server.api(t, http.MethodPost, "/workflows", rawJSON(phoneDocument), nil)
	id := shared.server.launch(t, "phone.narrow_names", nil)
	shared.server.wait(t, id, ended)
	shared.server.api(t, http.MethodPost, "/workflows", rawJSON(`{"name": "phone.failure", "version": "1.0.0", "operators": [
		{"name": "train_with_a_name_that_is_wider_than_the_window", "type": "shell", "code": {"script": "exit 3"}}]}`), nil)
	failed := shared.server.launch(t, "phone.failure", nil)
	shared.server.wait(t, failed, ended)
	page := open(t, options{width: 390})
	for _, path := range []string{
		"/workflows/phone.narrow_names", "/workflows/digits.train", "/workflows", "/executions/" + id,
		"/executions/" + failed, "/artifacts?execution=" + id, "/executions?workflow=phone.narrow_names",
	} {
		visit(t, page, path)
		visible(t, page.Locator("main h1").First())
		noSidewaysScroll(t, page)
		wordsKeepTogether(t, page)
	}
	shared.server.api(t, http.MethodPost, "/workflows", rawJSON(`{"name": "phone.items", "version": "1.0.0", "operators": [
		{"name": "each", "type": "shell", "outputs": [{"name": "square", "type": "Integer"}], "foreach": [4], "code": {"script": "echo 16 > $FLOWFORGE_OUTPUTS/square"}}]}`), nil)
	items := shared.server.launch(t, "phone.items", nil)
	shared.server.wait(t, items, ended)
	visit(t, page, "/executions/"+items+"/nodes/each")
	visible(t, page.Locator(".child-table td").Filter(playwright.LocatorFilterOptions{HasText: "square 16"}))
	visit(t, page, "/workflows/digits.train")
	height, err := page.Evaluate(`() => document.documentElement.scrollHeight`)
	require.NoError(t, err)
	require.Less(t, height, 3000, "the page of a workflow with seven inputs")
}

// wordsKeepTogether fails for each text of the page with more than three lines of fewer than
// eight letters on average.
func wordsKeepTogether(t *testing.T, page playwright.Page) {
	t.Helper()
	found, err := page.Evaluate(`() => {
		const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT), narrow = [];
		for (let text = texts.nextNode(); text; text = texts.nextNode()) {
			const words = text.data.trim();
			if (words.length < 6 || !text.parentElement.checkVisibility() || text.parentElement.closest("svg, pre, .vh")) continue;
			const range = document.createRange();
			range.selectNodeContents(text);
			const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;
			if (lines > 3 && words.length / lines < 8) narrow.push(words + " in " + lines + " lines");
		}
		return JSON.stringify(narrow);
	}`)
	require.NoError(t, err)
	var narrow []string
	require.NoError(t, json.Unmarshal([]byte(found.(string)), &narrow))
	require.Empty(t, narrow, page.URL())
}
