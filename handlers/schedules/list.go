package schedules

import (
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
	stripLength    = 10
)

// list lists the schedules of the project, or those of one workflow.
func (h *Pages) list(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	list, next, err := h.Schedules.List(r.Context(), schedule.Filter{Workflow: q.Get("workflow"), After: q.Get("after"), Limit: schedulesShown, Recent: stripLength})
	if err != nil {
		return err
	}
	m := views.Schedules{
		Page: h.Page.Base(r, "Schedules", views.SectionSchedules), Workflow: q.Get("workflow"),
		Pager: ui.Pager{Text: units.Plural(len(list), "schedule", "schedules"), InOrder: true},
	}
	for _, sc := range list {
		if m.Workflow != "" {
			m.Workflow = sc.Workflow // the address can have its ID
		}
		row := rowOf(sc)
		row.MayChange = h.Schedules.MayChange(r.Context(), sc)
		m.Rows = append(m.Rows, row)
	}
	if next != "" {
		m.Pager.Older = label.ListURL(views.SchedulesURL(nil), q, "after", next)
	}
	if q.Get("after") != "" {
		m.Pager.Newer = label.ListURL(views.SchedulesURL(nil), q, "after", "")
	}
	return web.Render(w, r, http.StatusOK, views.SchedulesPage(m))
}

// localTime and utcTime are the layouts of fires in the zone of the schedule and in UTC.
const (
	localTime = "Mon 2 Jan 2006, 15:04:05 MST"
	utcTime   = "2 Jan 15:04:05 UTC"
)

// short leaves out the seconds of a full minute.
func short(t time.Time, layout string) string {
	if t.Second() == 0 {
		layout = strings.Replace(layout, ":05", "", 1)
	}
	return t.Format(layout)
}

func rowOf(sc schedule.Schedule) views.ScheduleRow {
	id := sc.ID.String()
	row := views.ScheduleRow{
		ID: id, Name: sc.Name, URL: views.ScheduleURL(id), Workflow: sc.Workflow, Version: "latest version", Zone: sc.Timezone, Paused: sc.Paused,
		Message: sc.Message, Owner: sc.Owner.Name, Strip: stripOf(sc.Recent),
	}
	if sc.Version != "" {
		row.Version = sc.Version
	}
	zone := zoneOf(sc)
	row.When, row.Expression = whenOf(sc, zone)
	if sc.NextAt != nil {
		row.Next = short(sc.NextAt.In(zone), localTime)
		if sc.Timezone != "UTC" {
			row.NextUTC = short(sc.NextAt.UTC(), utcTime)
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

// whenOf specifies when a schedule fires. The expressions are "" where the words contain them.
func whenOf(sc schedule.Schedule, zone *time.Location) (words, expressions string) {
	if sc.At != nil {
		return "Once, " + short(sc.At.In(zone), localTime), ""
	}
	written := strings.Join(sc.Expressions, ", ")
	var said []string
	for _, text := range sc.Expressions {
		e, err := cron.Parse(text)
		if err != nil || e.Words() == "" {
			return written, ""
		}
		said = append(said, e.Words())
	}
	if len(said) == 1 && strings.HasPrefix(written, "@every") {
		return said[0], ""
	}
	return strings.Join(said, "; "), written
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
		bar := views.ScheduleBar{State: state, X: strconv.Itoa(x), Y: "3", Height: "17"}
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
