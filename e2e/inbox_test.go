package e2e

import (
	"net/http"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestTheInbox: a launch fails, and the bell of the open page counts it; the inbox leads to the execution,
// which makes the item read. Items can be marked and muted without JavaScript, too.
func TestTheInbox(t *testing.T) {
	t.Parallel()
	s, err := startServer(t.TempDir(), "FLOWFORGE_EXAMPLES=off")
	require.NoError(t, err)
	t.Cleanup(s.stop)
	for _, name := range []string{"stories.breaks", "stories.asks"} {
		operator := map[string]string{"stories.breaks": `{"name": "one", "type": "shell", "code": {"script": "exit 7"}}`, "stories.asks": `{"name": "gate", "type": "approval", "approval": {"message": "Publish the model of this story?"}}`}[name]
		status, body := s.call(t, http.MethodPost, "/workflows", rawJSON(`{"name": "`+name+`", "version": "1.0.0", "operators": [`+operator+`]}`))
		require.Less(t, status, 300, string(body))
	}
	page := openOn(t, s, options{})
	visit(t, page, "/inbox")
	holds(t, page.Locator("main"), "No notifications yet")
	audit(t, page)

	// The page of types has no stream of its own.
	visit(t, page, "/types")
	bell := page.Locator("#inbox-bell")
	id := s.launch(t, "stories.breaks", nil)
	holds(t, page.Locator("#inbox-news"), "New in your inbox: stories.breaks failed")
	require.NoError(t, expect().Locator(bell).ToHaveAttribute("aria-label", "Inbox, 1 unread"))
	audit(t, page)
	click(t, bell)
	list := page.Locator("#inbox-items")
	holds(t, list, "stories.breaks failed")
	audit(t, page)
	noSidewaysScroll(t, page)

	// The list is live.
	approval := s.launch(t, "stories.asks", nil)
	holds(t, list, "stories.asks needs an approval: gate")
	require.NoError(t, expect().Locator(bell).ToHaveAttribute("aria-label", "Inbox, 2 unread"))
	s.api(t, http.MethodPost, "/executions/"+approval+"/cancel", nil, nil)
	holds(t, list, "No longer waits for an approval.")

	click(t, list.GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "stories.breaks failed"}))
	require.NoError(t, page.WaitForURL("**/executions/"+id))
	require.NoError(t, expect().Locator(bell).ToHaveAttribute("aria-label", "Inbox"))

	plain := openOn(t, s, options{noScript: true, width: 390})
	visit(t, plain, "/inbox")
	noSidewaysScroll(t, plain)
	click(t, button(plain, "Mark as unread: stories.breaks failed"))
	holds(t, plain.Locator("#inbox-items"), "Unread")
	click(t, button(plain, "Mark all as read"))
	counts(t, plain.Locator(".inbox-unread"), 0)

	visit(t, page, "/inbox")
	click(t, button(page, "More for stories.breaks failed"))
	click(t, button(page, "Mute stories.breaks"))
	holds(t, page.Locator("main"), "You no longer receive notifications about stories.breaks.")
	audit(t, page)
}

// TestNotificationSettings: a failed form keeps what was typed and leads to the fields; the page requests
// the permission of the browser.
func TestNotificationSettings(t *testing.T) {
	t.Parallel()
	s, err := startServer(t.TempDir(), "FLOWFORGE_EXAMPLES=off")
	require.NoError(t, err)
	t.Cleanup(s.stop)
	for name, o := range map[string]options{"light": {}, "dark": {dark: true}, "phone": {width: 390}} {
		o.tolerates = []string{"status of 422"}
		page := openOn(t, s, o)
		visit(t, page, "/account/notifications")
		holds(t, page.Locator("main"), "This installation has no mail server.")
		audit(t, page)
		noSidewaysScroll(t, page)
		require.NoError(t, page.GetByLabel("Execution succeeded: inbox").SetChecked(false))
		fill(t, page.GetByLabel("Quiet hours: start"), "20:00")
		fill(t, page.GetByLabel("Quiet hours: end"), "")
		fill(t, page.GetByLabel("Workflows and models"), "digits.*")
		click(t, button(page, "Save settings"))
		holds(t, page.Locator(".error-summary"), "Enter the end of the quiet hours.")
		require.NoError(t, expect().Locator(page.GetByLabel("Execution succeeded: inbox")).Not().ToBeChecked(), name)
		require.NoError(t, expect().Locator(page.GetByLabel("Quiet hours: start")).ToHaveValue("20:00"))
		require.NoError(t, expect().Locator(page.GetByLabel("Workflows and models")).ToHaveValue("digits.*"))
		audit(t, page)
		noSidewaysScroll(t, page)
		click(t, page.Locator(".error-summary a"))
		require.NoError(t, expect().Locator(page.GetByLabel("Quiet hours: end")).ToBeFocused())
		fill(t, page.GetByLabel("Quiet hours: end"), "08:00")
		click(t, button(page, "Save settings"))
		holds(t, page.Locator("main"), "The settings were saved.")
		audit(t, page)
	}

	page := openOn(t, s, options{})
	// The headless shell denies notifications, whatever permissions a test grants.
	require.NoError(t, page.AddInitScript(playwright.Script{Content: new(`
		Object.defineProperty(Notification, "permission", { get: () => "granted" });
		Notification.requestPermission = async () => "granted";`)}))
	visit(t, page, "/account/notifications")
	desktop := page.Locator("[data-desktop]")
	click(t, desktop.GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "Turn on"}))
	holds(t, desktop, "Browser notifications are on.")
	click(t, desktop.GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "Turn off"}))
	holds(t, desktop, "Browser notifications are off.")
}
