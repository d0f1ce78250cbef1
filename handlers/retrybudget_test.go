package handlers_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRetryBudgetForm: a second editor does not overwrite the first and loses nothing.
func TestRetryBudgetForm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const path = "/retry-budgets"
	opened := hidden(t, b.admin.get(t, path).body, "version")
	first := b.admin.submit(t, path, "do", "save", "version", opened, "retries", "10", "per", "1m", "burst", "5")
	require.Equal(t, http.StatusSeeOther, first.status, first.body)

	second := b.admin.submit(t, path, "do", "save", "version", opened, "retries", "77", "per", "3h", "burst", "9", "reason", "night shift")
	require.Equal(t, http.StatusConflict, second.status, second.body)
	require.Contains(t, second.body, "Another user changed the budget")
	for _, typed := range []string{`value="77"`, `value="3h"`, `value="9"`, `value="night shift"`} {
		require.Contains(t, second.body, typed)
	}
	require.Contains(t, second.body, "10 in each")
	third := b.admin.submit(t, path, "do", "save", "version", hidden(t, second.body, "version"), "retries", "77", "per", "3h", "burst", "9")
	require.Equal(t, http.StatusSeeOther, third.status, third.body)

	wrong := b.admin.submit(t, path, "do", "save", "version", "3", "retries", "many", "per", "3h", "burst", "9")
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	require.Contains(t, wrong.body, `value="many"`)
}
