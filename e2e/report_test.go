package e2e

import (
	"fmt"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestAReport is written with the keyboard beside its preview, shows runs of the digits example, and
// loses nothing when two tabs edit it.
func TestAReport(t *testing.T) {
	t.Parallel()
	s := shared.server
	var ids []string
	for _, rate := range []float64{0.03, 0.3} {
		id := s.launch(t, "digits.train", map[string]any{"epochs": 3, "hyperparameters": map[string]any{"learning_rate": rate}})
		require.Equal(t, "SUCCEEDED", s.wait(t, id, ended).Status)
		ids = append(ids, id)
	}
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, "/reports")
	audit(t, page)
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "New report"}).First())
	fill(t, page.GetByLabel("Title"), "Learning rates")
	text := page.GetByLabel("Text", playwright.PageGetByLabelOptions{Exact: new(true)})
	require.NoError(t, text.Focus())
	require.NoError(t, page.Keyboard().InsertText("## Question\n\nIs a *larger* rate better?\n\n"+
		fmt.Sprintf("```{chart}\nmetric: accuracy\nexecutions: [%s, %s]\n```\n", ids[0], ids[1])))
	preview := page.Locator("#report-preview")
	holds(t, preview.Locator("h2"), "Question")
	visible(t, preview.Locator(".u-over"))
	click(t, button(page, "Insert: Table"))
	holds(t, preview, "Best runs")
	visible(t, preview.Locator(".u-over")) // the chart stays
	require.NoError(t, text.Press("Control+End"))
	require.NoError(t, page.Keyboard().InsertText("\n```{execution}\nid: "+s.base+"/executions/"+ids[1]+"\n```\n\n```{tabel}\n```\n"))
	holds(t, preview, "There is no block {tabel}")
	audit(t, page)
	picture(t, page, "report-editor")
	require.NoError(t, text.Press("Control+s"))
	holds(t, page.Locator(".error-summary"), "There is no block {tabel}")
	text = page.GetByLabel("Text", playwright.PageGetByLabelOptions{Exact: new(true)})
	written, err := text.InputValue()
	require.NoError(t, err)
	fill(t, text, written[:len(written)-len("\n```{tabel}\n```\n")])
	click(t, button(page, "Save"))
	holds(t, page.Locator("h1"), "Learning rates")
	visible(t, page.Locator(".report-block .u-over"))
	holds(t, page.GetByRole("region", playwright.PageGetByRoleOptions{Name: "Best runs", Exact: new(true)}), "digits.train")
	holds(t, page.Locator(".report-block").Last(), "learning_rate")
	audit(t, page)
	picture(t, page, "report")
	noSidewaysScroll(t, page)
	report := page.URL()

	other := open(t, options{tolerates: []string{"409"}})
	visit(t, page, report+"/edit")
	visit(t, other, report+"/edit")
	fill(t, page.GetByLabel("Text", playwright.PageGetByLabelOptions{Exact: new(true)}), "Of the first tab.")
	click(t, button(page, "Save"))
	holds(t, page.Locator("article"), "Of the first tab.")
	fill(t, other.GetByLabel("Text", playwright.PageGetByLabelOptions{Exact: new(true)}), "Of the second tab.")
	click(t, button(other, "Save"))
	holds(t, other.Locator(".error-summary"), "saved revision 2 while you were writing")
	hasValue(t, other.GetByLabel("Text", playwright.PageGetByLabelOptions{Exact: new(true)}), "Of the second tab.")
	audit(t, other)
	picture(t, other, "report-conflict")
	click(t, button(other, "Save as the latest revision"))
	holds(t, other.Locator("article"), "Of the second tab.")
	holds(t, page.Locator("#report-news"), "saved revision 3.")

	click(t, other.GetByRole("link", playwright.PageGetByRoleOptions{Name: "History"}))
	audit(t, other)
	click(t, button(other, "Restore revision 1"))
	holds(t, other.Locator("h1"), "Learning rates")
	visible(t, other.Locator(".report-block .u-over"))
	require.NoError(t, other.Keyboard().Press("Control+k"))
	fill(t, other.Locator("#palette-q"), "learning ra")
	visible(t, other.Locator("#palette-found").GetByText("Learning rates"))

	phone := open(t, options{width: 390, dark: true})
	for i, path := range []string{report, report + "/edit", report + "/history", report + "/revisions/2", "/reports"} {
		visit(t, phone, path)
		audit(t, phone)
		noSidewaysScroll(t, phone)
		picture(t, phone, fmt.Sprintf("report-phone-%d", i+1))
	}
	plain := open(t, options{noScript: true})
	visit(t, plain, report+"/edit")
	fill(t, plain.Locator("#report-text"), "A *draft*.")
	click(t, button(plain, "Preview"))
	holds(t, plain.Locator("#report-preview em"), "draft")
}
