package gallery

import (
	"net/url"
	"strconv"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

func backfillEntries() []Entry {
	return []Entry{
		{"backfills", "Backfills", func(f views.Page) templ.Component {
			return views.BackfillsPage(views.Backfills{Page: frame(f, "Backfills", views.SectionSchedules), NewURL: "#", Pager: ui.Pager{Text: "2 backfills"}, Rows: []views.BackfillRow{
				{ID: "1", URL: "#", Schedule: "digits-nightly", Range: "1 Jul 2026 to 31 Aug 2026", State: "RUNNING", Word: "Running", Progress: "39 of 62", Owner: "Amara Okafor", Created: clock().Moment(ago(7200e9))},
				{ID: "2", URL: "#", Schedule: "feed-refresh", Range: "1 Jun 2026 to 2 Jun 2026", State: "FAILED", Word: "Finished with failures", Progress: "48 of 48", Owner: "Mei Tanaka", Created: clock().Moment(ago(99000e9))},
			}})
		}},
		{"backfills-empty", "Backfills: none", func(f views.Page) templ.Component {
			return views.BackfillsPage(views.Backfills{Page: frame(f, "Backfills", views.SectionSchedules)})
		}},
		{"backfill-new", "New backfill with a dry run", func(f views.Page) templ.Component { return views.BackfillFormPage(backfillForm(f)) }},
		{"backfill-new-errors", "New backfill with errors", func(f views.Page) templ.Component {
			m := backfillForm(f)
			m.Dry, m.Errors = nil, map[string]string{"until": "The end must be after the start."}
			m.Failed = "The backfill cannot be checked: 1 value needs attention"
			m.ErrorLines = []forms.ErrorLine{{Target: "backfill-until", Label: "To", Text: m.Errors["until"]}}
			return views.BackfillFormPage(m)
		}},
		{"backfill", "Backfill: running with failures", func(f views.Page) templ.Component { return views.BackfillPage(backfill(f)) }},
		{"backfill-sparse", "Backfill: times of a year", func(f views.Page) templ.Component {
			m := backfill(f)
			m.Live.Months = []views.BackfillMonth{{Name: "2026", Sparse: true, Days: []views.BackfillCell{
				{Number: "25 Jan", State: "SUCCEEDED", URL: "#", Label: "25 January 02:30: Succeeded"}, {Number: "22 Feb", State: "PENDING", Label: "22 February 02:30: Pending"},
			}}}
			return views.BackfillPage(m)
		}},
	}
}

func backfillMonths() []views.BackfillMonth {
	m := views.BackfillMonth{Name: "July 2026", Blank: 2}
	states := []string{"SUCCEEDED", "SUCCEEDED", "FAILED", "RUNNING", "SKIPPED", "PENDING", "CANCELLED", ""}
	for i := range 31 {
		d := views.BackfillCell{Number: strconv.Itoa(i + 1), State: states[i%len(states)], Label: strconv.Itoa(i+1) + " July 02:00: " + states[i%len(states)], URL: "#"}
		if d.State == "" {
			d.URL, d.Label = "", strconv.Itoa(i+1)+" July: no times"
		}
		m.Days = append(m.Days, d)
	}
	m.Days[0].Count, m.Days[0].URL = "24", ""
	return []views.BackfillMonth{m}
}

func backfillForm(f views.Page) views.BackfillForm {
	return views.BackfillForm{
		Page: frame(f, "New backfill", views.SectionSchedules), From: "2026-07-01", To: "2026-07-31", Parallelism: "4", Zone: "Europe/Berlin",
		Schedules: []ui.Option{{Value: "1", Name: "digits-nightly, digits.train", Selected: true}},
		Reruns:    []ui.Option{{Value: "missing", Name: "Keep"}, {Value: "failed", Name: "Run failed again", Selected: true}, {Value: "all", Name: "Run all again"}},
		Dry: &views.BackfillDry{
			Runs: 12, Values: url.Values{"schedule": {"1"}}, Months: backfillMonths(),
			Facts: []ui.Fact{{Name: "Times", Value: "31"}, {Name: "Would run", Value: "12", Note: "4 of them again"}, {Name: "Kept", Value: "19"}, {Name: "Takes", Value: "about 1 h 50 min", Note: "10 min each, from 20 earlier attempts"}},
		},
	}
}

func backfill(f views.Page) views.Backfill {
	return views.Backfill{
		Page: frame(f, "Backfill of digits-nightly", views.SectionSchedules), ID: "1", Facts: []ui.Fact{{Name: "Schedule", Value: "digits-nightly", URL: "#"}, {Name: "Order", Value: "Oldest first"}},
		Live: views.BackfillLive{
			ID: "1", Title: "Backfill of digits-nightly", State: "PAUSED", Word: "Paused", Paused: true, MayChange: true, Message: "Paused by Mei Tanaka.", Progress: "1 Jul 2026 to 31 Jul 2026: 12 of 31 times done.",
			Segments: []views.BackfillSegment{{State: "SUCCEEDED", Text: "10 succeeded", X: "0", Width: "322"}, {State: "FAILED", Text: "2 failed", X: "322", Width: "64"}, {State: "PENDING", Text: "19 pending", X: "386", Width: "612"}},
			Months:   backfillMonths(), MoreAttention: "1 more time failed.",
			Attention: []views.BackfillAttention{{At: "Fri 10 Jul 2026, 02:00", State: "FAILED", Word: "Failed", Why: "uci-digits@2026.07.10 has 0 rows", URL: "#", Execution: "#a1b2c3"}, {At: "Sat 11 Jul 2026, 02:00", State: "FAILED", Word: "Refused", Why: "inputs.n: Enter 5 or less."}},
		},
	}
}
