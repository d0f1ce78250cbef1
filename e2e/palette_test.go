package e2e

import (
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestThePaletteFindsPagesAndCommands: synonyms find pages, and commands act.
func TestThePaletteFindsPagesAndCommands(t *testing.T) {
	t.Parallel()
	page := open(t, options{})
	visit(t, page, "/")
	for query, path := range map[string]string{"runs": "/executions", "limits": "/admin/quotas", "tokens": "/account/keys", "disk": "/admin/storage", "swagger": "/docs/api"} {
		press(t, page, "Control+k")
		fill(t, page.Locator("#palette-q"), query)
		click(t, page.Locator("#palette-pages a:visible[href='"+path+"']"))
		require.NoError(t, expect().Page(page).ToHaveURL(path))
		visible(t, page.Locator("main h1").First())
	}
	press(t, page, "Control+k")
	fill(t, page.Locator("#palette-q"), "dark")
	press(t, page, "Enter")
	require.NoError(t, expect().Locator(page.Locator("html[data-theme=dark]")).ToHaveCount(1))
	require.NoError(t, expect().Locator(page.Locator("#palette")).ToBeHidden())
	press(t, page, "Control+k")
	audit(t, page)
	fill(t, page.Locator("#palette-q"), "shortcuts")
	click(t, page.Locator("#palette-pages [data-dialog=keys]"))
	visible(t, page.Locator("#keys"))
}

// TestASlowSearchHoldsUpNoOther: the results are those of the last text, even while an earlier search
// waits for the server.
func TestASlowSearchHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	page := open(t, options{})
	visit(t, page, "/")
	require.NoError(t, page.Route("**/search?q=d", func(playwright.Route) {})) // never answered
	press(t, page, "Control+k")
	for _, text := range []string{"d", "di", "dig"} {
		_, err := page.ExpectRequest("**/search?q="+text, func() error { return page.Locator("#palette-q").Fill(text) })
		require.NoError(t, err, "no search for %s", text)
	}
}
