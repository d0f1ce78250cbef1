package gallery

import (
	"fmt"
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

func quotaEntries() []Entry {
	return []Entry{
		{"quotas", "Quotas", func(f views.Page) templ.Component { return views.QuotasView(quotas(f)) }},
		{"quotas-edit", "Quotas: edit in place", func(f views.Page) templ.Component { return views.QuotasView(quotasEdit(f)) }},
		{"quotas-problems", "Quotas: values that cannot be saved", func(f views.Page) templ.Component { return views.QuotasView(quotasProblems(f)) }},
		{"quotas-conflict", "Quotas: conflicting changes", func(f views.Page) templ.Component { return views.QuotasView(quotasConflict(f)) }},
		{"quotas-new", "Quotas: no limits", func(f views.Page) templ.Component { return views.QuotasView(quotasNoLimits(f)) }},
		{"quotas-large", "Quotas: 60 teams", func(f views.Page) templ.Component { return views.QuotasView(quotasLarge(f)) }},
		{"team", "Team", func(f views.Page) templ.Component { return views.TeamView(team(f)) }},
		{"team-quiet", "Team: idle", func(f views.Page) templ.Component { return views.TeamView(teamQuiet(f)) }},
	}
}

func teamLimits() []views.TeamLimit {
	one := func(name string, unit ui.Unit, s share, most string) views.TeamLimit {
		return views.TeamLimit{Name: name, Bar: quotaCell("t", "Vision", name, unit, s, s[2]).Bar, Most: most}
	}
	limits := []views.TeamLimit{
		one("A100", gpu("A100"), share{14, 12, 20, 0}, "20"), one("H100", gpu("H100"), share{4, 6, 8, 0}, "8"),
		one("CPU", ui.Unit{Word: "CPU cores", Divisor: 1000}, share{410_000, 512_000, 640_000, 0}, "640 cores"),
		one("Memory", ui.Unit{Word: "GiB of memory", Divisor: 1024}, share{2650 << 10, 3072 << 10, 4096 << 10, 0}, "4,096 GiB"),
		one("Executions", ui.Unit{Word: "executions"}, share{14, 30, 30, 0}, "30"),
		one("Storage", ui.Unit{Word: "GiB of storage", Divisor: 1024}, share{91 << 10, -1, 500 << 10, 0}, "500 GiB"),
	}
	limits[5].Note = "limit of Research"
	return limits
}

func team(f views.Page) views.TeamPage {
	waits := func(position int, node, sub, requests, waits, starts, why string) views.TeamWaiting {
		return views.TeamWaiting{Position: fmt.Sprint(position), Node: node, URL: "#", Sub: sub, Requests: requests, Waits: waits, Starts: starts, Why: why}
	}
	m := views.TeamPage{
		Page: frame(f, "Vision", views.SectionTeam, views.Crumb{Name: "Meridian", URL: "#"}, views.Crumb{Name: "Research", URL: "#"}),
		Name: "Vision", Kind: "team", Edit: "#",
		Live: views.TeamLive{
			Now: views.TeamNow{Can: "2 H100", Full: "A100"}, Limits: teamLimits(),
			Queue: views.TeamQueue{Count: "3", URL: "#", Rows: []views.TeamWaiting{
				waits(1, "train_decoder", "#7k2f00 street-scenes", "8 A100", "4 min", "≈ 14:38", "Waiting for 4 A100"),
				waits(2, "trial 4 of 12", "#7k3100 digits", "4 A100", "1 min", "14:52 to 15:10", "After train_decoder: same team, later request"),
				waits(3, "trial 5 of 12", "#7k3100 digits", "4 A100", "1 min", "unknown", "Behind Ranking in fair share"),
			}},
			Share: views.TeamShare{
				Strong: "0.83:", Text: "slightly below your share, so you are ahead of Ranking (1.21).",
				Inputs: []ui.Fact{{Name: "Current use", Value: "35 %", Note: "of the A100 of Research"}, {Name: "Weight", Value: "2"}, {Name: "History", Value: "29 %", Note: "past usage, half-life 7 days"}},
				Order:  []views.TeamRank{{Name: "Search quality", Share: "0.00"}, {Name: "Vision", Share: "0.83", Own: true}, {Name: "Ranking", Share: "1.21"}},
			},
		},
		Hours: teamHours(),
	}
	m.Live.Queue.Rows[0].Holders = []views.TeamHolder{{Name: "rank.train #6c2100", URL: "#", Note: "of Ranking uses 4, borrowed"}}
	return m
}

func teamHours() views.TeamHours {
	h := views.TeamHours{Title: "GPU-hours", Period: "since Monday 16 November", Total: "559", Note: "A100 412 · H100 147", DaysLabel: "GPU-hours per day this week, from 74 to 168, 559 in all"}
	values := []float64{120, 168, 74, 96, 101, 0, 0}
	for i, b := range chart.Columns(values, 70, 8) {
		h.Days = append(h.Days, views.TeamDay{X: b.X, Y: b.Y, W: b.W, H: b.H, LabelX: b.MidX, Label: time.Weekday((i + 1) % 7).String()[:3], Title: ui.Float(values[i]) + " h"})
	}
	for i, name := range []string{"Mei Tanaka", "Amara Okafor", "Jonas Lindqvist", "nightly (service account)"} {
		h.People = append(h.People, views.TeamUse{Name: name, Hours: fmt.Sprintf("%d h", 241-i*66), Width: fmt.Sprintf("%d%%", 100-i*27)})
	}
	for i, name := range []string{"street.segment", "digits.train"} {
		h.Workflows = append(h.Workflows, views.TeamUse{Name: name, URL: "#", Hours: fmt.Sprintf("%d h", 401-i*243), Width: fmt.Sprintf("%d%%", 100-i*60)})
	}
	return h
}

func teamQuiet(f views.Page) views.TeamPage {
	m := team(f)
	m.Edit, m.Live.Queue, m.Live.Now = "", views.TeamQueue{URL: "#"}, views.TeamNow{Can: "12 A100 and 6 H100"}
	m.Live.Share = views.TeamShare{Empty: "No other team shares this cluster."}
	m.Hours = views.TeamHours{Title: "GPU-hours", Period: "since Monday 16 November", Empty: "GPU-hours are counted when a node ends."}
	return m
}
