package e2e

import (
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestATrigger is made in the form, refuses a wrong filter without losing anything, is tested, and
// launches when its webhook arrives.
func TestATrigger(t *testing.T) {
	t.Parallel()
	s := shared.server
	s.api(t, http.MethodPut, "/secrets/portal-hook", map[string]any{"value": "a secret of the portal"}, nil)
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, "/triggers")
	audit(t, page)
	click(t, page.Locator(".page-head").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "Webhook"}))
	fill(t, page.Locator("#trigger-name"), "portal")
	_, err := page.Locator("#trigger-signature").SelectOption(playwright.SelectOptionValues{Values: &[]string{"bearer"}})
	require.NoError(t, err)
	_, err = page.Locator("#trigger-secret").SelectOption(playwright.SelectOptionValues{Values: &[]string{"portal-hook"}})
	require.NoError(t, err)
	fill(t, page.Locator("#trigger-filter"), "execution.state == 'FAILED'")
	fill(t, page.Locator("#trigger-workflow"), "image.report")
	fill(t, page.Locator("#trigger-inputs"), `{"lighting": "{{ payload.light }}"}`)
	click(t, button(page, "Save trigger"))
	holds(t, page.Locator(".field-error"), `Unknown name "execution"`)
	hasValue(t, page.Locator("#trigger-inputs"), `{"lighting": "{{ payload.light }}"}`)
	audit(t, page)
	picture(t, page, "trigger-form")
	fill(t, page.Locator("#trigger-filter"), "payload.light > 10")
	click(t, button(page, "Save trigger"))
	holds(t, page.Locator("h1"), "portal")
	fill(t, page.Locator("#trigger-event"), `{"payload": {"light": 35}}`)
	click(t, button(page, "Test"))
	holds(t, page.Locator(".trial"), "Would launch")
	holds(t, page.Locator(".trial"), `"lighting": 35`)
	hook, err := page.Locator("code.break").TextContent()
	require.NoError(t, err)
	for body, status := range map[string]int{`{"light": 35}`: http.StatusAccepted, `{"light": 5}`: http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/hooks/"+path.Base(hook), strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer a secret of the portal")
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, status, res.StatusCode)
	}
	visit(t, page, "/triggers/portal")
	holds(t, page.Locator(".deliveries"), "The filter is false: payload.light > 10")
	audit(t, page)
	picture(t, page, "trigger")
	noSidewaysScroll(t, page)
	click(t, page.Locator(".deliveries").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "image.report"}))
	holds(t, page.Locator("main"), "launched by trigger portal")
}
