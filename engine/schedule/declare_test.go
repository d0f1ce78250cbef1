package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/workflow"
)

const declaring = `{name: report, version: VERSION, operators: [{name: one, type: noop}], schedules: [SCHEDULES]}`

func (b *bundle) register(version, schedules string) error {
	b.t.Helper()
	doc := strings.NewReplacer("VERSION", version, "SCHEDULES", schedules).Replace(declaring)
	_, _, err := b.workflows.Register(b.ctx, []byte(doc))
	return err
}

// declared are the schedules of report by their names.
func (b *bundle) declared() map[string]schedule.Schedule {
	b.t.Helper()
	list, _, err := b.schedules.List(b.ctx, schedule.Filter{Workflow: "report"})
	require.NoError(b.t, err)
	out := map[string]schedule.Schedule{}
	for _, sc := range list {
		out[sc.Name] = sc
	}
	return out
}

// TestDeclared: registering a definition creates, changes and removes its schedules, also without a
// new version, and a pause by a person stays.
func TestDeclared(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.register("1.0.0", `{cron: "0 * * * *", inputs: {}}, {name: slow, every: 6h, paused: true}`))
	first := b.declared()
	require.Len(t, first, 2)
	require.True(t, first["report"].Declared)
	require.Equal(t, schedule.PausedByWorkflow, first["report/slow"].Reason)
	b.fire(noon)
	require.Equal(t, []schedule.State{schedule.Launched}, b.states(first["report"].ID), "it runs")

	b.clock.set(noon.Add(90 * time.Minute)) // the interval keeps its times
	_, err := b.schedules.Pause(b.ctx, first["report"].ID)
	require.NoError(t, err)
	require.NoError(t, b.register("1.0.0", `{cron: "0 * * * *"}, {name: slow, every: 6h}`))
	second := b.declared()
	require.True(t, second["report"].Paused, "by a person")
	require.False(t, second["report/slow"].Paused)
	require.Equal(t, first["report/slow"].Anchor, second["report/slow"].Anchor)
	require.Equal(t, first["report"].ID, second["report"].ID)

	require.NoError(t, b.register("0.9.0", ``), "an older version changes nothing")
	require.NoError(t, b.register("2.0.0-dev.h1", ``))
	require.Len(t, b.declared(), 2)
	_, err = b.schedules.Replace(b.ctx, second["report"].ID, second["report"].Spec)
	require.True(t, apperr.Is(err, apperr.Conflict), "%v", err)
	require.True(t, apperr.Is(b.schedules.Delete(b.ctx, second["report"].ID), apperr.Conflict))

	require.NoError(t, b.register("1.1.0", `{cron: "0 3 * * *"}`))
	third := b.declared()
	require.Len(t, third, 1)
	require.Equal(t, []string{"0 3 * * *"}, third["report"].Expressions)
	list, err := b.schedules.DeclareFor(b.ctx, "report", []workflow.DeclaredSchedule{{Path: "schedules.0", Fields: map[string]any{"name": "late", "cron": "0 4 * * *"}}})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, "report/late", list[0].Name)
	require.NoError(t, b.register("1.1.0", ``))
	require.Empty(t, b.declared())
}

// TestDeclaredProblems: wrong schedules refuse the definition with their paths, and leave nothing.
func TestDeclaredProblems(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for schedules, path := range map[string]string{
		`{cron: "0 0 30 2 *"}`: "schedules[0].cron", `{crn: "@daily"}`: "schedules[0].crn", `{cron: "@daily", jitter_seconds: much}`: "schedules[0].jitter_seconds",
		`{cron: "@daily"}, {cron: "@hourly"}`: "schedules[1].name", `{cron: "@daily", inputs: {x: 1}}`: "schedules[0].inputs.x", `{cron: "@daily", inputs: [1]}`: "schedules[0].inputs",
		`{cron: "@daily", every: 5m}`: "schedules[0].every", `7`: "schedules[0]", `{cron: "@daily", calendar: none}`: "schedules[0].calendar", `{cron: "@daily", priority: -4}`: "schedules[0].priority",
	} {
		fields := apperr.FieldsOf(b.register("1.0.0", schedules))
		require.NotEmpty(t, fields, schedules)
		require.Equal(t, path, fields[0].Path, "%v", fields)
	}
	_, err := b.workflows.Get(b.ctx, "report")
	require.True(t, apperr.Is(err, apperr.NotFound))
	b.create(hourly("quick", func(sp *schedule.Spec) { sp.Name = "report" }))
	err = b.register("1.0.0", `{cron: "@daily"}`)
	require.True(t, apperr.Is(err, apperr.Conflict), "%v", err)
}

// TestCalendars: schedules follow a change of their calendar, which cannot be deleted while they use it.
func TestCalendars(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, err := b.schedules.Calendars().Save(b.ctx, schedule.Calendar{Name: "Germany"})
	require.NoError(t, err)
	require.Equal(t, []string{"SAT", "SUN"}, c.Weekend)
	sc := b.create(hourly("quick", func(sp *schedule.Spec) { sp.Calendar, sp.Expressions = "germany", []string{"0 12 * * *"} }))
	require.Equal(t, "Germany", sc.Calendar)
	require.Equal(t, noon, *sc.NextAt)
	c.Holidays = []schedule.Holiday{{Date: "2026-11-24", Name: "Day of tests"}}
	_, err = b.schedules.Calendars().Save(b.ctx, c)
	require.NoError(t, err)
	sc, err = b.schedules.Get(b.ctx, sc.ID)
	require.NoError(t, err)
	require.Equal(t, noon.AddDate(0, 0, 1), *sc.NextAt)
	b.fire(noon)
	require.Empty(t, b.states(sc.ID))
	fires, excluded, err := b.schedules.Outlook(b.ctx, schedule.When{Expressions: []string{"0 12 * * *"}, Calendar: "Germany", BusinessDays: true}, 1)
	require.NoError(t, err)
	require.Len(t, fires, 1)
	require.Equal(t, noon.AddDate(0, 0, -1), fires[0].IntervalStart.UTC(), "the fire before the holiday")
	require.Empty(t, excluded, "it is noon")
	require.True(t, apperr.Is(b.schedules.Calendars().Delete(b.ctx, "Germany"), apperr.Conflict))
	require.NoError(t, b.schedules.Delete(b.ctx, sc.ID))
	require.NoError(t, b.schedules.Calendars().Delete(b.ctx, "Germany"))
	for path, wrong := range map[string]schedule.Calendar{
		"name": {}, "weekend": {Name: "a", Weekend: []string{"FUN"}}, "holidays.0": {Name: "a", Holidays: []schedule.Holiday{{Date: "25.12."}}},
		"holidays.1":  {Name: "a", Holidays: []schedule.Holiday{{Date: "2026-12-25"}, {Date: "2026-12-25"}}},
		"blackouts.0": {Name: "a", Blackouts: []schedule.Blackout{{Starts: noon, Ends: noon}}},
	} {
		_, err := b.schedules.Calendars().Save(b.ctx, wrong)
		fields := apperr.FieldsOf(err)
		require.Len(t, fields, 1, "%s: %v", path, err)
		require.Equal(t, path, fields[0].Path)
	}
}
