package e2e

import (
	"net/http"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestEventsAndAConsumer: a reader finds the events of an execution and follows new ones; an administrator
// creates a consumer, sees why an event became a dead letter, and delivers it again.
func TestEventsAndAConsumer(t *testing.T) {
	t.Parallel()
	s := shared.server
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, "/events/new-consumer")
	fill(t, page.Locator("#consumer-name"), "search index")
	fill(t, page.Locator("#consumer-types"), "execution.*")
	click(t, button(page, "Create consumer"))
	holds(t, page.Locator(".field-error"), "Enter a name of letters")
	hasValue(t, page.Locator("#consumer-types"), "execution.*")
	audit(t, page)
	picture(t, page, "consumer-form")
	fill(t, page.Locator("#consumer-name"), "search-index")
	fill(t, page.Locator("#consumer-max_tries"), "1")
	click(t, button(page, "Create consumer"))
	holds(t, page.Locator("h1"), "search-index")
	holds(t, page.Locator("main"), "The consumer was created.")

	visit(t, page, "/events?type=execution.*&follow=true")
	holds(t, page.Locator(".following"), "Following")
	id := s.launch(t, "image.report", nil)
	row := page.Locator("#event-rows > li", playwright.PageLocatorOptions{Has: page.Locator("a[href='/executions/" + id + "']"), HasText: "execution.launched"})
	holds(t, row.First(), "execution.launched")
	click(t, row.First().Locator("summary"))
	holds(t, row.First().Locator("pre"), `"specversion": "1.0"`)
	audit(t, page)
	picture(t, page, "events")
	noSidewaysScroll(t, page)
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Stop following"}))
	fill(t, page.Locator("#feed-execution"), "12")
	click(t, button(page, "Filter"))
	holds(t, page.Locator(".notice-error"), "Enter the full ID of an execution.")
	fill(t, page.Locator("#feed-execution"), id)
	click(t, button(page, "Filter"))
	holds(t, page.Locator("#event-rows"), "execution.launched")

	var lease struct {
		Lease  string `json:"lease"`
		Events []struct {
			ID string `json:"id"`
		} `json:"events"`
	}
	s.api(t, http.MethodPost, "/events/consumers/search-index/read", map[string]any{"limit": 1, "wait_seconds": 30}, &lease)
	require.Len(t, lease.Events, 1)
	s.api(t, http.MethodPost, "/events/consumers/search-index/fail", map[string]any{"lease": lease.Lease, "events": []string{lease.Events[0].ID}, "reason": "the index is closed"}, nil)
	visit(t, page, "/events/consumers")
	audit(t, page)
	picture(t, page, "consumers")
	noSidewaysScroll(t, page)
	click(t, page.Locator("main").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "search-index"}))
	holds(t, page.Locator("#dead-letters"), "the index is closed")
	audit(t, page)
	picture(t, page, "consumer")
	noSidewaysScroll(t, page)
	click(t, page.Locator("#dead-letters").GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "Redeliver all"}))
	holds(t, page.Locator("main"), "1 event is delivered again.")
	holds(t, page.Locator("#dead-letters"), "No dead letters")
	deletes(t, page, "consumer")
	holds(t, page.Locator("h1"), "Consumers")
}
