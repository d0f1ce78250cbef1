package executions

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/handlers/table"
)

// TestAnAddressHasAPageOfExecutions: the results of a resume of a page of the table fit into the
// headers that proxies accept, and are read back.
func TestAnAddressHasAPageOfExecutions(t *testing.T) {
	t.Parallel()
	var outcomes []table.Outcome
	var ids []uuid.UUID
	for range executionPageSize {
		o := table.Outcome{ID: uuid.New(), Created: uuid.New()}
		outcomes, ids = append(outcomes, o), append(ids, o.ID)
	}
	address := bulkResultsURL(table.ActionResume, "", "/executions?where=epochs+%3E+1", outcomes)
	require.Less(t, len(address), maxResultsURL)
	u, err := url.Parse(address)
	require.NoError(t, err)
	read, err := bulkIDs(u.Query()["id"])
	require.NoError(t, err)
	require.Equal(t, ids, read)
	for _, wrong := range []string{"", "x", strings.Repeat("=", 22), base64.RawURLEncoding.EncodeToString(make([]byte, 17))} {
		_, err := bulkIDs([]string{wrong})
		require.Error(t, err, wrong)
	}
}
