package schedule

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/schedule/cron"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// plan is a checked Spec.
type plan struct {
	spec    Spec
	timing  timing
	version workflow.Version
	subject auth.Subject
}

// check fills in the defaults of a spec and returns Invalid with everything that is wrong with it.
func (s *Service) check(ctx context.Context, sp Spec) (*plan, error) {
	w, err := s.config.Workflows.Get(ctx, sp.Workflow)
	if err != nil {
		return nil, err
	}
	subject, err := auth.AuthorizeIn(ctx, auth.ExecutionLaunch, w.ProjectID, apperr.New(apperr.NotFound, "There is no workflow %q.", w.Name))
	if err != nil {
		return nil, err
	}
	version, err := s.config.Workflows.Version(ctx, sp.Workflow, sp.Version)
	if err != nil {
		return nil, err
	}
	sp.fill(s.now())
	p := &plan{spec: sp, version: version, subject: subject}
	var fields []apperr.Field
	p.timing, fields = sp.read()
	fields = append(sp.problems(), fields...)
	if len(fields) == 0 && p.timing.next(s.now()).IsZero() {
		fields = append(fields, apperr.Field{Path: "cron", Message: "The schedule never fires: all its times are in the past or after its end."})
	}
	if len(fields) == 0 {
		fields, err = s.checkInputs(ctx, p)
		if err != nil {
			return nil, err
		}
	}
	return p, apperr.InvalidFields("The schedule has invalid values.", fields)
}

// checkInputs checks the inputs with the times of the next fire.
func (s *Service) checkInputs(ctx context.Context, p *plan) ([]apperr.Field, error) {
	raw, err := encode(p.spec.Inputs)
	if err != nil {
		return nil, err
	}
	if len(raw) > MaxInputs {
		return []apperr.Field{{Path: "inputs", Message: fmt.Sprintf("The inputs have more than %d KiB. Upload large values as files.", MaxInputs>>10)}}, nil
	}
	next := p.timing.next(s.now())
	inputs, fields := render(p.spec.Inputs, p.timing.times(before(p.timing, next, span{}, nil), next))
	if len(fields) > 0 {
		return fields, nil
	}
	_, problems := p.version.Definition.Inputs.CheckAll(inputs, typeregistry.Env{Now: s.now(), Exists: s.config.Executions.References(ctx)})
	for _, pr := range problems {
		fields = append(fields, apperr.Field{Path: "inputs." + pr.Path, Message: pr.Message})
	}
	return fields, nil
}

// times are the values of tags at a fire.
func (t timing) times(start, fire time.Time) Times {
	fire = fire.In(t.clock.Zone)
	return Times{Scheduled: fire, IntervalStart: start.In(t.clock.Zone), IntervalEnd: fire}
}

// fill sets what a spec leaves out.
func (sp *Spec) fill(now time.Time) {
	sp.Name = strings.TrimSpace(sp.Name)
	sp.Timezone = cmp.Or(sp.Timezone, "UTC")
	sp.Gap, sp.Fold = cmp.Or(sp.Gap, cron.GapRunAfter), cmp.Or(sp.Fold, cron.FoldFirst)
	sp.Misfire, sp.Overlap = cmp.Or(sp.Misfire, MisfireLatest), cmp.Or(sp.Overlap, OverlapSkip)
	sp.CatchUp, sp.CatchUpMax = cmp.Or(sp.CatchUp, 24*time.Hour), cmp.Or(sp.CatchUpMax, 10)
	sp.MaxRunning = cmp.Or(sp.MaxRunning, 1)
	if sp.Anchor.IsZero() {
		sp.Anchor = now.Truncate(time.Hour)
		if sp.Starts != nil {
			sp.Anchor = *sp.Starts
		}
	}
	if sp.Inputs == nil {
		sp.Inputs = map[string]any{}
	}
	if sp.Expressions == nil {
		sp.Expressions = []string{}
	}
}

// problems are what is wrong with the settings of a spec alongside its times and inputs.
func (sp *Spec) problems() (fields []apperr.Field) {
	refuse := func(bad bool, path, format string, args ...any) {
		if bad {
			fields = append(fields, apperr.Field{Path: path, Message: fmt.Sprintf(format, args...)})
		}
	}
	between := func(path string, d, least, most time.Duration) {
		refuse(d < least || d > most || d%time.Second != 0, path, "Enter whole seconds from %d to %d.", least/time.Second, most/time.Second)
	}
	_, err := uuid.Parse(sp.Name)
	refuse(sp.Name == "", "name", "Enter a name.")
	refuse(utf8.RuneCountInString(sp.Name) > MaxName, "name", "At most %d characters.", MaxName)
	refuse(!utf8.ValidString(sp.Name) || strings.ContainsFunc(sp.Name, unicode.IsControl), "name", "Use one line of text.")
	refuse(err == nil, "name", "Choose a name that is not an ID.")
	refuse(!slices.Contains(Misfires(), sp.Misfire), "misfire", "Use latest, skip or all.")
	refuse(!slices.Contains(Overlaps(), sp.Overlap), "overlap", "Use skip, queue_one, queue_all, cancel or allow.")
	between("catch_up_seconds", sp.CatchUp, time.Second, MaxCatchUp)
	between("jitter_seconds", sp.Jitter, 0, MaxJitter)
	refuse(sp.CatchUpMax < 1 || sp.CatchUpMax > MaxCatchUpRuns, "catch_up_max", "Enter 1 to %d.", MaxCatchUpRuns)
	refuse(sp.MaxRunning < 1 || sp.MaxRunning > MaxRunning, "max_running", "Enter 1 to %d.", MaxRunning)
	refuse(sp.PauseAfter < 0 || sp.PauseAfter > MaxPauseAfter, "pause_after_failures", "Enter 0 to %d.", MaxPauseAfter)
	refuse(sp.Priority < query.Declared || sp.Priority > query.MaxPriority, "priority", "Enter a priority from 0 to 100.")
	return fields
}

// apply writes a plan to a row. The owner is the caller.
func (p *plan) apply(row *db.Schedule, now time.Time) (err error) {
	sp := p.spec
	row.Name, row.Expressions, row.At, row.Timezone, row.Anchor = sp.Name, sp.Expressions, sp.At, sp.Timezone, sp.Anchor
	row.Gap, row.Fold, row.StartsAt, row.EndsAt = string(sp.Gap), string(sp.Fold), sp.Starts, sp.Ends
	row.Version, row.Priority, row.Misfire, row.Overlap = sp.Version, int32(sp.Priority), string(sp.Misfire), string(sp.Overlap)                                      //nolint:gosec // checked
	row.CatchUp, row.CatchUpMax, row.MaxRunning, row.Jitter = int32(sp.CatchUp/time.Second), int32(sp.CatchUpMax), int32(sp.MaxRunning), int32(sp.Jitter/time.Second) //nolint:gosec // checked
	row.PauseAfter = int32(sp.PauseAfter)                                                                                                                             //nolint:gosec // checked
	if sp.Paused != row.Paused {
		row.Paused, row.Reason, row.Message = sp.Paused, "", ""
		if sp.Paused {
			row.Reason, row.Message = PausedByPerson, "Paused by "+p.subject.Name+"."
		}
	}
	row.OwnerID, row.OwnerName = p.subject.ID, p.subject.Name
	setNext(row, p.timing, now)
	row.Inputs, err = encode(sp.Inputs)
	return err
}

// setNext makes the first fire after a time the next one.
func setNext(row *db.Schedule, t timing, after time.Time) {
	row.NextAt, row.DueAt = nil, nil
	if next := t.next(after); !next.IsZero() {
		row.NextAt, row.DueAt = &next, new(next.Add(delay(row.ID, seconds(row.Jitter))))
	}
}

func insertion(row db.Schedule, now time.Time) db.InsertScheduleParams {
	return db.InsertScheduleParams{
		ID: row.ID, TenantID: row.TenantID, ProjectID: row.ProjectID, WorkflowID: row.WorkflowID, WorkflowName: row.WorkflowName, Name: row.Name,
		Expressions: row.Expressions, At: row.At, Timezone: row.Timezone, Anchor: row.Anchor, Gap: row.Gap, Fold: row.Fold, StartsAt: row.StartsAt, EndsAt: row.EndsAt,
		Version: row.Version, Inputs: row.Inputs, Priority: row.Priority, Misfire: row.Misfire, CatchUp: row.CatchUp, CatchUpMax: row.CatchUpMax, Overlap: row.Overlap,
		MaxRunning: row.MaxRunning, Jitter: row.Jitter, PauseAfter: row.PauseAfter, Paused: row.Paused, Reason: row.Reason, Message: row.Message,
		OwnerID: row.OwnerID, OwnerName: row.OwnerName, Now: now, NextAt: row.NextAt, DueAt: row.DueAt,
	}
}

func update(row db.Schedule) db.UpdateScheduleParams {
	return db.UpdateScheduleParams{
		ID: row.ID, Name: row.Name, Expressions: row.Expressions, At: row.At, Timezone: row.Timezone, Anchor: row.Anchor, Gap: row.Gap, Fold: row.Fold,
		StartsAt: row.StartsAt, EndsAt: row.EndsAt, Version: row.Version, Inputs: row.Inputs, Priority: row.Priority, Misfire: row.Misfire, CatchUp: row.CatchUp,
		CatchUpMax: row.CatchUpMax, Overlap: row.Overlap, MaxRunning: row.MaxRunning, Jitter: row.Jitter, PauseAfter: row.PauseAfter, Paused: row.Paused,
		Reason: row.Reason, Message: row.Message, OwnerID: row.OwnerID, OwnerName: row.OwnerName, ResumedAt: row.ResumedAt, LastAt: row.LastAt, NextAt: row.NextAt,
		DueAt: row.DueAt, UpdatedAt: row.UpdatedAt,
	}
}
