package backfills

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/flowforge/flowforge/engine/backfill"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// attentionShown is how many failed times a page lists.
const attentionShown = 50

// live is the part of the page that follows the executions.
func (h *Pages) live(ctx context.Context, b backfill.Backfill) (views.BackfillLive, error) {
	slots, _, err := h.Backfills.Slots(ctx, b.ID, nil, backfill.MaxSlots)
	if err != nil {
		return views.BackfillLive{}, err
	}
	m := views.BackfillLive{
		ID: b.ID.String(), Title: "Backfill of " + b.ScheduleName, Message: b.Message, Running: b.Status == backfill.Running, Paused: b.Status == backfill.Paused,
		MayChange: !b.Status.Ended() && h.Backfills.MayChange(ctx, b), Segments: segments(b.Counts),
		Progress: rangeOf(b) + ": " + units.Number(int64(b.Counts.Done())) + " of " + units.Plural(b.Counts.Total, "time", "times") + " done.",
	}
	m.State, m.Word = statusOf(b)
	zone, failed := zoneOf(b.Timezone), 0
	var cells []cell
	for _, s := range slots {
		c := cellOf(s, zone)
		cells = append(cells, c)
		if c.state != "FAILED" {
			continue
		}
		if failed++; failed > attentionShown {
			continue
		}
		a := views.BackfillAttention{At: c.at.Format("Mon 2 Jan 2006, 15:04"), State: c.state, Word: c.word, Why: s.Message, URL: c.url}
		if s.Failure != "" {
			a.Why = s.Failure
		}
		if s.ExecutionID != nil {
			a.Execution = label.ShortID(*s.ExecutionID)
		}
		m.Attention = append(m.Attention, a)
	}
	if failed > attentionShown {
		m.MoreAttention = units.Plural(failed-attentionShown, "more time", "more times") + " failed. To list all of them, run flowforge backfill show " + b.ID.String() + "."
	}
	m.Months = calendars(cells)
	return m, nil
}

// segments are the parts of the progress bar.
func segments(c backfill.Counts) []views.BackfillSegment {
	var out []views.BackfillSegment
	x := 0
	for _, p := range []struct {
		state, word string
		n           int
	}{
		{"SUCCEEDED", "succeeded", c.Succeeded}, {"RUNNING", "running", c.Running}, {"FAILED", "failed", c.Failed}, {"FAILED", "refused", c.Refused},
		{"CANCELLED", "cancelled", c.Cancelled}, {"SKIPPED", "kept", c.Kept}, {"PENDING", "pending", c.Pending},
	} {
		if p.n == 0 {
			continue
		}
		width := 1000 * p.n / max(c.Total, 1)
		out = append(out, views.BackfillSegment{State: p.state, Text: units.Number(int64(p.n)) + " " + p.word, X: strconv.Itoa(x), Width: strconv.Itoa(width)})
		x += width
	}
	return out
}

// cell is a time on a calendar.
type cell struct {
	at          time.Time
	state, word string
	url         string
}

func cellOf(s backfill.Slot, zone *time.Location) cell {
	c := cell{at: s.Fire.In(zone)}
	if s.ExecutionID != nil {
		c.url = views.ExecutionURL(s.ExecutionID.String())
	}
	switch s.State {
	case backfill.SlotPending:
		c.state, c.word = "PENDING", "Pending"
	case backfill.SlotKept:
		c.state, c.word = "SKIPPED", "Kept"
		if s.ExecutionID == nil {
			c.word = "Left to the schedule"
		}
	case backfill.SlotRefused:
		c.state, c.word = "FAILED", "Refused"
	case backfill.SlotCancelled:
		c.state, c.word = "CANCELLED", "Cancelled"
	case backfill.SlotLaunched:
		if c.state = s.Status; c.state == "" { // it was deleted after its end
			c.state, c.url = "SUCCEEDED", ""
		}
		c.word = ui.Word(c.state)
	}
	return c
}

// weight orders states: the first of several times on a day that needs to be seen.
func weight(state string) int {
	return slices.Index([]string{"FAILED", "RUNNING", "PAUSED", "PENDING", "RETRYING", "CANCELLED", "SUCCEEDED", "SKIPPED"}, state)
}

// sparse is the average number of times in a month below which years list only the days with times.
const sparse = 5

// calendars draws times, oldest first: on months, or on years if the months were mostly empty.
func calendars(cells []cell) []views.BackfillMonth {
	all := months(cells)
	if len(all) < 3 || len(cells) >= sparse*len(all) {
		return all
	}
	var years []views.BackfillMonth
	for _, c := range cells {
		name := c.at.Format("2006")
		if len(years) == 0 || years[len(years)-1].Name != name {
			years = append(years, views.BackfillMonth{Name: name, Sparse: true})
		}
		year := &years[len(years)-1]
		year.Days = append(year.Days, views.BackfillCell{Number: c.at.Format("2 Jan"), State: c.state, URL: c.url, Label: c.at.Format("2 January 15:04") + ": " + c.word})
	}
	return years
}

// months draws times, oldest first, on calendars.
func months(cells []cell) []views.BackfillMonth {
	var out []views.BackfillMonth
	var day time.Time
	times := 0
	for _, c := range cells {
		at := time.Date(c.at.Year(), c.at.Month(), c.at.Day(), 0, 0, 0, 0, c.at.Location())
		if len(out) == 0 || at.Year() != day.Year() || at.Month() != day.Month() {
			out = append(out, blank(at))
			times = 0
		}
		month := &out[len(out)-1]
		if !at.Equal(day) {
			times = 0
		}
		day, times = at, times+1
		d := &month.Days[at.Day()-1]
		if times == 1 {
			d.State, d.URL = c.state, c.url
			d.Label = c.at.Format("2 January 15:04") + ": " + c.word
			continue
		}
		if d.Count, d.URL = strconv.Itoa(times), ""; weight(c.state) < weight(d.State) {
			d.State = c.state
		}
		d.Label = at.Format("2 January") + ": " + strconv.Itoa(times) + " times"
	}
	return out
}

// blank is the month of a day without times.
func blank(day time.Time) views.BackfillMonth {
	first := time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, day.Location())
	m := views.BackfillMonth{Name: first.Format("January 2006"), Blank: (int(first.Weekday()) + 6) % 7}
	for d := first; d.Month() == first.Month(); d = d.AddDate(0, 0, 1) {
		m.Days = append(m.Days, views.BackfillCell{Number: strconv.Itoa(d.Day()), Label: d.Format("2 January") + ": no times"})
	}
	return m
}
