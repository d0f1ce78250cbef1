package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestPictures takes a full-page picture of every page into out/ for manual review, if
// FLOWFORGE_TEST_PICTURES=1.
func TestPictures(t *testing.T) {
	t.Parallel()
	if os.Getenv("FLOWFORGE_TEST_PICTURES") == "" {
		return // a tool, not a test
	}
	sites := lookAt(t).sites()
	for name, o := range map[string]options{"light": {}, "dark": {dark: true}, "phone": {width: 390}} {
		o.tolerates = []string{"status of 404", "sandboxed"}
		dir := filepath.Join("out", "pictures", name)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		page := open(t, o)
		for _, site := range slices.Sorted(maps.Keys(sites)) {
			visit(t, page, sites[site])
			visible(t, page.Locator("main h1").First())
			_, err := page.Screenshot(playwright.PageScreenshotOptions{Path: new(filepath.Join(dir, site+".png")), FullPage: new(true)})
			require.NoError(t, err)
		}
	}
}
