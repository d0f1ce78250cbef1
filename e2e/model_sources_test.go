package e2e

import (
	"net/http"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestVersionsShareTheirDataset: the dataset of a model is seven steps above it, behind the tables that
// the first tasks wrote.
func TestVersionsShareTheirDataset(t *testing.T) {
	t.Parallel()
	s := shared.server
	for _, version := range []string{"1.0.0", "1.1.0"} {
		id := s.launch(t, "digits.train", map[string]any{"epochs": 1})
		require.Equal(t, "SUCCEEDED", s.wait(t, id, ended).Status)
		s.api(t, http.MethodPost, "/models", map[string]any{"name": "shared-dataset", "version": version, "artifact": modelOf(t, id)}, nil)
	}
	page := open(t, options{})
	visit(t, page, "/models/shared-dataset")
	holds(t, page.Locator("#comparison h2"), "1.1.0 against 1.0.0")
	holds(t, page.Locator("#comparison"), "1 source is the same.")
	visible(t, page.Locator(`section[aria-labelledby="h-versions"] thead`)) // a table, not the list of a phone

	policy := page.Locator(`section[aria-labelledby="h-policy"]`)
	click(t, policy.Locator("summary"))
	fill(t, policy.GetByLabel("Metric"), "worst writer")
	fill(t, policy.GetByLabel("by at least"), "0.01")
	audit(t, page)
	click(t, policy.GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "Save"}))
	holds(t, page.Locator(`section[aria-labelledby="h-policy"] li`).Last(), "worst writer at least 0.01 higher than in production, on the same test set")

	for _, o := range []options{{width: 390}, {dark: true}} {
		other := open(t, o)
		visit(t, other, "/models/shared-dataset")
		click(t, other.Locator(`section[aria-labelledby="h-policy"] summary`))
		audit(t, other)
		noSidewaysScroll(t, other)
	}
}
