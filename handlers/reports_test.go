package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

const reportFence = "```"

func TestAReportIsWrittenAndRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, matrixDocument("matrix.flow"))
	execution := launchFlow(t, b.admin)
	text := "# Findings\n\nIt **works**.\n\n" + reportFence + "{execution}\nid: http://ff.example/executions/" + execution + "\n" + reportFence + "\n\n" +
		reportFence + "{artifact}\nid: " + uuid.NewString() + "\n" + reportFence + "\n"
	saved := b.member.submit(t, "/reports", "title", "Results", "text", text)
	page := b.member.follow(t, saved)
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.body, "<h2>Findings</h2>")
	require.Contains(t, page.body, "<strong>works</strong>")
	require.Contains(t, page.body, `href="/executions/`+execution+`"`)
	require.Contains(t, page.body, "This block cannot be shown.", "a missing artifact is said in its place")

	require.Contains(t, b.member.get(t, "/reports?q=WORKS").body, "Results")
	require.Contains(t, b.member.get(t, "/reports?q=absent").body, "No report matches")
	require.Contains(t, b.member.get(t, "/search?q=result").body, saved.header.Get("Location"))

	viewer := b.signIn(t, b.person(t, "vera", auth.Viewer, auth.LocalProject))
	seen := viewer.get(t, saved.header.Get("Location"))
	require.Equal(t, http.StatusOK, seen.status)
	require.NotContains(t, seen.body, "/edit")
	require.NotContains(t, viewer.get(t, "/reports").body, "New report")
}

// TestARejectedReportKeepsItsText: mistakes and conflicts answer with what was typed.
func TestARejectedReportKeepsItsText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wrong := b.member.submit(t, "/reports", "title", "", "text", "my long text", "note", "my note")
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	for _, part := range []string{"The report was not saved", "Title: Enter a title.", ">my long text</textarea>", `value="my note"`} {
		require.Contains(t, wrong.body, part)
	}
	wrong = b.member.submit(t, "/reports", "title", "Results", "text", "one\n\n"+reportFence+"{chart}\nmetrik: x\n"+reportFence)
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	require.Contains(t, wrong.body, "Line 4: {chart} has no option")
	require.Contains(t, wrong.body, "metrik: x")

	saved := b.member.submit(t, "/reports", "title", "Results", "text", "first")
	address := saved.header.Get("Location")
	require.NotEmpty(t, address, saved.body)
	require.Equal(t, http.StatusSeeOther, b.admin.submit(t, address+"/edit", "revision", "1", "title", "Results", "text", "first\nof the admin").status)
	mine := b.member.submit(t, address+"/edit", "revision", "1", "title", "Results", "text", "first\nof mia")
	require.Equal(t, http.StatusConflict, mine.status)
	for _, part := range []string{"saved revision 2 while you were writing", "of mia</textarea>", "of the admin", `name="revision" value="2"`} {
		require.Contains(t, mine.body, part)
	}
	require.Equal(t, http.StatusSeeOther, b.member.submit(t, address+"/edit", "revision", "2", "title", "Results", "text", "first\nof mia").status)
	history := b.member.get(t, address+"/history").body
	require.Contains(t, history, "Revision 3")
	require.Contains(t, b.member.get(t, address+"/revisions/2").body, "of the admin")
	restored := b.member.submit(t, address+"/revisions/2/restore", "revision", "2")
	require.Equal(t, http.StatusConflict, restored.status, "the reader had not seen revision 3")
	require.Contains(t, restored.body, "mia saved revision 3 in the meantime.")
	b.member.follow(t, b.member.submit(t, address+"/revisions/2/restore", "revision", "3"))
	require.Contains(t, b.member.get(t, address+"/history").body, "Restored from revision 2")
	require.Equal(t, http.StatusUnprocessableEntity, b.member.submit(t, address+"/edit", "title", "x").status, "a form without a revision overwrites nothing")
}

// TestPreviewWithoutScripts: the button shows the preview on the page of the form, and the address
// of the script answers with the preview alone.
func TestPreviewWithoutScripts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	shown := b.member.submit(t, "/reports", "title", "Draft", "text", "a *b*", "preview", "1")
	require.Equal(t, http.StatusOK, shown.status)
	require.Contains(t, shown.body, "<em>b</em>")
	require.Contains(t, shown.body, ">a *b*</textarea>")
	alone := b.member.submit(t, "/reports/preview", "text", "a *b* <script>alert(1)</script>")
	require.Contains(t, alone.body, "<em>b</em>")
	require.NotContains(t, alone.body, "<script")
	require.NotContains(t, alone.body, "<html")
	require.NotContains(t, b.member.get(t, "/reports").body, "Draft")
}

// TestReportsOfTheAPI: revisions guard changes, and a title names a report.
func TestReportsOfTheAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.member.post(t, "/api/v1/reports", `{"title": "Weekly results", "text": "one"}`).object(t, http.StatusCreated)
	require.Equal(t, "1", fmt.Sprint(made["revision"]))
	b.member.patch(t, "/api/v1/reports/Weekly%20results", `{"text": "two", "revision": 1, "note": "more"}`).object(t, http.StatusOK)
	late := b.member.patch(t, "/api/v1/reports/"+made["id"].(string), `{"text": "three", "revision": 1}`)
	require.Equal(t, http.StatusConflict, late.status)
	require.Contains(t, late.body, "saved revision 2 in the meantime")
	history := b.member.get(t, "/api/v1/reports/Weekly%20results/revisions?limit=1")
	require.Contains(t, history.body, `"note":"more"`)
	require.Contains(t, history.body, `"next":2`)
	require.Contains(t, b.member.get(t, "/api/v1/reports/Weekly%20results/revisions/1").body, `"text":"one"`)
	require.Contains(t, b.member.post(t, "/api/v1/reports/Weekly%20results/revisions/1/restore", "").body, `"text":"one"`)
	require.Contains(t, b.member.get(t, "/api/v1/reports?q=weekly").body, `"revision":3`)
	b.member.drop(t, "/api/v1/reports/Weekly%20results")
	require.Equal(t, http.StatusNotFound, b.member.get(t, "/api/v1/reports/Weekly%20results").status)
	bad := b.member.post(t, "/api/v1/reports", `{"title": "a", "text": "`+strings.ReplaceAll(reportFence+"{x}\n"+reportFence, "\n", `\n`)+`"}`)
	require.Equal(t, http.StatusUnprocessableEntity, bad.status)
	require.Contains(t, bad.body, "There is no block {x}")
}
