package e2e

import (
	"net/http"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestAnApprovalIsNotMissed: a pending approval appears on the first page and in the
// navigation, the execution shows it, and the filter of the list finds it.
func TestAnApprovalIsNotMissed(t *testing.T) {
	t.Parallel()
	s := shared.server
	status, body := s.call(t, http.MethodPost, "/workflows", rawJSON(`{"name": "stories.ask", "version": "1.0.0", "operators": [
		{"name": "check", "type": "approval", "approval": {"message": "Publish the model of this story?"}}]}`))
	require.Less(t, status, 300, string(body))
	id := s.launch(t, "stories.ask", nil)
	page := open(t, options{})
	visit(t, page, "/")
	banner := page.Locator("#home-approvals")
	holds(t, banner, "Publish the model of this story?")
	visible(t, page.Locator("#nav-approvals"))
	audit(t, page)
	visit(t, page, "/executions/"+id)
	holds(t, page.Locator("#execution-head"), "Awaiting approval")
	visit(t, page, "/executions?state=approval&workflow=stories.ask")
	counts(t, page.Locator("#execution-rows tr"), 1)
	holds(t, page.Locator("#execution-rows"), "Awaiting approval")
	visit(t, page, "/")
	click(t, banner.GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "Answer check"}))
	visible(t, page.GetByRole("heading", playwright.PageGetByRoleOptions{Level: new(1)}))
	s.api(t, http.MethodPost, "/executions/"+id+"/cancel", nil, nil)
}
