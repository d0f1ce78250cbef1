package gallery

import (
	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func reportEntries() []Entry {
	return []Entry{
		{"reports", "Reports", func(f views.Page) templ.Component {
			return views.ReportsPage(views.Reports{
				Page: frame(f, "Reports", views.SectionReports), NewURL: "#", Pager: ui.Pager{Text: "2 reports"},
				Rows: []views.ReportRow{
					{Title: "Learning rates of the digits model", URL: "#", By: "Amara Okafor", UpdatedBy: "Mei Tanaka", Updated: clock().Moment(ago(600e9)), Revision: "7"},
					{Title: "Weekly results", URL: "#", By: "Mei Tanaka", UpdatedBy: "Mei Tanaka", Updated: clock().Moment(ago(86400e9)), Revision: "1"},
				},
			})
		}},
		{"reports-empty", "Reports: none", func(f views.Page) templ.Component {
			return views.ReportsPage(views.Reports{Page: frame(f, "Reports", views.SectionReports), NewURL: "#"})
		}},
		{"report", "Report with every block", func(f views.Page) templ.Component { return views.ReportOwnPage(reportPage(f)) }},
		{"report-old", "Report: earlier revision", func(f views.Page) templ.Component {
			m := reportPage(f)
			m.EditURL, m.DeleteURL, m.Revision = "", "", 3
			m.Old = &views.OldReport{Latest: 7, LatestURL: "#", RestoreURL: "#", Changes: reportDiff("Changes from revision 2")}
			return views.ReportOwnPage(m)
		}},
		{"report-edit", "Report: editor with mistakes", func(f views.Page) templ.Component {
			m := reportForm(f)
			m.Errors = map[string]string{"title": "Enter a title.", "text": "Line 3: There is no block {tabel}. Use {table}, {chart}, {artifact}, {execution} or {sweep}."}
			m.ReportTitle = ""
			m.Content.Problems = []string{"Line 3: There is no block {tabel}. Use {table}, {chart}, {artifact}, {execution} or {sweep}."}
			return views.ReportFormPage(m)
		}},
		{"report-conflict", "Report: saved by another person", func(f views.Page) templ.Component {
			m := reportForm(f)
			m.Conflict = &views.ReportConflict{By: "Mei Tanaka", Revision: 8, URL: "#", Changes: reportDiff("Your text compared with the latest revision")}
			m.Conflict.Changes.Open = true
			return views.ReportFormPage(m)
		}},
		{"report-history", "Report: history", func(f views.Page) templ.Component {
			return views.ReportHistoryPage(views.ReportHistory{
				Page: frame(f, "History", views.SectionReports, views.Crumb{Name: "Reports", URL: "#"}), Heading: "Learning rates", URL: "#", Pager: ui.Pager{Text: "2 revisions"},
				Rows: []views.ReportRevisionRow{
					{Number: 2, URL: "#", Latest: true, By: "Mei Tanaka", Note: "results of the second sweep", Written: clock().Moment(ago(600e9)), Size: "2 KiB"},
					{Number: 1, URL: "#", By: "Amara Okafor", Written: clock().Moment(ago(86400e9)), Size: "1 KiB", RestoreURL: "#"},
				},
			})
		}},
	}
}

func reportDiff(title string) views.ReportChanges {
	line := func(kind, before, after, text string) views.DiffLine {
		return views.DiffLine{Kind: kind, Before: before, After: after, Parts: []views.SourcePart{{Text: text}}}
	}
	return views.ReportChanges{Title: title, Note: "1 line added, 1 removed", Lines: []views.DiffLine{
		{Header: "@@ -1,2 +1,2 @@"}, line("", "1", "1", "## Question"), line("del", "2", "", "Is 0.1 better?"), line("add", "", "2", "Is 0.2 better?"),
	}}
}

func reportForm(f views.Page) views.ReportForm {
	return views.ReportForm{
		Page: frame(f, "Edit", views.SectionReports, views.Crumb{Name: "Reports", URL: "#"}), Heading: "Edit Learning rates", Action: "#", PreviewURL: "#", CancelURL: "#", Based: 7,
		ReportTitle: "Learning rates", Text: "## Question\n\n```{tabel}\nview: baseline\n```\n", Note: "results of the second sweep",
		Content: &views.ReportContent{Parts: []views.ReportPart{{HTML: "<h3>Question</h3>\n<p>Is a larger rate <em>better</em>?</p>"}}},
	}
}

func reportPage(f views.Page) views.ReportPage {
	sweep := sweepPage(f).Head
	text := func(html string) views.ReportPart { return views.ReportPart{HTML: html} }
	block := func(b views.ReportBlock) views.ReportPart { return views.ReportPart{Block: &b} }
	return views.ReportPage{
		Page: frame(f, "Learning rates", views.SectionReports, views.Crumb{Name: "Reports", URL: "#"}), ID: "r", Heading: "Learning rates", By: "Mei Tanaka", Written: clock().Moment(ago(600e9)),
		Revision: 7, Link: "https://flowforge.example/reports/0197c3f2-1111-7000-8000-000000000001", EditURL: "#", HistoryURL: "#", DeleteURL: "#",
		Content: views.ReportContent{Parts: []views.ReportPart{
			text("<h2>Question</h2>\n<p>Is a larger rate <em>better</em>? See <a href=\"#\">the sweep</a> and <code>train.py</code>.</p>\n<ul>\n<li>0.01 is slow</li>\n<li>0.3 diverges</li>\n</ul>"),
			block(views.ReportBlock{ID: "block-1", Title: "Best runs", URL: "#", Open: "Open the list", Note: "View baseline · 2 of 40 executions", Table: &views.ReportTable{
				Columns: []views.ReportColumn{{Title: "lr", Part: "inputs", Numeric: true}, {Title: "tags"}},
				Rows: []views.GridRow{
					{ID: "1", Short: "#a1b2c3", URL: "#", State: "SUCCEEDED", Title: "digits.train", Flow: "digits.train 2.4.0", Cells: []views.GridCell{{Text: "0.02", Numeric: true}, {Tags: []string{"baseline"}}}},
					{ID: "2", Short: "#d4e5f6", URL: "#", State: "RUNNING", Title: "digits.train", Flow: "digits.train 2.4.0", Cells: []views.GridCell{{Text: "0.3", Numeric: true}, {}}},
				},
			}}),
			block(views.ReportBlock{ID: "block-2", Title: "No runs", Table: &views.ReportTable{}}),
			block(views.ReportBlock{ID: "block-3", Title: "digits.train #a1b2c3", URL: "#", Open: "Open the execution", Execution: &views.ReportExecution{
				State: "SUCCEEDED", Name: "digits.train", URL: "#", Summary: "6 nodes", Facts: []ui.Fact{{Name: "Workflow", Value: "digits.train 2.4.0", URL: "#"}, {Name: "Duration", Value: "12 s"}},
				Inputs: []ui.Fact{{Name: "hyperparameters.learning_rate", Value: "0.02"}}, Outputs: []ui.Fact{{Name: "accuracy", Value: "0.971"}},
			}}),
			block(views.ReportBlock{ID: "block-4", Title: "Sweep of rates", URL: "#", Open: "Open the sweep", Sweep: &sweep}),
			block(views.ReportBlock{ID: "block-5", Title: "scores", URL: "#", Open: "Open the artifact", Note: "Metrics, 120 B, from evaluate of #a1b2c3", Artifact: &views.Preview{Kind: "metrics", Facts: []ui.Fact{{Name: "f1", Value: "0.96"}}}}),
			block(views.ReportBlock{ID: "block-6", Title: "log", URL: "#", Open: "Open the artifact", Artifact: &views.Preview{Kind: "text", Text: "epoch 1\nepoch 2\n"}}),
			block(views.ReportBlock{ID: "block-7", Title: "model", URL: "#", Open: "Open the artifact", Artifact: &views.Preview{Kind: "model"}}),
			block(views.ReportBlock{ID: "block-8", Title: "Artifact", Problem: "There is no artifact 0197c3f2-1111-7000-8000-000000000002."}),
		}},
	}
}
