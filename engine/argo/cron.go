package argo

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/netresearch/go-cron"
)

// ParseSchedule reads a schedule of a CronWorkflow: five fields, or a word such as @daily.
// zone is the name of a time zone, "" for UTC. The error is a sentence for people.
func ParseSchedule(text, zone string) (cron.Schedule, error) {
	if zone == "" {
		zone = "UTC"
	}
	if _, err := time.LoadLocation(zone); err != nil {
		return nil, fmt.Errorf("there is no time zone %q; write a name such as Europe/Berlin", shorten(zone))
	}
	if strings.Contains(text, "TZ=") {
		return nil, fmt.Errorf("write the time zone as spec.timezone, not in the schedule %q", shorten(text))
	}
	schedule, err := cron.ParseStandard("CRON_TZ=" + zone + " " + text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a schedule: write five fields (minute, hour, day, month, day of the week) such as \"0 5 * * *\", or a word such as @daily", shorten(text))
	}
	if schedule.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() { // the year has a 29 February
		return nil, fmt.Errorf("the schedule %q never fires: no such day exists", shorten(text))
	}
	return schedule, nil
}

// checkCron reports what is wrong with the fields of a CronWorkflow beside its workflow.
func (t *translator) checkCron(c *cronSpec) {
	t.refuse(c.Schedule == "" && len(c.Schedules) == 0, "spec.schedule", "Set schedule or schedules.")
	_, err := ParseSchedule("@daily", c.Timezone)
	t.refuse(err != nil, "spec.timezone", "There is no time zone %q; write a name such as Europe/Berlin.", shorten(c.Timezone))
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
		"There is no policy %q; the policies are %s.%s", shorten(c.ConcurrencyPolicy), strings.Join(policies, ", "), suggestion(c.ConcurrencyPolicy, policies))
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
