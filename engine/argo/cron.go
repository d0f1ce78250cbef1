package argo

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/schedule/cron"
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
	for path, n := range map[string]*int64{
		"spec.startingDeadlineSeconds": c.StartingDeadlineSeconds, "spec.successfulJobsHistoryLimit": c.SuccessfulJobsHistoryLimit, "spec.failedJobsHistoryLimit": c.FailedJobsHistoryLimit,
	} {
		t.refuse(n != nil && *n < 0, path, "This must be 0 or more.")
	}
}

// neverFires is the notice of a CronWorkflow: schedules are not supported yet.
func (c *cronSpec) neverFires() string {
	all := slices.Clone(c.Schedules)
	if c.Schedule != "" {
		all = slices.Insert(all, 0, c.Schedule)
	}
	return fmt.Sprintf("FlowForge does not run schedules yet: %s has no effect. Launch this workflow manually.", strings.Join(all, ", "))
}

func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
