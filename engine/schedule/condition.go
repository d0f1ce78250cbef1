package schedule

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/expression"
)

// history contains the values of a schedule that conditions can read.
type history struct {
	name              string
	last              *time.Time // the last run that was launched or skipped; nil: none
	succeeded, failed int64      // executions
}

// conditionNames returns the names that conditions can read. In Argo documents, the schedule is
// called cronworkflow.
func (h history) conditionNames() map[string]any {
	var last any
	if h.last != nil {
		last = *h.last
	}
	values := map[string]any{
		"name": h.name, "succeeded": h.succeeded, "failed": h.failed, "last_scheduled_time": last, "lastScheduledTime": last,
	}
	return map[string]any{"schedule": values, "cronworkflow": values}
}

// holds evaluates a condition: an expression, or a text with {{=…}} as in Argo.
func (h history) holds(condition string) (bool, error) {
	env := h.conditionNames()
	text := strings.TrimSpace(condition)
	if inner, ok := strings.CutPrefix(text, "{{="); ok && strings.Count(text, "{{") == 1 {
		if inner, ok = strings.CutSuffix(inner, "}}"); ok {
			text = strings.TrimSpace(inner)
		}
	}
	if !strings.Contains(text, "{{") {
		e, err := expression.ParseArgo(text)
		if err != nil {
			return false, err
		}
		return e.Bool(env)
	}
	lookup := func(name string) (string, bool) {
		values, _ := env["cronworkflow"].(map[string]any)
		_, field, _ := strings.Cut(name, ".")
		v, ok := values[field]
		if at, isTime := v.(time.Time); isTime {
			v = at.UTC().Format(time.RFC3339)
		}
		if v == nil {
			v = ""
		}
		return fmt.Sprint(v), ok
	}
	rendered, err := expression.Scope{Lookup: lookup, Env: env}.RenderString(text)
	if err != nil {
		return false, err
	}
	return expression.When(rendered)
}

// checkCondition returns the problem of a condition, or "" if it is valid. It evaluates the
// condition for a schedule that never ran and for one that did.
func checkCondition(condition string, now time.Time) string {
	if len(condition) > MaxCondition {
		return fmt.Sprintf("A condition has at most %d bytes.", MaxCondition)
	}
	if strings.TrimSpace(condition) == "" {
		return ""
	}
	for _, h := range []history{{name: "example"}, {name: "example", last: &now, succeeded: 1, failed: 1}} {
		if _, err := h.holds(condition); err != nil {
			return apperr.MessageOf(err)
		}
	}
	return ""
}

// historyOf returns the values of a schedule that its conditions can read.
func (s loop) historyOf(ctx context.Context, row db.Schedule) (history, error) {
	h := history{name: row.Name, last: utc(row.LastAt)}
	ended, err := s.queries.CountEndedOccurrences(ctx, row.ID, row.ResumedAt)
	if err != nil {
		return h, fmt.Errorf("ended executions of schedule %s: %w", row.ID, err)
	}
	h.succeeded, h.failed = ended.Succeeded, ended.Failed
	return h, nil
}

// conditionResult is the result of a schedule's conditions for a run.
type conditionResult struct {
	stop    bool   // the schedule is paused instead
	skip    bool   // the run is skipped
	message string // why
}

// evaluateConditions evaluates the conditions of a schedule. One that cannot be evaluated pauses the schedule.
func (s loop) evaluateConditions(ctx context.Context, row db.Schedule) (conditionResult, error) {
	if row.Condition == "" && row.StopWhen == "" {
		return conditionResult{}, nil
	}
	h, err := s.historyOf(ctx, row)
	if err != nil {
		return conditionResult{}, err
	}
	if row.StopWhen != "" {
		stop, err := h.holds(row.StopWhen)
		switch {
		case err != nil:
			return conditionResult{stop: true, message: "The condition stop_when cannot be evaluated: " + apperr.MessageOf(err)}, nil
		case stop:
			return conditionResult{stop: true, message: "Paused because stop_when is true: " + row.StopWhen}, nil
		}
	}
	if row.Condition != "" {
		ok, err := h.holds(row.Condition)
		switch {
		case err != nil:
			return conditionResult{stop: true, message: "The condition when cannot be evaluated: " + apperr.MessageOf(err)}, nil
		case !ok:
			return conditionResult{skip: true, message: "The condition when is not true: " + row.Condition}, nil
		}
	}
	return conditionResult{}, nil
}
