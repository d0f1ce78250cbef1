package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// options configure the browser of a test.
type options struct {
	noScript bool
	width    int // 1280 when 0
	dark     bool
	// tolerates are parts of console errors that the test causes on purpose.
	tolerates []string
}

// traced records Playwright's trace of every page, which takes much of the browser's time.
var traced = os.Getenv("FLOWFORGE_TEST_TRACE") != ""

// open returns a signed-in page of the shared server. A console error or an exception in
// the page fails the test; a failed test keeps a screenshot, and its trace if there is one.
func open(t *testing.T, o options) playwright.Page {
	t.Helper()
	return openOn(t, shared.server, o)
}

func openOn(t *testing.T, s *server, o options) playwright.Page {
	t.Helper()
	if o.width == 0 {
		o.width = 1280
	}
	scheme := playwright.ColorSchemeLight
	if o.dark {
		scheme = playwright.ColorSchemeDark
	}
	context, err := shared.browser.NewContext(playwright.BrowserNewContextOptions{
		BaseURL: &s.base, AcceptDownloads: new(true), ColorScheme: scheme, JavaScriptEnabled: new(!o.noScript),
		Viewport: &playwright.Size{Width: o.width, Height: 900}, ReducedMotion: playwright.ReducedMotionReduce, TimezoneId: new("Europe/Helsinki"),
	})
	require.NoError(t, err)
	if traced {
		require.NoError(t, context.Tracing().Start(playwright.TracingStartOptions{Screenshots: new(true), Snapshots: new(true)}))
	}
	page, err := context.NewPage()
	require.NoError(t, err)
	page.OnConsole(func(m playwright.ConsoleMessage) {
		if m.Type() == "error" && !tolerated(m.Text(), o.tolerates) {
			t.Errorf("console error on %s: %s", page.URL(), m.Text())
		}
	})
	page.OnPageError(func(err error) { t.Errorf("exception on %s: %v", page.URL(), err) })
	t.Cleanup(func() {
		if t.Failed() {
			name := strings.ReplaceAll(t.Name(), "/", "_")
			_, _ = page.Screenshot(playwright.PageScreenshotOptions{Path: new(filepath.Join("out", name+".png")), FullPage: new(true)})
			if traced {
				_ = context.Tracing().Stop(filepath.Join("out", name+".zip"))
			}
		}
		_ = context.Close()
	})
	signIn(t, s, context)
	return page
}

func tolerated(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// signIn redeems a new login link by submitting its form.
func signIn(t *testing.T, s *server, context playwright.BrowserContext) {
	t.Helper()
	var link struct {
		URL string `json:"url"`
	}
	s.api(t, "POST", "/login-links", nil, &link)
	_, token, found := strings.Cut(link.URL, "token=")
	require.True(t, found)
	res, err := context.Request().Post(s.base+"/login", playwright.APIRequestContextPostOptions{Form: map[string]any{"token": token, "next": "/healthz"}})
	require.NoError(t, err)
	require.Equal(t, 200, res.Status())
}

func visit(t *testing.T, page playwright.Page, path string) {
	t.Helper()
	_, err := page.Goto(path)
	require.NoError(t, err)
}

func expect() playwright.PlaywrightAssertions { return playwright.NewPlaywrightAssertions(20_000) }

func button(page playwright.Page, name string) playwright.Locator {
	return page.GetByRole("button", playwright.PageGetByRoleOptions{Name: name})
}

// deletes deletes what the page shows, such as a trigger, after the dialog has asked and was closed once.
func deletes(t *testing.T, page playwright.Page, kind string) {
	t.Helper()
	dialog := page.GetByRole("dialog")
	opener := page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Delete " + kind + "…"})
	click(t, opener)
	click(t, dialog.GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "Keep the " + kind}))
	counts(t, dialog, 0)
	click(t, opener)
	audit(t, page)
	click(t, dialog.GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "Delete " + kind}))
}

// audit fails the test with every finding of axe-core.
func audit(t *testing.T, page playwright.Page) {
	t.Helper()
	_, err := page.Evaluate(shared.axe) // bypasses the page's content security policy
	require.NoError(t, err)
	result, err := page.Evaluate(`async () => JSON.stringify((await axe.run({
		runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
	})).violations.map(v => v.id + " (" + v.nodes.length + "): " + v.nodes.slice(0, 3).map(n => n.target.join(" ") + " " + n.failureSummary).join(" | ")))`)
	require.NoError(t, err)
	var findings []string
	require.NoError(t, json.Unmarshal([]byte(result.(string)), &findings))
	for _, f := range findings {
		t.Errorf("axe on %s: %s", page.URL(), f)
	}
}

// noSidewaysScroll fails when the page is wider than its window.
func noSidewaysScroll(t *testing.T, page playwright.Page) {
	t.Helper()
	wide, err := page.Evaluate(`() => document.documentElement.scrollWidth - document.documentElement.clientWidth`)
	require.NoError(t, err)
	if wide != 0 {
		t.Errorf("%s scrolls sideways by %v px", page.URL(), wide)
	}
}
