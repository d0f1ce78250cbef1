package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// registerDataset registers a CSV file as a version.
func registerDataset(t *testing.T, b *testBundle, version, csv string) {
	t.Helper()
	blob, err := b.artifacts.Upload(b.ctx, strings.NewReader(csv))
	require.NoError(t, err)
	b.member.post(t, "/api/v1/datasets", `{"name": "people/adults", "version": "`+version+`", "file": {"$file": "`+blob.SHA256+`", "name": "people.csv"},
		"columns": [{"name": "age", "dtype": "Integer", "description": "In years", "default_value": 18, "statistics": {"mean": 40}}]}`).object(t, http.StatusCreated)
}

func TestTheDatasetPageShowsStatisticsAndDrift(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const page = "/datasets/people%2Fadults"
	registerDataset(t, b, "1", "age,city\n"+strings.Repeat("30,Rome\n", 400)+strings.Repeat("50,Oslo\n", 400))
	waiting := b.member.get(t, page)
	require.Contains(t, waiting.body, "The statistics are being computed.")
	require.NoError(t, b.datasets.ComputeWaiting(b.ctx))
	state := b.member.get(t, page+"/state?version=1")
	require.Equal(t, "true", state.header.Get("HX-Refresh"))

	registerDataset(t, b, "2", "age,city,zip\n"+strings.Repeat("30,Rome,1\n", 900)+"90,Rome,2\n")
	require.NoError(t, b.datasets.ComputeWaiting(b.ctx))
	body := b.member.get(t, page).body
	for _, want := range []string{"Changes since 1", "PSI", "In years", "default 18", "mean 40", "+101 since version 1", "1 new"} {
		require.Contains(t, body, want)
	}
	drift := b.member.get(t, "/api/v1/datasets/people%2Fadults@2/drift").object(t, http.StatusOK)
	require.Equal(t, "people/adults@1", drift["against"])
	columns := drift["columns"].([]any)
	require.Equal(t, "moved", columns[0].(map[string]any)["verdict"])
	require.Equal(t, "added", columns[2].(map[string]any)["verdict"])
	back := b.member.get(t, page+"?version=1&against=2").body
	require.Contains(t, back, "Changes since 2")
	require.Contains(t, back, "The column was removed")

	refused := b.member.submit(t, page+"/aliases", "version", "2", "alias", "latest")
	require.Equal(t, http.StatusUnprocessableEntity, refused.status)
	require.Contains(t, refused.body, "latest is reserved")
	require.Contains(t, refused.body, `value="latest"`, "what was typed is kept")
	require.Equal(t, http.StatusSeeOther, b.member.submit(t, page+"/aliases", "version", "2", "alias", "golden").status)
	require.Contains(t, b.member.get(t, page+"?version=golden").body, "Version 2")
	require.Contains(t, b.member.get(t, "/datasets?q=adult").body, "people/adults")
	require.Contains(t, b.member.get(t, "/search?q=adult").body, `href="`+page+`"`)
}
