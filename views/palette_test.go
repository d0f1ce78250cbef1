package views_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/views"
)

// TestPaletteFindsPagesBySynonyms: each word begins a word of the page's name or of a synonym.
func TestPaletteFindsPagesBySynonyms(t *testing.T) {
	t.Parallel()
	admin := views.Page{Nav: views.Nav{Team: true, Waiting: true, Quotas: true, Tenancy: true, Audit: true, Cluster: true}}
	for query, want := range map[string]string{
		"jobs": views.ExecutionsURL(), "runs": views.ExecutionsURL(), "execu": views.ExecutionsURL(), "limits": views.QuotasURL(nil), "api keys": views.AccountKeysURL(),
		"tokens": views.AccountKeysURL(), "users": views.AdminUsersURL(), "queue": views.WaitingURL("", ""), "start": views.WorkflowsURL(), "upload": views.RegisterURL(),
		"Dead Letters": views.DeadLettersURL("", ""), "locks": views.SemaphoresURL(""), "disk": views.StorageURL(), "swagger": views.APIDocsURL(), "help": views.DocsURL(),
		"settings": views.AccountURL(), "machines": views.ClusterURL(), "templates": views.TemplatesURL(), "switch": views.ProjectsURL(),
	} {
		var urls []string
		for _, hit := range admin.PaletteHits(query) {
			urls = append(urls, hit.URL)
		}
		require.Contains(t, urls, want, query)
	}
	require.Empty(t, admin.PaletteHits("page")) // the kind of an entry is no word of it
	require.Empty(t, admin.PaletteHits("obs"))
	for _, hit := range (views.Page{}).PaletteHits("") {
		require.NotContains(t, hit.URL, "/admin", "a page that the reader may not see")
	}
}
