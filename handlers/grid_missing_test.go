package handlers_test

import (
	"html"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestATableWithoutItsColumns: a saved view keeps a column whose metric no execution has any more. The
// table leaves it out, says so, and its columns can still be changed.
func TestATableWithoutItsColumns(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.register(t, typedDocument)
	one := b.launchTyped(t, 1)
	path := "/executions?" + url.Values{"columns": {"inputs.epochs,metrics.gone~240"}, "sort": {"-metrics.lost"}}.Encode()
	found := b.member.get(t, path)
	require.Equal(t, http.StatusOK, found.status)
	body := html.UnescapeString(found.body)
	for _, want := range []string{
		"/executions/" + one, "1 column is not shown, and the order is ignored.", `No execution of this project has "metrics.gone".`,
		`No execution of this project has "metrics.lost".`, `href="/executions?columns=inputs.epochs">Remove from the table`,
		`name="column" value="metrics.gone~240" checked`, "not shown: no execution has it", `name="column" value="inputs.epochs" checked`,
	} {
		require.Contains(t, body, want)
	}
	require.NotContains(t, body, "columns=inputs.epochs%2Cmetrics.gone&format", "an export has the columns of the table")

	facets := b.member.get(t, "/executions/facets?columns=inputs.epochs,metrics.gone")
	require.Contains(t, facets.body, "inputs.epochs")

	grouped := html.UnescapeString(b.member.get(t, "/executions?columns=inputs.epochs&group=inputs.gone").body)
	require.Contains(t, grouped, `No execution of this project has "inputs.gone".`)
	require.Contains(t, grouped, `aria-label="Columns"`, "the choices stay when the groups cannot be shown")
}
