package schedules

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/schedule/cron"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	schedulesShown = 50
	stripLength    = 20
)

// list lists the schedules of the project, or those of one workflow.
func (h *Pages) list(w http.ResponseWriter, r *http.Request) error {
	return h.showList(w, r, http.StatusOK, "")
}

// showList shows the list, with the reason if a command was refused.
func (h *Pages) showList(w http.ResponseWriter, r *http.Request, status int, refused string) error {
	q := r.URL.Query()
	f := schedule.Search{Text: q.Get("q"), Workflow: q.Get("workflow"), After: q.Get("after"), Limit: schedulesShown, Recent: stripLength}
	state := q.Get("state")
	switch state {
	case "on":
		f.Paused = new(false)
	case "paused":
		f.Paused = new(true)
	}
	found, err := h.Schedules.Reader().Search(r.Context(), f)
	if err != nil {
		return err
	}
	m := views.Schedules{
		Page: h.Page.Base(r, "Schedules", views.SectionSchedules), Workflow: q.Get("workflow"), Query: f.Text, NewURL: views.NewScheduleURL(), Back: r.URL.RawQuery, Failed: refused,
		States:   []ui.Option{{Name: "All states", Selected: f.Paused == nil}, {Value: "on", Name: "On", Selected: state == "on"}, {Value: "paused", Name: "Paused", Selected: state == "paused"}},
		Filtered: f.Text != "" || f.Paused != nil || f.Workflow != "", Total: found.Total,
		Pager: ui.Pager{Text: units.Plural(len(found.Schedules), "schedule", "schedules"), InOrder: true},
	}
	if found.Total > 0 {
		m.Facts = h.listFacts(r, found)
	}
	for _, sc := range found.Schedules {
		if m.Workflow != "" {
			m.Workflow = sc.Workflow // the address can have its ID
			m.NewURL = views.ScheduleWorkflowURL(workflowRef(r.Context(), sc))
		}
		row := rowOf(sc)
		row.Late, row.Latest = lateness(sc)
		if sc.NextAt != nil && !sc.Paused {
			row.In = in(sc.NextAt.Sub(h.Now()))
		}
		row.MayChange = h.Schedules.MayChange(r.Context(), sc)
		m.Changeable = m.Changeable || row.MayChange
		m.Rows = append(m.Rows, row)
	}
	if m.Workflow != "" && len(m.Rows) == 0 {
		m.NewURL = views.ScheduleWorkflowURL(m.Workflow)
	}
	if found.Next != "" {
		m.Pager.Older = label.ListURL(views.SchedulesURL(nil), q, "after", found.Next)
	}
	if q.Get("after") != "" {
		m.Pager.Newer = label.ListURL(views.SchedulesURL(nil), q, "after", "")
	}
	return web.Render(w, r, status, views.SchedulesPage(m))
}

func (h *Pages) listFacts(r *http.Request, found schedule.Found) []ui.Fact {
	facts := []ui.Fact{{Name: "On", Value: strconv.Itoa(found.Active), Note: "of " + strconv.Itoa(found.Total)}}
	if found.NextAt != nil {
		zone := cmp.Or(h.Page.Clock(r).Zone, time.UTC)
		facts = append(facts, ui.Fact{Name: "Next run", Value: in(found.NextAt.Sub(h.Now())), Note: label.Fire(found.NextAt.In(zone))})
	}
	return facts
}

// in describes how far away a run is.
func in(d time.Duration) string {
	if d < time.Second {
		return "now"
	}
	return "in " + units.Duration(d.Round(time.Second))
}

// late is the lateness from which a run is marked.
const late = 10 * time.Second

// lateness returns the median and the largest lateness of the recent runs. marked reports
// whether the largest is late.
func lateness(sc schedule.Schedule) (median, largest views.ScheduleLateness) {
	var list []time.Duration
	for _, o := range sc.Recent {
		if d, ok := sc.Lateness(o); ok {
			list = append(list, d)
		}
	}
	if len(list) == 0 {
		return median, largest
	}
	slices.Sort(list)
	show := func(d time.Duration) views.ScheduleLateness {
		return views.ScheduleLateness{Text: units.Duration(d.Round(10 * time.Millisecond)), Late: d >= late}
	}
	return show(list[len(list)/2]), show(list[len(list)-1])
}

func rowOf(sc schedule.Schedule) views.ScheduleRow {
	id := sc.ID.String()
	row := views.ScheduleRow{
		ID: id, Name: sc.Name, URL: views.ScheduleURL(id), Workflow: sc.Workflow, Version: "latest", Zone: sc.Timezone, Paused: sc.Paused,
		Message: sc.Message, Problem: sc.Problem, Owner: sc.Owner.Name, Strip: stripOf(sc.Recent), Declared: sc.Declared,
	}
	if sc.Version != "" {
		row.Version = sc.Version
	}
	zone := zoneOf(sc)
	row.When, row.Expression = whenOf(sc, zone)
	if sc.BusinessDays {
		row.When += " on business days"
	}
	if sc.Calendar != "" {
		row.When += ", calendar " + sc.Calendar
	}
	if sc.NextAt != nil {
		row.Next = label.Fire(sc.NextAt.In(zone))
		if sc.Timezone != "UTC" {
			row.NextUTC = label.FireUTC(*sc.NextAt)
		}
	}
	return row
}

// zoneOf is the time zone of a schedule: UTC for one that this server no longer knows.
func zoneOf(sc schedule.Schedule) *time.Location {
	if zone, err := time.LoadLocation(sc.Timezone); err == nil {
		return zone
	}
	return time.UTC
}

// whenOf specifies when a schedule runs. The expressions are "" where the words contain them.
func whenOf(sc schedule.Schedule, zone *time.Location) (words, expressions string) {
	if sc.At != nil {
		return "Once, " + label.Fire(sc.At.In(zone)), ""
	}
	written := strings.Join(sc.Expressions, ", ")
	var descriptions []string
	for _, text := range sc.Expressions {
		e, err := cron.Parse(text)
		if err != nil || e.Words() == "" {
			return written, ""
		}
		descriptions = append(descriptions, e.Words())
	}
	if len(descriptions) == 1 && strings.HasPrefix(written, "@every") {
		return descriptions[0], ""
	}
	return strings.Join(descriptions, "; "), written
}

// stripOf draws occurrences, which are newest first.
func stripOf(recent []schedule.Occurrence) views.ScheduleStrip {
	if len(recent) == 0 {
		return views.ScheduleStrip{}
	}
	var s views.ScheduleStrip
	counts := map[string]int{}
	for i, o := range slices.Backward(recent) {
		state, word := stateOf(o)
		x := 8 * (len(recent) - 1 - i)
		bar := views.ScheduleBar{State: state, X: strconv.Itoa(x), Y: "3", Height: "17", Title: word + ", " + label.FireUTC(o.FireAt)}
		if o.ExecutionID != nil {
			bar.URL = views.ExecutionURL(o.ExecutionID.String())
		}
		switch state {
		case "FAILED":
			bar.Cut = "M" + strconv.Itoa(x-1) + " 15l8-7"
		case "RUNNING", "QUEUED", "PENDING":
			bar.Y, bar.Height = "10", "10"
		}
		s.Bars = append(s.Bars, bar)
		counts[strings.ToLower(word)]++
	}
	var parts []string
	for word, n := range counts {
		parts = append(parts, strconv.Itoa(n)+" "+word)
	}
	slices.Sort(parts)
	s.Label = "Last " + strconv.Itoa(len(recent)) + ": " + strings.Join(parts, ", ")
	return s
}

// stateOf is an occurrence for readers: the icon of a state, and its word.
func stateOf(o schedule.Occurrence) (state, word string) {
	switch o.State {
	case schedule.Launched:
		if o.Status == "" {
			return "SUCCEEDED", "Launched" // the execution was deleted
		}
		return o.Status, ui.Word(o.Status)
	case schedule.Queued:
		return "QUEUED", "Queued"
	case schedule.Refused:
		return "FAILED", "Refused"
	case schedule.Skipped:
	}
	return "SKIPPED", "Skipped"
}
