package quotas

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

const usersShown = 6

// teamHours is the GPU usage of this week by day, user and workflow. A user who may read only
// one project of the team sees the hours of that project.
func (h *Pages) teamHours(ctx context.Context, clock ui.Clock, t quota.Team) (views.TeamHours, error) {
	begin := monday(clock)
	v := views.TeamHours{Title: "GPU-hours", Period: "since " + begin.Format("Monday 2 January")}
	place := t.Node.ID
	if !t.Whole {
		subject, _ := auth.SubjectOf(ctx)
		place = subject.ProjectID
		v.Period += ", your project"
	}
	week, err := h.Executions.Usage.At(ctx, place, begin)
	if err != nil {
		return v, err
	}
	hours := func(u query.Hours) float64 { return u.GPU }
	noun := "GPU-hours"
	if week.Total.GPU == 0 { // without GPUs, CPU hours are shown
		hours, noun = func(u query.Hours) float64 { return u.CPU }, "CPU-hours"
	}
	if hours(week.Total) == 0 {
		v.Empty = "No node of the team has run this week."
		return v, nil
	}
	v.Title, v.Total = noun, hoursText(hours(week.Total))
	if noun == "GPU-hours" {
		v.Note = hoursText(week.Total.CPU) + " CPU-hours in addition"
	} else {
		v.Note = "no GPU was used"
	}
	if v.Days, err = h.teamDays(ctx, clock, place, hours); err != nil {
		return v, err
	}
	v.DaysLabel = fmt.Sprintf("%s per day this week, %s in all", noun, v.Total)
	v.People = usageLines(week.ByPerson, hours, nil)
	v.Workflows = usageLines(week.ByWorkflow, hours, views.WorkflowURL)
	return v, nil
}

// monday is the start of the reader's week.
func monday(clock ui.Clock) time.Time {
	zone := clock.Zone
	if zone == nil {
		zone = time.UTC
	}
	now := clock.Now.In(zone)
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, zone)
	return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
}

// teamDays is the usage of each day of the week: the usage since its start minus the usage
// since the start of the next day.
func (h *Pages) teamDays(ctx context.Context, clock ui.Clock, place uuid.UUID, hours func(query.Hours) float64) ([]views.TeamDay, error) {
	begin := monday(clock)
	since := make([]float64, 8)
	for i := range since[:7] {
		day := begin.AddDate(0, 0, i)
		if day.After(clock.Now) {
			break
		}
		used, err := h.Executions.Usage.At(ctx, place, day)
		if err != nil {
			return nil, err
		}
		since[i] = hours(used.Total)
	}
	values := make([]float64, 7)
	for i := range values {
		values[i] = max(since[i]-since[i+1], 0)
	}
	days := make([]views.TeamDay, 7)
	for i, c := range chart.Columns(values, 70, 8) {
		day := begin.AddDate(0, 0, i)
		days[i] = views.TeamDay{X: c.X, Y: c.Y, W: c.W, H: c.H, LabelX: c.MidX, Label: day.Format("Mon"), Title: day.Format("Monday 2 January") + ": " + hoursText(values[i]) + " h"}
	}
	return days, nil
}

// usageLines are the largest users, with bars relative to the first, and one line for the rest.
func usageLines(lines []query.UsageLine, hours func(query.Hours) float64, url func(string) string) []views.TeamUse {
	if len(lines) == 0 {
		return nil
	}
	slices.SortStableFunc(lines, func(a, b query.UsageLine) int { return cmp.Compare(hours(b.Hours), hours(a.Hours)) })
	most := max(hours(lines[0].Hours), 1e-9)
	var uses []views.TeamUse
	rest := 0.0
	for i, l := range lines {
		used := hours(l.Hours)
		if i >= usersShown {
			rest += used
			continue
		}
		use := views.TeamUse{Name: l.Name, Hours: hoursText(used) + " h", Width: chart.Fixed(used/most*100, 1) + "%"}
		if use.Name == "" {
			use.Name = "Deleted user"
		}
		if url != nil {
			use.URL = url(l.Name)
		}
		uses = append(uses, use)
	}
	if rest > 0 {
		uses = append(uses, views.TeamUse{Name: units.Plural(len(lines)-usersShown, "other", "others"), Hours: hoursText(rest) + " h", Width: chart.Fixed(min(rest/most, 1)*100, 1) + "%"})
	}
	return uses
}

// hoursText formats hours with a suitable precision.
func hoursText(h float64) string {
	switch {
	case h >= 10:
		return units.Number(int64(h + 0.5))
	case h >= 0.095:
		return strconv.FormatFloat(h, 'f', 1, 64)
	case h > 0 && h < 0.0005:
		return "< 0.001"
	default:
		return strconv.FormatFloat(h, 'f', 3, 64)
	}
}
