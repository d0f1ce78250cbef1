package schedules

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/schedule/cron"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	firesShown       = 10
	occurrencesShown = 50
)

// schedule shows a schedule.
func (h *Pages) schedule(w http.ResponseWriter, r *http.Request) error {
	id, err := scheduleID(r)
	if err != nil {
		return err
	}
	return h.render(w, r, http.StatusOK, id, nil)
}

// render shows a schedule, with why a command was refused.
func (h *Pages) render(w http.ResponseWriter, r *http.Request, status int, id uuid.UUID, refused error) error {
	ctx, clock := r.Context(), h.Page.Clock(r)
	sc, err := h.Schedules.Get(ctx, id)
	if err != nil {
		return err
	}
	fires, err := h.Schedules.Fires(ctx, id, firesShown)
	if err != nil {
		return err
	}
	var before *time.Time
	if text := r.URL.Query().Get("before"); text != "" {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return apperr.New(apperr.Invalid, "%q is not a time.", text)
		}
		before = &at
	}
	list, next, err := h.Schedules.Occurrences(ctx, id, before, occurrencesShown)
	if err != nil {
		return err
	}
	m := views.Schedule{
		Page: h.Page.Base(r, sc.Name, views.SectionSchedules, views.Crumb{Name: "Schedules", URL: views.SchedulesURL(nil)}),
		Row:  rowOf(sc), WorkflowURL: views.WorkflowURL(workflowRef(ctx, sc)), Facts: facts(clock, sc), Inputs: label.Indented(sc.Inputs), Fires: firesOf(fires),
		MissedChoice: sc.Paused && sc.Misfire != schedule.MisfireSkip, Pager: ui.Pager{Text: units.Plural(len(list), "occurrence", "occurrences")},
	}
	m.Row.MayChange = h.Schedules.MayChange(ctx, sc)
	for _, o := range list {
		m.Occurrences = append(m.Occurrences, occurrenceOf(clock, o))
	}
	if next != nil {
		m.Pager.Older = views.ScheduleURL(id.String()) + "?before=" + next.Format(time.RFC3339Nano)
	}
	if before != nil {
		m.Pager.Newer = views.ScheduleURL(id.String())
	}
	if refused != nil {
		m.Failed = apperr.MessageOf(refused)
		for _, f := range apperr.FieldsOf(refused) {
			m.Failed += " " + f.Path + ": " + f.Message
		}
	}
	return web.Render(w, r, status, views.SchedulePage(m))
}

// workflowRef is the workflow of a schedule for links: its id where the name would not lead to it.
func workflowRef(ctx context.Context, sc schedule.Schedule) string {
	if subject, ok := auth.SubjectOf(ctx); ok && subject.ProjectID == sc.ProjectID {
		return sc.Workflow
	}
	return sc.WorkflowID.String()
}

// firesOf are fires with the changes of the clocks between them.
func firesOf(fires []schedule.Fire) []views.ScheduleFire {
	var out []views.ScheduleFire
	for i, f := range fires {
		line := views.ScheduleFire{
			N: strconv.Itoa(i + 1), At: short(f.At, "Mon 2 Jan 2006, 15:04:05"), Zone: f.At.Format("MST"), Why: f.Note,
		}
		if f.At.Location().String() != "UTC" {
			line.UTC = short(f.At.UTC(), "15:04:05 UTC")
		}
		if i > 0 {
			_, was := fires[i-1].At.Zone()
			if _, now := f.At.Zone(); was != now {
				line.Change = "From here on: " + f.At.Format("MST, UTC-07:00")
			}
		}
		out = append(out, line)
	}
	return out
}

func occurrenceOf(clock ui.Clock, o schedule.Occurrence) views.ScheduleOccurrence {
	line := views.ScheduleOccurrence{At: clock.Exactly(o.FireAt), Note: o.Message}
	line.State, line.Word = stateOf(o)
	if o.Fires > 1 {
		line.Fires = units.Number(o.Fires) + " fires until " + clock.Exactly(o.LastFireAt).Text
	}
	if o.ExecutionID != nil {
		line.Execution, line.URL = label.ShortID(*o.ExecutionID), views.ExecutionURL(o.ExecutionID.String())
	}
	if o.StartedAt != nil && o.FinishedAt != nil {
		line.Took = units.Duration(o.FinishedAt.Sub(*o.StartedAt))
	}
	switch {
	case o.Failure != "":
		line.Note = o.Failure
	case line.Note == "" && o.Reason == schedule.ReasonManual:
		line.Note = "Launched manually"
	}
	return line
}

// facts are the settings of a schedule.
func facts(clock ui.Clock, sc schedule.Schedule) []ui.Fact {
	list := []ui.Fact{{Name: "Version", Value: rowOf(sc).Version}, {Name: "Owner", Value: sc.Owner.Name, Note: "executions run with the owner's permissions"}}
	for _, text := range sc.Expressions {
		list = append(list, ui.Fact{Name: "Expression", Value: text, Mono: true})
	}
	list = append(list, ui.Fact{Name: "Time zone", Value: sc.Timezone})
	if sc.Starts != nil {
		list = append(list, ui.Fact{Name: "Starts", Moment: new(clock.Exactly(*sc.Starts))})
	}
	if sc.Ends != nil {
		list = append(list, ui.Fact{Name: "Ends", Moment: new(clock.Exactly(*sc.Ends))})
	}
	missed := ui.Fact{Name: "Missed fires", Value: misfireWords(sc)}
	if sc.Misfire != schedule.MisfireSkip {
		missed.Note = "if missed within the last " + units.Duration(sc.CatchUp)
	}
	list = append(list, missed,
		ui.Fact{Name: "Overlap", Value: overlapWords(sc.Overlap), Note: "at most " + units.Number(int64(sc.MaxRunning)) + " at a time"},
		ui.Fact{Name: "Clocks go forward", Value: gapWords(sc.Gap)}, ui.Fact{Name: "Clocks go back", Value: foldWords(sc.Fold)})
	if sc.Jitter > 0 {
		list = append(list, ui.Fact{Name: "Jitter", Value: "up to " + units.Duration(sc.Jitter), Note: "always " + units.Duration(sc.Delay) + " later"})
	}
	if sc.PauseAfter > 0 {
		list = append(list, ui.Fact{Name: "Pauses after", Value: units.Plural(sc.PauseAfter, "consecutive failure", "consecutive failures")})
	}
	if sc.Priority != query.Declared {
		list = append(list, ui.Fact{Name: "Priority", Value: strconv.Itoa(int(sc.Priority))})
	}
	return append(list, ui.Fact{Name: "Changed", Moment: new(clock.Moment(sc.UpdatedAt))})
}

func misfireWords(sc schedule.Schedule) string {
	switch sc.Misfire {
	case schedule.MisfireSkip:
		return "Skip"
	case schedule.MisfireAll:
		return "Launch up to " + units.Number(int64(sc.CatchUpMax))
	case schedule.MisfireLatest:
	}
	return "Launch the latest"
}

func overlapWords(o schedule.Overlap) string {
	switch o {
	case schedule.OverlapQueueOne:
		return "Queue one"
	case schedule.OverlapQueueAll:
		return "Queue all"
	case schedule.OverlapCancel:
		return "Cancel running executions"
	case schedule.OverlapAllow:
		return "Launch concurrently"
	case schedule.OverlapSkip:
	}
	return "Skip"
}

func gapWords(g cron.Gap) string {
	if g == cron.GapSkip {
		return "Skip the fire"
	}
	return "Fire after the gap"
}

func foldWords(f cron.Fold) string {
	switch f {
	case cron.FoldLast:
		return "Fire the second time"
	case cron.FoldBoth:
		return "Fire both times"
	case cron.FoldFirst:
	}
	return "Fire the first time"
}
