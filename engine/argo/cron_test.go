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
		"schedule: '0 0 31 2 *', ":                              {"spec.schedule": "never fires"},
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
			require.Len(t, d.Notices, 1)
			require.Contains(t, d.Notices[0], "does not run schedules yet")
		}
	}
}

// TestParseSchedule: of two days, either is enough, as in Argo.
func TestParseSchedule(t *testing.T) {
	t.Parallel()
	s, err := argo.ParseSchedule("30 5 13 * FRI", "Europe/Berlin")
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 7, 3, 5, 30, 0, 0, time.UTC), s.Next(time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), cron.Clock{}))
}
