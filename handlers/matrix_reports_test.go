package handlers_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/report"
)

// reportRows are about a report of another person.
func reportRows() []row {
	const ok, moved, absent, invalid = http.StatusOK, http.StatusSeeOther, http.StatusNotFound, http.StatusUnprocessableEntity
	const one, revision, dead = "/reports/{report}", "/reports/{report}/revisions/{revision}", "/reports/01900000-0000-7000-8000-00000000dead"
	return []row{
		page("/reports", "/reports?q=matrix", auth.ExecutionRead), page("/reports/new", "/reports/new", auth.ExecutionLaunch),
		page(one, one, auth.ExecutionRead).object(), page(one+"/stream", one+"/stream", auth.ExecutionRead).object(),
		page(one+"/history", one+"/history", auth.ExecutionRead).object(), page(revision, one+"/revisions/1", auth.ExecutionRead).object(),
		page(one+"/edit", one+"/edit", auth.ExecutionLaunch).object(),
		form("/reports", "/reports", "title=+", auth.ExecutionLaunch, invalid),
		form("/reports/preview", "/reports/preview", "text=x", auth.ExecutionLaunch, ok),
		form(one+"/preview", one+"/preview", "text=x", auth.ExecutionLaunch, ok).object(),
		form(one+"/edit", one+"/edit", "revision=1&title=+", auth.ExecutionLaunch, invalid).object(),
		form(revision+"/restore", one+"/revisions/1/restore", "", auth.ExecutionLaunch, moved).object(),
		form(one+"/delete", dead+"/delete", "", "", absent),
		read("/reports", "/reports", auth.ExecutionRead), read(one, one, auth.ExecutionRead).object(),
		read(one+"/revisions", one+"/revisions", auth.ExecutionRead).object(), read(revision, one+"/revisions/1", auth.ExecutionRead).object(),
		write("POST", "/reports", "/reports", `{"title": " "}`, auth.ExecutionLaunch, invalid),
		write("PATCH", one, one, `{"title": " "}`, auth.ExecutionLaunch, invalid).object(),
		write("POST", revision+"/restore", one+"/revisions/1/restore", "", auth.ExecutionLaunch, ok).object(),
		write("DELETE", one, dead, "", "", absent),
	}
}

// matrixReport creates a report of the caller of ctx.
func matrixReport(ctx context.Context, t *testing.T, b *testBundle, title string) string {
	t.Helper()
	r, err := b.deps.Reports.Create(ctx, report.Edit{Title: &title, Text: new("text of the matrix")})
	require.NoError(t, err)
	return r.ID.String()
}
