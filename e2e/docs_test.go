package e2e

import (
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestAddressOfAnOperation: the address of an operation shows it open, and nothing moves after the
// first painting.
func TestAddressOfAnOperation(t *testing.T) {
	t.Parallel()
	page := open(t, options{})
	require.NoError(t, page.AddInitScript(playwright.Script{Content: new(`
		window.shift = 0;
		new PerformanceObserver((list) => list.getEntries().forEach((e) => { window.shift += e.value; })).observe({ type: "layout-shift", buffered: true });`)}))
	visit(t, page, "/docs/api/executions#launch-execution")
	operation := page.Locator("#launch-execution")
	require.NoError(t, expect().Locator(operation).ToHaveAttribute("open", ""))
	require.NoError(t, expect().Locator(operation).ToBeInViewport())
	_, err := page.Evaluate(`() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`)
	require.NoError(t, err)
	shift, err := page.Evaluate(`() => window.shift`)
	require.NoError(t, err)
	require.LessOrEqual(t, number(shift), 0.01)
}
