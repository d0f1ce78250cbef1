package schedules

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// calendar shows a month of all schedules of the project, and the runs of one day.
func (h *Pages) calendar(w http.ResponseWriter, r *http.Request) error {
	clock := h.Page.Clock(r)
	zone := clock.Zone
	if zone == nil {
		zone = time.UTC
	}
	now := h.Now().In(zone)
	day := midnight(now)
	if text := r.URL.Query().Get("day"); text != "" {
		at, err := time.ParseInLocation(time.DateOnly, text, zone)
		if err != nil || at.Year() < 1970 || at.Year() > 2199 {
			return apperr.New(apperr.Invalid, "%q is not a day. Use one such as 2026-11-24.", text)
		}
		day = at
	}
	first := time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, zone)
	from := first.AddDate(0, 0, -(int(first.Weekday())+6)%7)
	until := first.AddDate(0, 1, 0)
	until = until.AddDate(0, 0, (8-int(until.Weekday()))%7)
	found, err := h.Schedules.Reader().Month(r.Context(), from, until)
	if err != nil {
		return err
	}
	m := views.ScheduleCalendar{
		Page:  h.Page.Base(r, "Calendar", views.SectionSchedules, views.Crumb{Name: "Schedules", URL: views.SchedulesURL(nil)}),
		Month: first.Format("January 2006"), Zone: zone.String(), Earlier: calendarURL(first.AddDate(0, -1, 0)), Later: calendarURL(first.AddDate(0, 1, 0)),
		Today: views.ScheduleCalendarURL(nil), Title: day.Format("Monday 2 January"),
	}
	busiest := 1
	for _, d := range found.Days {
		for _, n := range d.Hours {
			busiest = max(busiest, n)
		}
	}
	for _, d := range found.Days {
		m.Days = append(m.Days, calendarDay(d, day, midnight(now), first.Month(), busiest))
		if d.Day.Equal(day) {
			m.Load, m.LoadLabel = loadOf(d, busiest)
		}
	}
	for _, sc := range found.Frequent {
		m.Frequent = append(m.Frequent, views.ScheduleLink{Name: sc.Name, URL: views.ScheduleURL(sc.ID.String()), Note: rowOf(sc).When})
	}
	fires, all, err := h.Schedules.Reader().Day(r.Context(), day)
	if err != nil {
		return err
	}
	m.MoreFires = !all
	m.Fires = calendarFires(fires, zone)
	return web.Render(w, r, http.StatusOK, views.ScheduleCalendarPage(m))
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

func calendarURL(day time.Time) string {
	return views.ScheduleCalendarURL(url.Values{"day": {day.Format(time.DateOnly)}})
}

func calendarDay(d schedule.MonthDay, chosen, today time.Time, month time.Month, busiest int) views.CalendarDay {
	out := views.CalendarDay{
		Number: strconv.Itoa(d.Day.Day()), URL: calendarURL(d.Day), Chosen: d.Day.Equal(chosen), Today: d.Day.Equal(today), Other: d.Day.Month() != month,
	}
	total := d.Past + d.Upcoming
	out.Label = d.Day.Format("Monday 2 January") + ": " + units.Plural(total, "run", "runs")
	if total > 0 {
		out.Fires = units.Number(int64(total))
		out.Bars, _ = loadOf(d, busiest)
	}
	if d.Failed > 0 {
		out.Failed = strconv.Itoa(d.Failed)
		out.Label += ", " + out.Failed + " failed"
	}
	return out
}

// loadHeight is the height of a strip of a day.
const loadHeight = 24

// loadOf draws the runs of each hour of a day.
func loadOf(d schedule.MonthDay, busiest int) (bars []views.CalendarBar, text string) {
	most, at := 0, 0
	for hour, n := range d.Hours {
		if n > most {
			most, at = n, hour
		}
		if n == 0 {
			continue
		}
		height := max(2, loadHeight*n/busiest)
		past := height * d.Decided[hour] / n // at the bottom
		for _, part := range []struct {
			y, height int
			past      bool
		}{{loadHeight - past, past, true}, {loadHeight - height, height - past, false}} {
			if part.height > 0 {
				bars = append(bars, views.CalendarBar{
					X: strconv.Itoa(4 * hour), Y: strconv.Itoa(part.y), Height: strconv.Itoa(part.height), Past: part.past,
					Title: fmt.Sprintf("%02d:00: %s", hour, units.Plural(n, "run", "runs")),
				})
			}
		}
	}
	if most == 0 {
		return nil, "No runs"
	}
	return bars, fmt.Sprintf("Runs per hour; peak %d at %02d:00", most, at)
}

// mostPlanned is how many planned runs of one schedule a day lists. More are one line.
const mostPlanned = 24

// calendarFires are the lines of a day.
func calendarFires(fires []schedule.MonthFire, zone *time.Location) (out []views.CalendarFire) {
	planned := map[uuid.UUID][]schedule.MonthFire{}
	for _, f := range fires {
		if f.Occurrence == nil {
			planned[f.ScheduleID] = append(planned[f.ScheduleID], f)
		}
	}
	for _, f := range fires {
		all := planned[f.ScheduleID]
		line := calendarFire(f, zone)
		if f.Occurrence == nil && len(all) > mostPlanned {
			if !f.At.Equal(all[0].At) {
				continue
			}
			line.Note = units.Number(int64(len(all))) + " runs until " + calendarFire(all[len(all)-1], zone).At
		}
		out = append(out, line)
	}
	return out
}

func calendarFire(f schedule.MonthFire, zone *time.Location) views.CalendarFire {
	out := views.CalendarFire{At: f.At.In(zone).Format("15:04"), Schedule: f.Schedule, URL: views.ScheduleURL(f.ScheduleID.String()), Word: "Planned", State: "PENDING"}
	if f.At.Second() != 0 {
		out.At = f.At.In(zone).Format("15:04:05")
	}
	if f.Occurrence == nil {
		return out
	}
	out.State, out.Word = stateOf(*f.Occurrence)
	if f.Occurrence.Fires > 1 {
		out.Note = units.Number(f.Occurrence.Fires) + " runs"
	}
	if id := f.Occurrence.ExecutionID; id != nil {
		out.Execution, out.ExecutionURL = label.ShortID(*id), views.ExecutionURL(id.String())
	}
	return out
}
