package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"regexp"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestLaunchDigitsAndWatchToTheEnd: a data scientist launches a training from the form,
// watches it to its end without touching the page, and downloads the model; the page and
// the API show the same hash.
func TestLaunchDigitsAndWatchToTheEnd(t *testing.T) {
	t.Parallel()
	page := open(t, options{})
	visit(t, page, "/workflows")
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Launch digits.train"}))
	hasValue(t, input(page, "dataset"), "uci-digits@1")
	fill(t, input(page, "epochs"), "25")
	fill(t, page.Locator("#execution-name"), "Twenty-five epochs")
	id := launchNow(t, page)

	watchGraph(t, page, "load", "split", "train", "evaluate", "report")
	visible(t, headState(page, "SUCCEEDED"))
	require.Equal(t, 1, navigations(t, page), "the page was reloaded")
	downloadModel(t, shared.server, page, id)
}

// watchGraph waits until each node runs or ends, while the log grows and a curve appears,
// without a reload.
func watchGraph(t *testing.T, page playwright.Page, nodes ...string) {
	t.Helper()
	visible(t, graphNode(page, "train", "RUNNING"))
	visible(t, page.Locator("#metrics figure", playwright.PageLocatorOptions{HasText: "loss"}).First())
	curve := page.Locator("#metrics figure .uplot canvas, #metrics figure svg path").First()
	visible(t, curve)
	holds(t, page.Locator("#logs .log"), "epoch 1/25")
	visible(t, graphNode(page, "train", "RUNNING")) // the lines arrived while it was running
	for _, name := range nodes {
		require.NoError(t, expect().Locator(graphNode(page, name, "SUCCEEDED")).ToBeVisible(playwright.LocatorAssertionsToBeVisibleOptions{Timeout: new(60_000.0)}))
	}
	holds(t, page.Locator("#logs .log"), "epoch 25/25")
	counts(t, page.Locator("#logs .log-msg", playwright.PageLocatorOptions{HasText: regexp.MustCompile(`epoch \d+/25 `)}), 25)
}

// navigations returns how many documents this tab has loaded for the current page.
func navigations(t *testing.T, page playwright.Page) int {
	t.Helper()
	n, err := page.Evaluate(`() => performance.getEntriesByType("navigation").length`)
	require.NoError(t, err)
	return n.(int)
}

// downloadModel follows the page to the artifact and compares its three hashes.
func downloadModel(t *testing.T, s *server, page playwright.Page, id string) {
	t.Helper()
	click(t, page.Locator("#artifacts").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "model", Exact: new(true)}))
	shown, err := page.Locator(".hash code").TextContent()
	require.NoError(t, err)
	require.Len(t, shown, 64)
	file, err := page.ExpectDownload(func() error {
		return page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Download"}).First().Click()
	})
	require.NoError(t, err)
	path, err := file.Path()
	require.NoError(t, err)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(content), "flowforge-digits/1")
	sum := sha256.Sum256(content)
	require.Equal(t, shown, hex.EncodeToString(sum[:]))

	var list struct {
		Artifacts []struct {
			Name   string `json:"name"`
			SHA256 string `json:"sha256"`
			Node   string `json:"node"`
		} `json:"artifacts"`
	}
	s.api(t, http.MethodGet, "/executions/"+id+"/artifacts", nil, &list)
	for _, a := range list.Artifacts {
		if a.Name == "model" && a.Node == "train" {
			require.Equal(t, shown, a.SHA256)
			return
		}
	}
	t.Errorf("the API lists no model among %+v", list.Artifacts)
}
