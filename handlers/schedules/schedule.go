package schedules

import (
	"context"
	"net/http"
	"strconv"
	"strings"
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

// render shows a schedule, with the reason if a command was refused.
func (h *Pages) render(w http.ResponseWriter, r *http.Request, status int, id uuid.UUID, refused error) error {
	ctx, clock := r.Context(), h.Page.Clock(r)
	sc, err := h.Schedules.Get(ctx, id)
	if err != nil {
		return err
	}
	fires, excluded, err := h.Schedules.Fires(ctx, id, firesShown)
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
		Row:  rowOf(sc), WorkflowURL: views.WorkflowURL(workflowRef(ctx, sc)), Facts: facts(clock, sc), Inputs: label.Indented(sc.Inputs), Fires: label.Fires(fires, excluded),
		Declared: sc.Declared, DefinitionURL: views.WorkflowURL(workflowRef(ctx, sc)), MissedChoice: sc.Paused && sc.Misfire != schedule.MisfireSkip, Pager: ui.Pager{Text: units.Plural(len(list), "run", "runs")},
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

func occurrenceOf(clock ui.Clock, o schedule.Occurrence) views.ScheduleOccurrence {
	line := views.ScheduleOccurrence{At: clock.Exactly(o.FireAt), Note: o.Message}
	line.State, line.Word = stateOf(o)
	if o.Fires > 1 {
		line.Fires = units.Number(o.Fires) + " runs until " + clock.Exactly(o.LastFireAt).Text
	}
	if o.ExecutionID != nil {
		line.Execution, line.URL = label.ShortID(*o.ExecutionID), views.ExecutionURL(o.ExecutionID.String())
	}
	if o.StartedAt != nil && o.FinishedAt != nil {
		line.Took = units.Duration(o.FinishedAt.Sub(*o.StartedAt))
	}
	switch {
	case o.Failure != "":
		line.Note = label.Cause(o.Failure)
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
	list = append(list, exclusionFacts(sc)...)
	missed := ui.Fact{Name: "Missed runs", Value: misfireWords(sc)}
	if sc.Misfire != schedule.MisfireSkip {
		missed.Note = "if missed within the last " + strings.TrimPrefix(units.Period(sc.CatchUp), "1 ")
	}
	list = append(list, missed,
		ui.Fact{Name: "Overlap", Value: overlapWords(sc)},
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
	for _, condition := range [][2]string{{"Run only if", sc.Condition}, {"Pause when", sc.StopWhen}} {
		if condition[1] != "" {
			list = append(list, ui.Fact{Name: condition[0], Value: condition[1], Mono: true})
		}
	}
	if sc.KeepSucceeded != nil {
		list = append(list, ui.Fact{Name: "Keeps", Value: units.Plural(*sc.KeepSucceeded, "succeeded execution", "succeeded executions")})
	}
	if sc.KeepFailed != nil {
		list = append(list, ui.Fact{Name: "Keeps", Value: units.Plural(*sc.KeepFailed, "failed execution", "failed executions")})
	}
	return append(list, ui.Fact{Name: "Changed", Moment: new(clock.Moment(sc.UpdatedAt))})
}

// exclusionFacts are the days and times without runs.
func exclusionFacts(sc schedule.Schedule) (list []ui.Fact) {
	if sc.Calendar != "" {
		list = append(list, ui.Fact{Name: "Calendar", Value: sc.Calendar})
	}
	if sc.BusinessDays {
		list = append(list, ui.Fact{Name: "Days", Value: "Only business days"})
	}
	for _, w := range sc.Exclude {
		list = append(list, ui.Fact{Name: "Excluded", Value: w.Words()})
	}
	return list
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

func overlapWords(sc schedule.Schedule) string {
	words := "Skip the run"
	switch sc.Overlap {
	case schedule.OverlapQueueOne:
		words = "Queue one run"
	case schedule.OverlapQueueAll:
		words = "Queue all runs"
	case schedule.OverlapCancel:
		words = "Cancel running executions"
	case schedule.OverlapAllow:
		return "Launch concurrently"
	case schedule.OverlapSkip:
	}
	return words + "; at most " + units.Number(int64(sc.MaxRunning)) + " at a time"
}

func gapWords(g cron.Gap) string {
	if g == cron.GapSkip {
		return "Skip the run"
	}
	return "Run after the gap"
}

func foldWords(f cron.Fold) string {
	switch f {
	case cron.FoldLast:
		return "Run the second time"
	case cron.FoldBoth:
		return "Run both times"
	case cron.FoldFirst:
	}
	return "Run the first time"
}
