package e2e

import (
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestAnExecutionIsFoundByItsShortID: the palette and URLs accept the short id that every
// page shows, and the page of the execution shows the full id.
func TestAnExecutionIsFoundByItsShortID(t *testing.T) {
	t.Parallel()
	id := lookAt(t).digits
	short := "#" + id[len(id)-6:]
	page := open(t, options{})
	visit(t, page, "/")
	press(t, page, "Control+k")
	fill(t, page.Locator("#palette-q"), short)
	click(t, page.Locator("#palette-found a").Filter(playwright.LocatorFilterOptions{HasText: short}))
	require.NoError(t, expect().Page(page).ToHaveURL("/executions/"+id))
	visible(t, page.GetByText(id, playwright.PageGetByTextOptions{Exact: new(true)}))
	visible(t, button(page, "Copy the execution ID"))
	visit(t, page, "/executions/"+short[1:]+"/logs")
	require.NoError(t, expect().Page(page).ToHaveURL("/executions/"+id+"/logs"))
}
