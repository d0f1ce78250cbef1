package argo_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/schedule/cron"
)

const cronWork = "workflowSpec: {entrypoint: main, templates: [{name: main, container: {image: a, command: [b]}}]}}"

// TestCronIsChecked: schedule, time zone and policy are held against what they may be.
func TestCronIsChecked(t *testing.T) {
	t.Parallel()
	head := "apiVersion: argoproj.io/v1alpha1\nkind: CronWorkflow\nmetadata: {name: nightly}\nspec: {"
	for fields, want := range map[string]map[string]string{
		"schedule: nonsense, ":                                  {"spec.schedule": `"nonsense" has 1 fields`},
		"schedule: '0 5 * * * * *', ":                           {"spec.schedule": "use five"},
		"schedule: '0 0 31 2 *', ":                              {"spec.schedule": "never runs"},
		"schedule: 'TZ=UTC 0 5 * * *', ":                        {"spec.schedule": "spec.timezone"},
		"schedules: ['@daily', 'x'], ":                          {"spec.schedules[1]": "use five"},
		"schedule: '0 5 * * *', timezone: Mars/Base, ":          {"spec.timezone": `Unknown time zone "Mars/Base"`},
		"schedule: '0 5 * * *', concurrencyPolicy: Sometimes, ": {"spec.concurrencyPolicy": "Allow, Forbid, Replace"},
		"schedule: x, timezone: y, concurrencyPolicy: allow, ":  {"spec.schedule": "use five", "spec.timezone": "time zone", "spec.concurrencyPolicy": `Did you mean "Allow"?`},
		"schedule: '0 5 * * *', startingDeadlineSeconds: -1, ":  {"spec.startingDeadlineSeconds": "0 or more"},
		"": {"spec.schedule": "Set schedule or schedules"},
		"schedule: '0 5 * * 1-5', timezone: Europe/Berlin, ":               nil,
		"schedules: ['@every 1h', '@weekly'], concurrencyPolicy: Forbid, ": nil,
		"schedule: '0 0 29 2 *', concurrencyPolicy: Replace, ":             nil,
	} {
		d, problems := parse(t, head+fields+cronWork)
		require.Len(t, problems, len(want), "%s: %v", fields, problems)
		for _, p := range problems {
			require.Contains(t, p.Message, want[p.Path], "%s: %s", fields, p.Path)
			require.NotEmpty(t, want[p.Path], "%s: %s", fields, p.Path)
		}
		if want == nil {
			require.Empty(t, d.Notices)
			require.Len(t, d.Schedules, 1)
		}
	}
}

// TestDeclaredSchedule: the fields of a CronWorkflow become those of a schedule.
func TestDeclaredSchedule(t *testing.T) {
	t.Parallel()
	head := "apiVersion: argoproj.io/v1alpha1\nkind: CronWorkflow\nmetadata: {name: nightly}\nspec: {"
	for fields, want := range map[string]map[string]any{
		"schedule: '@daily', ": {"crons": []any{"@daily"}, "timezone": "", "overlap": "allow", "misfire": "skip", "paused": false},
		"schedules: ['@daily', '0 5 * * *'], timezone: Europe/Berlin, concurrencyPolicy: Replace, suspend: true, startingDeadlineSeconds: 60, successfulJobsHistoryLimit: 4, failedJobsHistoryLimit: 0, ": {
			"crons": []any{"@daily", "0 5 * * *"}, "timezone": "Europe/Berlin", "overlap": "cancel", "misfire": "latest", "catch_up_seconds": int64(60), "paused": true,
			"keep_succeeded": int64(4), "keep_failed": int64(0),
		},
		"schedule: '@daily', concurrencyPolicy: Forbid, startingDeadlineSeconds: 0, when: 'cronworkflow.failed < 2', stopStrategy: {expression: 'cronworkflow.failed >= 3'}, ": {
			"crons": []any{"@daily"}, "timezone": "", "overlap": "skip", "misfire": "skip", "paused": false, "when": "cronworkflow.failed < 2", "stop_when": "cronworkflow.failed >= 3",
		},
	} {
		d, problems := parse(t, head+fields+cronWork)
		require.Empty(t, problems)
		require.Equal(t, want, d.Schedules[0].Fields)
		require.Equal(t, "spec.stopStrategy.expression", d.Schedules[0].PathOf("stop_when"))
		require.Equal(t, "metadata.name", d.Schedules[0].PathOf("name"))
	}
	_, problems := parse(t, head+"schedule: '@daily', stopStrategy: {}, "+cronWork)
	require.Len(t, problems, 1)
	require.Equal(t, "spec.stopStrategy.expression", problems[0].Path)
}

// TestParseSchedule: of two days, either is enough, as in Argo.
func TestParseSchedule(t *testing.T) {
	t.Parallel()
	s, err := argo.ParseSchedule("30 5 13 * FRI", "Europe/Berlin")
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 7, 3, 5, 30, 0, 0, time.UTC), s.Next(time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), cron.Clock{}))
}
