package gallery

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

func gpu(name string) ui.Unit { return ui.Unit{Word: name} }

// share is the usage of one resource by a node: used, limit, maximum, lent.
type share [4]int64

func quotaCell(id, who, resource string, unit ui.Unit, s share, scale int64) views.QuotaBarCell {
	borrowed := max(s[0]-s[1], 0)
	free := max(s[1]-s[0]-s[3], 0)
	if s[1] < 0 {
		borrowed, free = 0, 0
	}
	return views.QuotaBarCell{ID: "q-" + id + "-" + strings.ToLower(resource), Bar: ui.NewQuotaBar(ui.QuotaFigures{
		Who: who, Resource: resource, Unit: unit, Used: s[0], Limit: s[1], Most: s[2], Lent: s[3], Borrowed: borrowed, Free: free, Scale: scale,
	})}
}

func quotaRow(id, name, kind string, level int, weight, waiting string, a100, h100 share) views.QuotaRow {
	r := views.QuotaRow{
		ID: id, Name: name, Kind: kind, Level: level, Weight: weight, EditURL: "#", Open: true,
		Waiting: views.QuotaWaiting{ID: "qw-" + id, Text: waiting}, URL: "",
		Cells: []views.QuotaBarCell{
			quotaCell(id, name, "A100", gpu("A100"), a100, 40), quotaCell(id, name, "H100", gpu("H100"), h100, 24),
		},
	}
	switch kind {
	case "team":
		r.URL = "#"
		fallthrough
	case "project":
		if kind == "project" || name == "Ranking" || name == "Search quality" || name == "Speech" {
			return r
		}
	}
	r.FoldURL, r.FoldText = "#", "Collapse "+name
	return r
}

func quotaRows() []views.QuotaRow {
	rows := []views.QuotaRow{
		quotaRow("meridian", "Meridian", "tenant", 0, "–", "4", share{34, 40, 40, 0}, share{17, 24, 24, 0}),
		quotaRow("research", "Research", "department", 1, "1.0", "3", share{20, 22, 30, 0}, share{9, 16, 20, 3}),
		quotaRow("vision", "Vision", "team", 2, "2.0", "2", share{14, 12, 20, 0}, share{4, 6, 8, 0}),
		quotaRow("digits", "digits", "project", 3, "1.0", "0", share{4, 4, 12, 0}, share{0, 2, 4, 0}),
		quotaRow("street", "street-scenes", "project", 3, "1.0", "2", share{10, -1, 20, 0}, share{4, 4, 8, 0}),
		quotaRow("speech", "Speech", "team", 2, "1.0", "0", share{6, 10, 14, 2}, share{5, 10, 12, 3}),
		quotaRow("product", "Product", "department", 1, "1.0", "2", share{14, 14, 26, 0}, share{8, 8, 14, 0}),
		quotaRow("ranking", "Ranking", "team", 2, "1.5", "2", share{14, 10, 22, 0}, share{12, 5, 10, 0}),
		quotaRow("search", "Search quality", "team", 2, "1.0", "0", share{0, 4, 8, 0}, share{0, 3, 4, 0}),
	}
	rows[7].Notes = []views.QuotaNote{{State: "READY", Text: "waiting for 12 A100"}}
	rows[7].Waiting.URL = "#"
	rows[8].Notes = []views.QuotaNote{{Text: "4 A100 unused for 6 days"}}
	return rows
}

func quotas(f views.Page) views.QuotasPage {
	return views.QuotasPage{
		Page: frame(f, "Quotas", views.SectionQuotas),
		Live: views.QuotaLive{
			Figures: []views.QuotaFigure{
				{Name: "A100 in use", Value: "34", Note: "of 40"}, {Name: "H100 in use", Value: "17", Note: "of 24"},
				{Name: "Mean GPU utilisation", Value: "71 %", Note: "last hour"}, {Name: "Waiting", Value: "4", Note: "nodes, 28 GPUs"},
				{Name: "Longest wait", Value: "38 min", Note: "rank.train, Ranking", URL: "#"},
			},
			Advice: []views.QuotaAdvice{{
				Strong: "Ranking is waiting for 12 A100. Search quality has 4 unused A100 and does not lend them.",
				Text:   "Letting Search quality lend 4 would start", LinkText: "rank.train #6c2100", LinkURL: "#", URL: "#",
			}},
		},
		Groups: []ui.Choice{{Name: "A100, H100", URL: "#", Current: true}, {Name: "CPU, memory, pods", URL: "#"}, {Name: "Executions, storage", URL: "#"}},
		Only:   views.QuotaFilter{URL: "#", Count: "2"}, CSVURL: "#",
		Tree:    views.QuotaTree{Columns: []views.QuotaColumn{{Name: "A100"}, {Name: "H100"}}, Rows: quotaRows()},
		History: quotaHistory(), Changes: quotaChanges(),
	}
}

func quotaHistory() views.QuotaHistory {
	var samples []chart.Sample
	for i := range 144 {
		used := math.Round(10 + 6*math.Sin(float64(i)/9) + 2*math.Sin(float64(i)/2.3))
		limit := 12.0
		if i > 100 {
			limit = 14
		}
		samples = append(samples, chart.Sample{At: ago(24*time.Hour - time.Duration(i)*10*time.Minute), Used: used, Limit: limit, Waiting: max(0, 3*math.Sin(float64(i)/17))})
	}
	samples = append(samples[:40], samples[52:]...)
	h := views.QuotaHistory{
		Title: "History", Label: "A100 of Vision in the last 24 hours: 4 to 18 in use, guarantee 14, at most 3 waiting", Action: "#",
		Chart:     chart.NewHistory(samples, chart.HistoryOptions{From: ago(24 * time.Hour), To: now(), Gap: 30 * time.Minute, Zone: time.UTC, Format: ui.Float}),
		Ranges:    []ui.Choice{{Name: "1 h", URL: "#"}, {Name: "24 h", URL: "#", Current: true}, {Name: "7 d", URL: "#"}},
		Nodes:     []ui.Option{{Value: "a", Name: "Meridian"}, {Value: "b", Name: "Meridian › Research › Vision", Selected: true}},
		Resources: []ui.Option{{Value: "gpu:A100", Name: "A100", Selected: true}, {Value: "gpu:H100", Name: "H100"}},
	}
	for i := range 6 {
		h.Table = append(h.Table, views.QuotaHistoryRow{At: clock().Moment(ago(time.Duration(6-i) * 4 * time.Hour)), Used: fmt.Sprint(8 + i), Limit: "14", Waiting: "0"})
	}
	return h
}

func quotaChanges() []views.QuotaChange {
	return []views.QuotaChange{
		{Who: "Priya Raman", Node: "Ranking", Text: "A100 guarantee: 8 → 10", At: clock().Ago(ago(70 * time.Hour)), Reason: "News-feed experiment until 15 December", UndoURL: "#"},
		{Who: "Priya Raman", Node: "Speech", Text: "A100 lending: all → 4", At: clock().Moment(ago(8 * 24 * time.Hour)), Reason: "Idle at night"},
	}
}

// quotaFixtureField is one input of the edit form.
func quotaFixtureField(id, label, help, value, was string) views.QuotaField {
	return views.QuotaField{ID: id, Name: id, Label: label, Help: help, Value: value, Unit: "A100", Was: was, Optional: true}
}

func quotaEdit() *views.QuotaEdit {
	bar := func(s share) ui.QuotaBar { return quotaCell("x", "Vision", "A100", gpu("A100"), s, 24).Bar }
	return &views.QuotaEdit{
		ID: "vision", Name: "Vision", Kind: "team", ParentName: "Research", Action: "#", PreviewURL: "#", CancelURL: "#", Version: "3",
		Sets: []views.QuotaSet{{Resource: "gpu:A100", Legend: "A100", Distributed: "Research has 22; its teams have guarantees of 22.", Fields: []views.QuotaField{
			quotaFixtureField("limit-a100", "Guaranteed A100", "Always available to the team. Empty: no guarantee.", "16", "was 12"),
			quotaFixtureField("borrow-a100", "May borrow", "Idle A100 of other teams, returned on demand.", "8", ""),
			quotaFixtureField("lend-a100", "Lends at most", "The rest is reserved, even if unused. Empty: no limit.", "6", ""),
		}}},
		Weight:   &views.QuotaField{ID: "weight", Name: "weight", Label: "Weight", Help: "Share of unused capacity relative to siblings.", Value: "2", Unit: "× siblings", Decimal: true},
		Reason:   views.QuotaField{ID: "reason", Name: "reason", Label: "Reason", Help: "Recorded in the audit log.", Value: "Street-scenes release on 1 December"},
		SaveText: "Save for Vision",
		Preview: views.QuotaPreview{
			Lines: []views.QuotaEffect{
				{Text: "2 borrowed A100 of Vision become guaranteed."},
				{Text: "Starts immediately:", LinkText: "train_decoder #7k2f00, 8 A100", LinkURL: "#"},
				{Strong: "No running node is interrupted."},
			},
			Bars: []views.QuotaCompare{
				{Name: "Vision now", Note: "12 guaranteed, 14 in use", Bar: bar(share{14, 12, 20, 0})},
				{Name: "Vision after", Note: "16 guaranteed, 14 in use", Bar: bar(share{14, 16, 24, 0})},
			},
		},
	}
}

func quotasEdit(f views.Page) views.QuotasPage {
	m := quotas(f)
	m.Tree.Rows[2].Editing, m.Edit = true, quotaEdit()
	return m
}

func quotasProblems(f views.Page) views.QuotasPage {
	m := quotasEdit(f)
	m.Title = "Error: Quotas"
	m.Problems = &views.QuotaProblems{Title: "Nothing was saved: 2 values need attention", Links: []ui.Action{
		{Name: "Guaranteed A100: Research can distribute 22; 30 is more.", URL: "#limit-a100"}, {Name: "Confirm that 1 node is interrupted.", URL: "#q-confirm"},
	}}
	m.Edit.Sets[0].Fields[0].Value, m.Edit.Sets[0].Fields[0].Error = "30", "Research can distribute 22; 30 is more."
	m.Edit.Sets[0].Fields[1].Value, m.Edit.Sets[0].Fields[1].Error = "a few", "“a few” is not a whole number."
	m.Edit.Preview = views.QuotaPreview{Lines: []views.QuotaEffect{
		{Strong: "Interrupted:", Text: "1 node of Ranking that borrows 4 A100 goes back to the queue after its checkpoint:", LinkText: "rank.train #6c2100", LinkURL: "#"},
	}}
	m.Edit.Preview.Confirm, m.Edit.Preview.ConfirmError = "Yes, interrupt 1 node. It restarts from its last checkpoint.", "Confirm that 1 node is interrupted."
	return m
}

func quotasConflict(f views.Page) views.QuotasPage {
	m := quotasEdit(f)
	m.Edit.Conflict = &views.QuotaConflict{Who: "Priya Raman", When: "20 s ago", Rows: []views.QuotaConflictRow{
		{Name: "Guaranteed A100", Before: "12", Theirs: "14", Yours: "16"}, {Name: "Weight", Before: "2", Theirs: "3", Yours: "2"},
	}}
	return m
}

// quotasNoLimits is a new installation: one tenant without limits.
func quotasNoLimits(f views.Page) views.QuotasPage {
	m := quotas(f)
	cores := ui.Unit{Word: "CPU cores", Short: "cores", Divisor: 1000}
	m.Live = views.QuotaLive{Figures: []views.QuotaFigure{{Name: "CPU in use", Value: "0.5", Note: "of 2 cores"}, {Name: "Waiting", Value: "0", Note: "nodes"}}}
	m.Tree.Columns = []views.QuotaColumn{{Name: "CPU", Note: "cores"}}
	m.Tree.Rows = nil
	for i, name := range []string{"This installation", "local", "local team", "local project"} {
		r := quotaRow(fmt.Sprint("n", i), name, []string{"installation", "tenant", "team", "project"}[i], i, "1.0", "0", share{}, share{})
		s := share{500, -1, 2000, 0}
		if i == 0 {
			s = share{500, 2000, 2000, 0}
		}
		r.Cells = []views.QuotaBarCell{quotaCell(r.ID, name, "CPU", cores, s, 2000)}
		m.Tree.Rows = append(m.Tree.Rows, r)
	}
	m.Changes, m.History = nil, views.QuotaHistory{Title: "History", Empty: "Usage is recorded once a minute. The chart begins with the first sample.", Action: "#"}
	m.Groups = []ui.Choice{{Name: "CPU, memory, pods", URL: "#", Current: true}, {Name: "Executions, storage", URL: "#"}}
	m.Only.Count = ""
	return m
}

// quotasLarge is the first part of 60 teams with names of every length and three of six GPU types.
func quotasLarge(f views.Page) views.QuotasPage {
	m := quotas(f)
	m.Groups = []ui.Choice{{Name: "A100, H100, H200", URL: "#", Current: true}, {Name: "L4, MI300X, T4", URL: "#"}, {Name: "CPU, memory, pods", URL: "#"}, {Name: "Executions, storage", URL: "#"}}
	m.Tree.Columns = []views.QuotaColumn{{Name: "A100"}, {Name: "H100"}, {Name: "H200"}}
	m.Tree.Rows, m.Tree.More, m.Tree.After = nil, "Rows 1 to 40 of 60; 72 projects are collapsed.", "#"
	for i := range 40 {
		name := fmt.Sprintf("Team %d", i+1)
		if i == 7 {
			name = "Large-scale multilingual speech representation and robustness evaluation group (Zürich)"
		}
		id := fmt.Sprint("t", i)
		r := quotaRow(id, name, "team", 1+i%4, "1.0", "0", share{}, share{})
		r.Cells = nil
		for k, c := range m.Tree.Columns {
			s := share{int64((i*7 + k*3) % 20), int64(4 + (i+k)%12), int64(12 + (i+k)%12), int64(i % 3)}
			r.Cells = append(r.Cells, quotaCell(id, name, c.Name, gpu(c.Name), s, 48))
		}
		m.Tree.Rows = append(m.Tree.Rows, r)
	}
	return m
}
