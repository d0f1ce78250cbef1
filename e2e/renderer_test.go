package e2e

import (
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestRenderersOfTheExamples picks a color map in the page of its type, and turns the point cloud that
// the execution makes. Without a script, the built-in control stays.
func TestRenderersOfTheExamples(t *testing.T) {
	t.Parallel()
	s := shared.server
	s.flowforge(t, "apply", "../examples/renderers")
	page := open(t, options{tolerates: []string{"Content-Security-Policy directive 'webrtc'"}}) // browsers without it ignore it
	visit(t, page, "/workflows/examples.cloud/launch")
	maps := page.FrameLocator("iframe.renderer-frame")
	magma := maps.GetByLabel("magma")
	require.NoError(t, expect().Locator(maps.GetByLabel("viridis")).ToBeChecked())
	audit(t, page)
	require.NoError(t, magma.Check())
	require.NoError(t, expect().Locator(page.Locator(`[name="inputs.colors"][value="magma"]`)).ToBeChecked())
	click(t, page.Locator("[data-renderer-switch]"))
	visible(t, radio(page, "colors", "magma"))
	audit(t, page)
	id := launchNow(t, page)
	require.Equal(t, "SUCCEEDED", s.wait(t, id, ended).Status)
	require.Equal(t, "magma", s.inputsOf(t, id)["colors"])

	visit(t, page, "/artifacts/"+artifactOf(t, id, "PointCloud"))
	cloud := page.FrameLocator("iframe.renderer-frame")
	visible(t, cloud.Locator("canvas"))
	holds(t, cloud.GetByRole("status"), "2,000 points")
	before, err := cloud.Locator("canvas").Evaluate(`(c) => c.toDataURL()`, nil)
	require.NoError(t, err)
	require.NoError(t, cloud.Locator("canvas").Press("ArrowRight"))
	after, err := cloud.Locator("canvas").Evaluate(`(c) => c.toDataURL()`, nil)
	require.NoError(t, err)
	require.NotEqual(t, before, after, "the arrow keys turn the cloud")
	audit(t, page)
	noSidewaysScroll(t, page)

	plain := open(t, options{noScript: true, width: 390})
	visit(t, plain, "/workflows/examples.cloud/launch")
	visible(t, radio(plain, "colors", "viridis"))
	counts(t, plain.Locator("iframe"), 0)
	noSidewaysScroll(t, plain)
}

// TestARemovedRendererIsForgotten: a swap of the page removes the listeners of the frames in it.
func TestARemovedRendererIsForgotten(t *testing.T) {
	t.Parallel()
	shared.server.flowforge(t, "apply", "../examples/renderers")
	page := open(t, options{tolerates: []string{"Content-Security-Policy directive 'webrtc'"}})
	require.NoError(t, page.AddInitScript(playwright.Script{Content: new(`
		window.heard = 0;
		for (const [name, by] of [["addEventListener", 1], ["removeEventListener", -1]]) {
			const own = window[name];
			window[name] = function (kind, ...rest) {
				if (kind === "message") window.heard += by;
				return own.call(window, kind, ...rest);
			};
		}`)}))
	visit(t, page, "/workflows/examples.cloud/launch")
	visible(t, page.FrameLocator("iframe.renderer-frame").GetByLabel("magma"))
	heard, err := page.Evaluate(`() => {
		const place = document.querySelector("[data-renderer]"), before = window.heard;
		const next = place.cloneNode(true);
		next.querySelector("iframe").remove();
		delete next.dataset.rendererOn;
		place.replaceWith(next);
		document.dispatchEvent(new Event("htmx:after:swap"));
		return new Promise((done) => setTimeout(() => done([before, window.heard]), 500));
	}`)
	require.NoError(t, err)
	require.Equal(t, []any{1, 1}, heard)
}
