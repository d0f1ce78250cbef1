package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestANotificationTemplate is written with a live preview, rejects an unknown variable, is sent as a
// test, and is used for the next message.
func TestANotificationTemplate(t *testing.T) {
	t.Parallel()
	s := shared.server
	bodies := make(chan string, 10)
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
	}))
	t.Cleanup(site.Close)
	s.api(t, http.MethodPut, "/connections/template-hook", map[string]any{"kind": "webhook", "values": map[string]any{"url": site.URL, "signing_secret": "a signing secret of the story"}}, nil)
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, "/notifications/templates")
	audit(t, page)
	visit(t, page, "/notifications/templates/webhook/execution.cancelled")
	holds(t, page.Locator("#template-preview"), "execution.cancelled")
	fill(t, page.Locator("#template-body"), `{"note": "{{ worklfow }}"}`)
	holds(t, page.Locator("#template-preview"), "Did you mean workflow?")
	click(t, button(page, "Save template"))
	holds(t, page.Locator(".field-error"), "Line 1, column 11")
	audit(t, page)
	fill(t, page.Locator("#template-body"), `{"note": "{{ workflow }} by {{ submitted_by }}"}`)
	holds(t, page.Locator("#template-preview"), "by Sam Example")
	click(t, button(page, "Send test"))
	holds(t, page.Locator("main"), "template-hook received the test message.")
	require.Contains(t, <-bodies, `"note":"vision.train by Sam Example"`)
	audit(t, page)
	click(t, button(page, "Save template"))
	holds(t, page.Locator("main"), "The template was saved.")
}
