package argo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/schedule/cron"
	"github.com/flowforge/flowforge/engine/workflow"
)

// ParseSchedule reads a schedule of a CronWorkflow: five fields, or a word such as @daily. zone is
// the name of a time zone, "" for UTC. The error is a sentence for users.
func ParseSchedule(text, zone string) (cron.Expression, error) {
	if _, err := time.LoadLocation(zone); err != nil {
		return cron.Expression{}, fmt.Errorf("unknown time zone %q; use a name such as Europe/Berlin", shorten(zone))
	}
	if strings.Contains(text, "TZ=") {
		return cron.Expression{}, fmt.Errorf("write the time zone as spec.timezone, not in the schedule %q", shorten(text))
	}
	return cron.Parse(text)
}

// checkCron reports what is wrong with the fields of a CronWorkflow alongside its workflow.
func (t *translator) checkCron(c *cronSpec) {
	t.refuse(c.Schedule == "" && len(c.Schedules) == 0, "spec.schedule", "Set schedule or schedules.")
	_, err := ParseSchedule("@daily", c.Timezone)
	t.refuse(err != nil, "spec.timezone", "Unknown time zone %q. Use a name such as Europe/Berlin.", shorten(c.Timezone))
	check := func(text, path string) {
		if _, err := ParseSchedule(text, ""); err != nil {
			t.add(path, "%s.", capital(err.Error()))
		}
	}
	if c.Schedule != "" {
		check(c.Schedule, "spec.schedule")
	}
	for i, text := range c.Schedules {
		check(text, fmt.Sprintf("spec.schedules[%d]", i))
	}
	policies := []string{"Allow", "Forbid", "Replace"}
	t.refuse(c.ConcurrencyPolicy != "" && !slices.Contains(policies, c.ConcurrencyPolicy), "spec.concurrencyPolicy",
		"Unknown policy %q; the policies are %s.%s", shorten(c.ConcurrencyPolicy), strings.Join(policies, ", "), suggestion(c.ConcurrencyPolicy, policies))
	t.refuse(c.StopStrategy != nil && c.stopsWhen() == "", "spec.stopStrategy.expression", "Set the expression, such as cronworkflow.failed >= 3.")
	for path, n := range map[string]*int64{
		"spec.startingDeadlineSeconds": c.StartingDeadlineSeconds, "spec.successfulJobsHistoryLimit": c.SuccessfulJobsHistoryLimit, "spec.failedJobsHistoryLimit": c.FailedJobsHistoryLimit,
	} {
		t.refuse(n != nil && *n < 0, path, "This must be 0 or more.")
	}
}

// declared returns the schedule of a CronWorkflow, with the fields of FlowForge's own definitions.
//
// A run that Argo misses is launched only within startingDeadlineSeconds. The limits of history apply
// if the document sets them.
func (t *translator) declared() workflow.DeclaredSchedule {
	c := t.cron
	crons := []any{}
	if c.Schedule != "" {
		crons = append(crons, c.Schedule)
	}
	for _, text := range c.Schedules {
		crons = append(crons, text)
	}
	fields := map[string]any{"crons": crons, "timezone": c.Timezone, "misfire": "skip", "overlap": "allow", "paused": c.Suspend}
	switch c.ConcurrencyPolicy {
	case "Forbid":
		fields["overlap"] = "skip"
	case "Replace":
		fields["overlap"] = "cancel"
	}
	if d := c.StartingDeadlineSeconds; d != nil && *d > 0 {
		fields["misfire"], fields["catch_up_seconds"] = "latest", *d
	}
	for name, limit := range map[string]*int64{"keep_succeeded": c.SuccessfulJobsHistoryLimit, "keep_failed": c.FailedJobsHistoryLimit} {
		if limit != nil {
			fields[name] = *limit
		}
	}
	if c.When != "" {
		fields["when"] = c.When
	}
	if text := c.stopsWhen(); text != "" {
		fields["stop_when"] = text
	}
	return workflow.DeclaredSchedule{Fields: fields, Path: "spec", Paths: map[string]string{
		"name": "metadata.name", "cron": "spec.schedule", "crons": "spec.schedules", "catch_up_seconds": "spec.startingDeadlineSeconds", "overlap": "spec.concurrencyPolicy",
		"paused": "spec.suspend", "keep_succeeded": "spec.successfulJobsHistoryLimit", "keep_failed": "spec.failedJobsHistoryLimit",
		"stop_when": "spec.stopStrategy.expression", "inputs": "spec.workflowSpec.arguments.parameters",
	}}
}

// stopsWhen returns the expression of the stop strategy; earlier versions of Argo call it condition.
func (c *cronSpec) stopsWhen() string {
	if c.StopStrategy == nil {
		return ""
	}
	return cmp.Or(c.StopStrategy.Expression, c.StopStrategy.Condition)
}

func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
