package e2e

import (
	"net/http"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

const controlDocument = `{
	"name": "story.control", "version": "1.0.0",
	"outputs": [{"name": "stage", "type": "String", "from": "ask.stage"}],
	"operators": [
		{"name": "long", "type": "shell", "code": {"script": "sleep 120"}},
		{"name": "after-long", "type": "noop", "depends": "long.Skipped"},
		{"name": "ask", "type": "approval", "depends_on": ["after-long"], "approval": {
			"message": "Where to?", "form": [{"name": "stage", "type": "Enum(staging, production)", "required": true}, {"name": "note", "type": "String(min_length=3)", "required": true}]}},
		{"name": "last", "type": "noop", "depends_on": ["ask"]}
	]
}`

// TestPauseSkipAndAnswer: a user pauses and resumes an execution, skips a node that
// takes too long, and answers the execution's question, first with invalid values.
func TestPauseSkipAndAnswer(t *testing.T) {
	t.Parallel()
	s := shared.server
	s.api(t, http.MethodPost, "/workflows", rawJSON(controlDocument), nil)
	id := s.launch(t, "story.control", nil)
	page := open(t, options{tolerates: []string{"status of 422"}})

	visit(t, page, "/executions/"+id)
	visible(t, graphNode(page, "long", "RUNNING"))
	click(t, button(page, "Pause"))
	visible(t, headState(page, "PAUSED"))
	click(t, button(page, "Continue"))
	visible(t, headState(page, "RUNNING"))

	visit(t, page, "/executions/"+id+"/nodes/long")
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Skip…"}))
	audit(t, page)
	fill(t, page.GetByLabel("Reason"), "it takes too long")
	click(t, button(page, "Skip it"))
	holds(t, page.Locator("main"), "Skipped by")

	visit(t, page, "/approvals")
	audit(t, page)
	noSidewaysScroll(t, page)
	question := page.Locator("main li", playwright.PageLocatorOptions{HasText: "story.control"})
	holds(t, question, "Where to?")
	visit(t, page, "/executions/"+id)
	holds(t, page.Locator("#execution-head .wait"), "ask is awaiting approval")
	visit(t, page, "/approvals")
	click(t, question.GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "Answer ask"}))
	audit(t, page)
	click(t, radio(page, "stage", "production"))
	fill(t, input(page, "note"), "x")
	click(t, button(page, "Approve"))
	holds(t, page.Locator("main"), "Fix the values below")
	audit(t, page)
	fill(t, input(page, "note"), "all is well")
	click(t, button(page, "Approve"))
	holds(t, page.Locator("main"), "Approved by")

	e := s.wait(t, id, ended)
	require.Equal(t, "SUCCEEDED", e.Status)
	require.Equal(t, "production", e.Outputs["stage"])
	visit(t, page, "/admin/audit")
	holds(t, page.Locator("main"), "it takes too long")
}
