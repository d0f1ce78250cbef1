package e2e

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestChartsOfANode: curves are drawn with and without JavaScript, and show the step under the
// pointer, enlarge and export their points.
func TestChartsOfANode(t *testing.T) {
	t.Parallel()
	path := "/executions/" + lookAt(t).digits + "/nodes/train"
	plain := open(t, options{noScript: true})
	visit(t, plain, path)
	visible(t, plain.Locator("figure[data-series] svg .line").First())

	page := open(t, options{})
	visit(t, page, path)
	figure := page.Locator("figure[data-series]").Filter(playwright.LocatorFilterOptions{HasText: "accuracy"}).First()
	plot := figure.Locator("[data-plot] .u-over")
	visible(t, plot)
	drawn, err := figure.Locator("[data-plot] canvas").Evaluate(`(canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((v) => v > 0)`, nil)
	require.NoError(t, err)
	require.Equal(t, true, drawn, "the canvas is empty")

	require.NoError(t, plot.Hover())
	require.NoError(t, expect().Locator(figure.Locator("[data-step]")).Not().ToBeEmpty())
	small, err := figure.BoundingBox()
	require.NoError(t, err)
	click(t, figure.Locator("[data-enlarge]"))
	require.NoError(t, expect().Locator(figure.Locator("[data-enlarge]")).ToHaveAttribute("aria-pressed", "true"))
	large, err := figure.BoundingBox()
	require.NoError(t, err)
	require.Greater(t, large.Width, 1.5*small.Width)

	download, err := page.ExpectDownload(func() error { return figure.Locator("a[download]").Click() })
	require.NoError(t, err)
	file, err := download.Path()
	require.NoError(t, err)
	points, err := os.ReadFile(file)
	require.NoError(t, err)
	require.GreaterOrEqual(t, strings.Count(string(points), "\n"), 6, string(points)) // a point per epoch
}

// TestPreviewsOfArtifacts: a CSV file is a table, and a report runs its scripts in a sandbox of
// another origin.
func TestPreviewsOfArtifacts(t *testing.T) {
	t.Parallel()
	s := shared.server
	s.api(t, http.MethodPost, "/workflows", rawJSON(`{"name": "stories.previews", "version": "1.0.0", "operators": [{"name": "write", "type": "shell",
		"outputs": [{"name": "rows", "type": "Table"}, {"name": "page", "type": "Report"}],
		"code": {"script": "printf 'label,count\\nseven,7\\n' > $FLOWFORGE_OUTPUTS/rows\nprintf '<!doctype html><p id=p>before</p><script>document.getElementById(\"p\").textContent = \"ran in \" + self.origin</script>' > $FLOWFORGE_OUTPUTS/page"}}]}`), nil)
	id := s.launch(t, "stories.previews", nil)
	require.Equal(t, "SUCCEEDED", s.wait(t, id, ended).Status)
	var list struct {
		Artifacts []struct {
			ID   string `json:"artifact_id"`
			Name string `json:"name"`
		} `json:"artifacts"`
	}
	s.api(t, http.MethodGet, "/executions/"+id+"/artifacts", nil, &list)
	page := open(t, options{})
	seen := map[string]bool{}
	for _, a := range list.Artifacts {
		visit(t, page, "/artifacts/"+a.ID)
		switch a.Name {
		case "rows":
			holds(t, page.Locator("table th").First(), "label")
			holds(t, page.Locator("table td.num").First(), "7")
		case "page":
			require.NoError(t, expect().Locator(page.Locator("iframe.report")).ToHaveAttribute("sandbox", "allow-scripts"))
			require.NoError(t, expect().Locator(page.FrameLocator("iframe.report").Locator("#p")).ToHaveText("ran in null"))
		}
		seen[a.Name] = true
	}
	require.Len(t, seen, 2)
}
