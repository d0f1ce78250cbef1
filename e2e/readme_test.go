package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestReadmePictures retakes the pictures of the README during a training, if
// FLOWFORGE_TEST_PICTURES=readme.
func TestReadmePictures(t *testing.T) {
	t.Parallel()
	if os.Getenv("FLOWFORGE_TEST_PICTURES") != "readme" {
		return // a tool, not a test
	}
	s := ownServer(t)
	page := openOn(t, s, options{})
	require.NoError(t, page.SetViewportSize(1280, 1000))
	visit(t, page, "/workflows/digits.train/launch")
	fill(t, input(page, "epochs"), "40")
	accepted(t, page)
	require.NoError(t, page.Locator("h1").Click()) // no focus ring in the picture
	take(t, page, "launch.png")
	fill(t, page.Locator("#execution-name"), "Forty epochs, hidden layer")
	id := launchNow(t, page)
	require.NoError(t, page.SetViewportSize(1280, 1500))
	visit(t, page, "/executions/"+id+"?node=train")
	holds(t, page.Locator("#metrics figure").First(), "accuracy")
	s.wait(t, id, func(e executionView) bool {
		for _, n := range e.Nodes {
			if n.Operator == "train" && n.Progress.Percent >= 45 {
				return true
			}
		}
		return ended(e)
	})
	take(t, page, "execution.png")
}

// take writes a picture of the window, small enough for a repository.
func take(t *testing.T, page playwright.Page, name string) {
	t.Helper()
	picture, err := page.Screenshot()
	require.NoError(t, err)
	require.Less(t, len(picture), 300<<10)
	require.NoError(t, os.WriteFile(filepath.Join("..", "docs", "images", name), picture, 0o644))
}
