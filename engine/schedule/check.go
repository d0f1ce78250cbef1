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

// check fills in the defaults of a spec and returns Invalid with all invalid fields.
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
	p := &plan{spec: sp, version: version, subject: subject}
	fields, err := s.complete(ctx, p, version.ProjectID, version.Definition)
	if err != nil {
		return nil, err
	}
	return p, apperr.InvalidFields("The schedule has invalid values.", fields)
}

// complete fills in the defaults of a plan and returns its invalid fields.
func (s *Service) complete(ctx context.Context, p *plan, project uuid.UUID, definition *workflow.Definition) (fields []apperr.Field, err error) {
	p.spec.fill(s.now())
	if err := s.findCalendar(ctx, project, &p.spec.When); err != nil {
		if fields = apperr.FieldsOf(err); len(fields) == 0 {
			return nil, err
		}
	}
	timing, wrong := p.spec.read()
	p.timing = timing
	fields = slices.Concat(fields, p.spec.problems(s.now()), wrong)
	if len(fields) == 0 && p.timing.next(s.now()).IsZero() {
		fields = append(fields, apperr.Field{Path: "cron", Message: "The schedule never runs: all its times are in the past, after its end or excluded."})
	}
	if len(fields) == 0 {
		return s.checkInputs(ctx, p, definition)
	}
	return fields, nil
}

// checkInputs checks the inputs with the times of the next run.
func (s *Service) checkInputs(ctx context.Context, p *plan, definition *workflow.Definition) ([]apperr.Field, error) {
	raw, err := encode(p.spec.Inputs)
	if err != nil {
		return nil, err
	}
	if len(raw) > MaxInputs {
		return []apperr.Field{{Path: "inputs", Message: fmt.Sprintf("The inputs have more than %d KiB. Upload large values as files.", MaxInputs>>10)}}, nil
	}
	next := p.timing.next(s.now())
	inputs, fields := render(p.spec.Inputs, p.timing.times(p.timing.before(next), next))
	if len(fields) > 0 {
		return fields, nil
	}
	_, problems := definition.Inputs.CheckAll(inputs, typeregistry.Env{Now: s.now(), Exists: s.config.Executions.Launches.References(ctx)})
	for _, pr := range problems {
		fields = append(fields, apperr.Field{Path: "inputs." + pr.Path, Message: pr.Message})
	}
	return fields, nil
}

// times are the values of tags for a run.
func (t timing) times(start, fire time.Time) Times {
	fire = fire.In(t.clock.Zone)
	return Times{Scheduled: fire, IntervalStart: start.In(t.clock.Zone), IntervalEnd: fire}
}

// fill sets the defaults of a spec.
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
	sp.Anchor = sp.Anchor.UTC().Truncate(time.Microsecond)
	for _, at := range []**time.Time{&sp.At, &sp.Starts, &sp.Ends} {
		if *at != nil {
			*at = new((*at).UTC().Truncate(time.Microsecond))
		}
	}
	if sp.Inputs == nil {
		sp.Inputs = map[string]any{}
	}
	if sp.Expressions == nil {
		sp.Expressions = []string{}
	}
	if sp.Exclude == nil {
		sp.Exclude = []Window{}
	}
	sp.Condition, sp.StopWhen = strings.TrimSpace(sp.Condition), strings.TrimSpace(sp.StopWhen)
}

// problems returns the invalid settings of a spec, except its times and inputs.
func (sp *Spec) problems(now time.Time) (fields []apperr.Field) {
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
	for path, keep := range map[string]*int{"keep_succeeded": sp.KeepSucceeded, "keep_failed": sp.KeepFailed} {
		refuse(keep != nil && (*keep < 0 || *keep > MaxHistory), path, "Enter 0 to %d.", MaxHistory)
	}
	for path, condition := range map[string]string{"when": sp.Condition, "stop_when": sp.StopWhen} {
		if problem := checkCondition(condition, now); problem != "" {
			refuse(true, path, "%s", problem)
		}
	}
	refuse(sp.Priority < query.Declared || sp.Priority > query.MaxPriority, "priority", "Enter a priority from 0 to 100.")
	return fields
}
