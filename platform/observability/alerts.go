package observability

import (
	"maps"
	"slices"
)

// alerts are the signals that executions are not launched, or that no user is informed.
func alerts(a Alerts, emit func(family)) {
	schedules := gauges("schedules", "Schedules by state: active, paused by a user, or stopped by FlowForge.", "state")
	for _, state := range slices.Sorted(maps.Keys(a.Schedules)) {
		schedules.add(float64(a.Schedules[state]), state)
	}
	emit(schedules)
	for _, v := range []struct {
		name, help string
		value      float64
	}{
		{"schedule_problems", "Schedules that the server could not process; it tries again.", float64(a.Problems)},
		{"schedule_overdue_seconds", "How long the oldest scheduled run has been due without being launched or skipped.", a.Overdue.Seconds()},
		{"notification_channels_failing", "Notification channels that did not accept their last message.", float64(a.Failing)},
		{"notifications_undelivered", "Notifications whose last attempt failed and that are retried.", float64(a.Undelivered)},
		{"notifications_undelivered_oldest_seconds", "Age of the oldest notification whose last attempt failed.", a.Oldest.Seconds()},
	} {
		f := gauges(v.name, v.help)
		f.add(v.value)
		emit(f)
	}
}
