package e2e

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestAConnection is created, tested against a real server, and keeps what was typed when it is wrong.
func TestAConnection(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer story-token" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(site.Close)
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, "/connections")
	audit(t, page)
	click(t, link(page, "New connection"))
	click(t, page.GetByRole("navigation", playwright.PageGetByRoleOptions{Name: "Kind of connection"}).GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "HTTP"}))
	audit(t, page)
	field := func(name string) playwright.Locator { return page.Locator(`[name="` + name + `"]`) }
	fill(t, field("name"), "story api")
	fill(t, field("values.base_url"), site.URL)
	click(t, page.Locator("main form button[type=submit]").Last())
	visible(t, page.Locator(".field-error").First())
	hasValue(t, field("values.base_url"), site.URL)
	audit(t, page)
	fill(t, field("name"), "story-api")
	_, err := field("values.authentication").SelectOption(playwright.SelectOptionValues{Values: &[]string{"bearer"}})
	require.NoError(t, err)
	fill(t, field("values.token"), "wrong")
	click(t, button(page, "Add the connection"))
	holds(t, page.Locator("h1"), "story-api")
	audit(t, page)
	click(t, button(page, "Test the connection"))
	holds(t, page.Locator("#test"), "The connection does not work.")
	holds(t, page.Locator("#test"), "401")
	audit(t, page)
	fill(t, field("values.token"), "story-token")
	click(t, button(page, "Save"))
	click(t, button(page, "Test the connection"))
	holds(t, page.Locator("#test"), "The connection works.")
	counts(t, page.GetByText("story-token"), 0)
	audit(t, page)
	noSidewaysScroll(t, page)
	deletes(t, page, "connection")
	counts(t, page.Locator("main").GetByText("story-api", playwright.LocatorGetByTextOptions{Exact: new(true)}), 0)
}
