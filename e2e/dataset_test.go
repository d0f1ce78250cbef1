package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestADataset is registered twice; its page waits for the statistics, describes what moved, gives a
// version an alias, and leads to its lineage.
func TestADataset(t *testing.T) {
	t.Parallel()
	register := func(version, csv string) { shared.server.registerDataset(t, "writers", version, csv) }
	register("1", "slant,source\n"+strings.Repeat("2.5,form\n7.5,scan\n", 500))
	register("2", "slant,source\n"+strings.Repeat("2.5,form\n7.5,tablet\n", 500))
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, "/datasets?q=writers")
	audit(t, page)
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "writers", Exact: new(true)}))
	holds(t, page.Locator("#h-changed"), "Changes since 1")
	holds(t, page.Locator("#h-drift"), "Drift of source")
	audit(t, page)
	noSidewaysScroll(t, page)

	fill(t, page.Locator("#alias-name"), "latest")
	click(t, button(page, "Set alias"))
	holds(t, page.Locator(".error-summary"), "latest is reserved")
	hasValue(t, page.Locator("#alias-name"), "latest")
	fill(t, page.Locator("#alias-name"), "golden")
	click(t, button(page, "Set alias"))
	holds(t, page.Locator(".notice").First(), "The aliases were changed.")
	visit(t, page, "/datasets/writers?version=golden")
	holds(t, page.Locator("#h-version"), "Version 2")
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Lineage", Exact: new(true)}))
	holds(t, page.Locator("h1"), "writers")
}

// registerDataset uploads a CSV file and registers it as a version of a dataset.
func (s *server) registerDataset(t *testing.T, name, version, csv string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/api/v1/blobs?filename="+name+".csv", strings.NewReader(csv))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "text/csv")
	res, err := s.client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	var ref map[string]any
	require.NoError(t, json.NewDecoder(res.Body).Decode(&ref))
	s.api(t, http.MethodPost, "/datasets", map[string]any{"name": name, "version": version, "file": ref}, nil)
}
