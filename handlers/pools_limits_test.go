package handlers_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// TestPoolLimits: an administrator sets a limit in the form, and the page and the API show it. A limit without
// amounts is removed.
func TestPoolLimits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.poolToken(t)
	project := auth.LocalProject.String()
	wrong := b.admin.submit(t, "/admin/pools/lab/limits", "node", "", "tasks", "many", "gpus", "-1")
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	for _, part := range []string{"Select a tenant, department, team or project.", "Enter a whole number, or leave the field empty for no limit.", `value="many"`, `href="#limit-node"`} {
		require.Contains(t, wrong.body, part)
	}
	wrong = b.admin.submit(t, "/admin/pools/lab/limits", "node", project, "tasks", "-1")
	require.Contains(t, wrong.body, "Enter 0 or more, or leave the field empty for no limit.")
	saved := b.admin.submit(t, "/admin/pools/lab/limits", "node", project, "tasks", "2")
	page := b.admin.follow(t, saved)
	for _, part := range []string{"The limit was changed.", "0 of 2"} {
		require.Contains(t, page.body, part)
	}
	shares := func() []any {
		list, _ := b.admin.get(t, "/api/v1/pools/lab/shares").object(t, http.StatusOK)["shares"].([]any)
		return list
	}
	require.Len(t, shares(), 1)
	share, _ := shares()[0].(map[string]any)
	require.Equal(t, map[string]any{"tasks": json.Number("2")}, share["limit"])
	require.Equal(t, http.StatusNoContent, b.admin.send(t, http.MethodPut, "/api/v1/pools/lab/limits/"+project, "application/json", `{"gpus": 4}`).status)
	require.Contains(t, b.admin.get(t, "/admin/pools/lab").body, "0 of 4")
	require.Equal(t, http.StatusNoContent, b.admin.send(t, http.MethodPut, "/api/v1/pools/lab/limits/"+project, "application/json", `{}`).status)
	require.Empty(t, shares())
	require.Equal(t, http.StatusNotFound, b.admin.send(t, http.MethodPut, "/api/v1/pools/absent/limits/"+project, "application/json", `{"gpus": 4}`).status)
}
