package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const scheduledFlow = "{name: nightly.load, version: 1.0.0, inputs: [{name: day, type: Date}, {name: note, type: String, default: none}, {name: n, type: \"Integer(max=5)\", default: 1}], operators: [{name: one, type: noop}]}"

const nightlyForm = "/workflows/nightly.load/schedule"

// nightlyFields are a valid form: every day at 02:30 in Berlin, for the day of the fire.
func nightlyFields(change ...string) []string {
	fields := []string{
		"$mode", "form", "schedule.name", "nightly", "schedule.kind", "cron", "schedule.repeats", "daily", "schedule.time", "02:30", "schedule.timezone", "Europe/Berlin",
		"schedule.tag.day", "{{ scheduled_time | date }}", "inputs.day", "", "inputs.note", "kept text", "inputs.n", "2",
	}
	for i := 0; i+1 < len(change); i += 2 {
		for j := 0; j < len(fields); j += 2 {
			if fields[j] == change[i] {
				fields[j+1] = change[i+1]
			}
		}
		fields = append(fields, change[i], change[i+1])
	}
	return fields
}

// TestTheScheduleForm: a form becomes a schedule whose inputs have the times of fires, and its form
// shows what was saved.
func TestTheScheduleForm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, scheduledFlow)
	require.Contains(t, b.member.get(t, nightlyForm).body, "New schedule")

	parts := b.member.submit(t, nightlyForm, nightlyFields("$panel", "1")...)
	require.Equal(t, http.StatusOK, parts.status)
	for _, text := range []string{"Every day at 02:30", "30 2 * * *", "Ready to save", "Next: <code>20", "UTC"} {
		require.Contains(t, parts.body, text)
	}

	saved := b.member.submit(t, nightlyForm, nightlyFields()...)
	require.Equal(t, http.StatusSeeOther, saved.status, saved.body)
	page := saved.header.Get("Location")
	sc := b.member.get(t, "/api/v1"+page).object(t, http.StatusOK)
	require.Equal(t, "30 2 * * *", sc["cron"])
	require.Equal(t, "{{ scheduled_time | date }}", sc["inputs"].(map[string]any)["day"])
	require.Equal(t, "kept text", sc["inputs"].(map[string]any)["note"])

	run := b.member.post(t, "/api/v1"+page+"/run", "").object(t, http.StatusOK)
	require.Contains(t, b.member.get(t, "/executions/"+run["execution_id"].(string)).body, "launched manually from schedule")
	launched := b.member.get(t, "/api/v1/executions/"+run["execution_id"].(string)).object(t, http.StatusOK)
	require.Equal(t, map[string]any{"id": sc["id"], "name": sc["name"]}, launched["schedule"])
	require.NotContains(t, launched, "trigger")

	edit := b.member.get(t, page+"/edit")
	require.Contains(t, edit.body, `<option value="{{ scheduled_time | date }}" selected>`)
	require.Contains(t, edit.body, `value="kept text"`)
	changed := b.member.submit(t, page+"/edit", nightlyFields("schedule.repeats", "custom", "schedule.cron", "0 3 * * MON\n0 4 * * SUN", "schedule.pause", "1")...)
	require.Equal(t, http.StatusSeeOther, changed.status, changed.body)
	sc = b.member.get(t, "/api/v1"+page).object(t, http.StatusOK)
	require.Equal(t, []any{"0 3 * * MON", "0 4 * * SUN"}, sc["crons"])
	require.Equal(t, true, sc["paused"])
	require.Contains(t, b.member.get(t, "/search?q=nightly").body, page)
	require.Contains(t, b.member.get(t, "/workflows/nightly.load").body, page)
}

// TestARefusedScheduleFormKeepsWhatWasTyped: each wrong value has its error at its control.
func TestARefusedScheduleFormKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, scheduledFlow)
	for name, c := range map[string]struct {
		change []string
		target string
		says   string
	}{
		"zone":     {[]string{"schedule.timezone", "Berlin"}, "schedule-timezone", "Unknown time zone &#34;Berlin&#34;"},
		"name":     {[]string{"schedule.name", ""}, "schedule-name", "Enter a name."},
		"time":     {[]string{"schedule.time", "25:00"}, "schedule-time", "Enter a time of the day such as 02:30."},
		"days":     {[]string{"schedule.repeats", "weekly"}, "schedule-days", "Choose at least one day."},
		"cron":     {[]string{"schedule.repeats", "custom", "schedule.cron", "0 0 31 2 *"}, "schedule-cron", "never runs"},
		"interval": {[]string{"schedule.kind", "every", "schedule.every", "soon"}, "schedule-every", "Enter an interval such as 6h or 90m."},
		"past":     {[]string{"schedule.kind", "at", "schedule.at", "2020-01-01T00:00"}, "schedule-at", "never runs"},
		"jitter":   {[]string{"schedule.jitter", "much"}, "schedule-jitter", "is not a duration"},
		"input":    {[]string{"inputs.n", "9"}, "f-n", "9 is more than 5"},
		"tag":      {[]string{"schedule.tag.day", "text", "schedule.text.day", "on {{ scheduled_time | date }}"}, "f-day", "is not a date"},
	} {
		answer := b.member.submit(t, nightlyForm, nightlyFields(c.change...)...)
		require.Equal(t, http.StatusUnprocessableEntity, answer.status, name)
		require.Contains(t, answer.body, c.says, name)
		require.Contains(t, answer.body, `id="`+c.target+`"`, name)
		require.Contains(t, answer.body, `value="kept text"`, name)
	}
	require.NotContains(t, b.member.get(t, "/schedules").body, "nightly.load")
}

// TestSchedulesAreSwitchedTogether: the selected ones, and none without a selection.
func TestSchedulesAreSwitchedTogether(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, scheduledFlow)
	var ids []string
	for _, name := range []string{"one", "two"} {
		saved := b.member.submit(t, nightlyForm, nightlyFields("schedule.name", name)...)
		require.Equal(t, http.StatusSeeOther, saved.status, saved.body)
		ids = append(ids, strings.TrimPrefix(saved.header.Get("Location"), "/schedules/"))
	}
	require.Equal(t, http.StatusUnprocessableEntity, b.member.submit(t, "/schedules/bulk", "action", "pause").status)
	answer := b.member.submit(t, "/schedules/bulk", "action", "pause", "schedule", ids[0], "schedule", ids[1], "back", url.Values{"q": {"o"}}.Encode())
	require.Equal(t, "/schedules?q=o", answer.header.Get("Location"))
	for _, id := range ids {
		require.Equal(t, true, b.member.get(t, "/api/v1/schedules/"+id).object(t, http.StatusOK)["paused"])
	}
	list := b.member.get(t, "/schedules?state=paused&q=tw").body
	require.Contains(t, list, ids[1])
	require.NotContains(t, list, ids[0])
}
