package e2e

import (
	"net/http"
	"testing"

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
}
