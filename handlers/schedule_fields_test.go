package handlers_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// typedValues are the values of the controls of a page by name, as a browser would send them. Several of
// a name are joined with commas.
func typedValues(t *testing.T, page string) map[string]string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	out := map[string]string{}
	add := func(name, value string) {
		if was, ok := out[name]; ok {
			value = was + "," + value
		}
		out[name] = value
	}
	var walk func(n *html.Node, in string)
	walk = func(n *html.Node, in string) {
		at := map[string]string{}
		for _, a := range n.Attr {
			at[a.Key] = a.Val
		}
		_, checked := at["checked"]
		_, selected := at["selected"]
		switch {
		case n.Data == "select":
			in = at["name"]
		case n.Data == "option" && selected:
			add(in, at["value"])
		case n.Data == "textarea" && n.FirstChild != nil:
			add(at["name"], n.FirstChild.Data)
		case n.Data == "textarea":
			add(at["name"], "")
		case n.Data == "input" && (at["type"] != "radio" && at["type"] != "checkbox" || checked):
			add(at["name"], at["value"])
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, in)
		}
	}
	walk(root, "")
	return out
}

// typed are values of every control of the form of a schedule that differ from the defaults.
func typed() map[string]string {
	return map[string]string{
		"schedule.name": "all of it", "schedule.kind": "cron", "schedule.repeats": "custom", "schedule.cron": "0 12 * * MON\n30 2 * * *", "schedule.timezone": "America/New_York",
		"schedule.starts": "2027-01-01T00:00", "schedule.ends": "2028-12-31T23:59", "schedule.calendar": "holidays", "schedule.business_days": "1",
		"schedule.exclude": "22:00-06:00 FRI, SAT\n12:30-13:00", "schedule.when": "schedule.failed < 3", "schedule.stop_when": "schedule.succeeded >= 10",
		"schedule.keep_succeeded": "7", "schedule.keep_failed": "0", "schedule.jitter": "5 min", "schedule.gap": "skip", "schedule.fold": "both", "schedule.misfire": "all",
		"schedule.catch_up": "2 h", "schedule.catch_up_max": "20", "schedule.overlap": "queue_all", "schedule.max_running": "3", "schedule.pause_after": "4",
		"inputs.note": "kept text", "inputs.n": "2", "version": "1.0.0", "priority": "HIGH",
	}
}

// fieldsOf are the fields of a form, and those that change.
func fieldsOf(values map[string]string, change ...string) []string {
	fields := []string{"$mode", "form", "schedule.tag.day", "{{ scheduled_time | date }}", "inputs.day", ""}
	values = maps.Clone(values)
	for i := 0; i+1 < len(change); i += 2 {
		values[change[i]] = change[i+1]
	}
	for name, value := range values {
		fields = append(fields, name, value)
	}
	return fields
}

func scheduleSetup(t *testing.T) *testBundle {
	t.Helper()
	b := setup(t)
	b.register(t, scheduledFlow)
	require.Equal(t, http.StatusOK, b.admin.send(t, http.MethodPut, "/api/v1/calendars/holidays", "application/json", `{"holidays": [{"date": "2027-12-25", "name": "Christmas"}]}`).status)
	return b
}

// TestARefusedScheduleFormKeepsEveryControl: whatever is wrong, all other controls keep their values,
// and the wrong one keeps what was typed and has its error.
func TestARefusedScheduleFormKeepsEveryControl(t *testing.T) {
	t.Parallel()
	b := scheduleSetup(t)
	for _, c := range []struct{ name, value, says string }{
		{"schedule.timezone", "Mars", "Unknown time zone &#34;Mars&#34;"},
		{"schedule.calendar", "feasts", "There is no calendar &#34;feasts&#34; in the project."},
		{"schedule.exclude", "late", "&#34;late&#34; is not a window."},
		{"schedule.exclude", "22:00-06:00\n25:00-26:00", "&#34;25:00&#34; is not a time of the day."},
		{"schedule.exclude", "22:00-06:00 FUNDAY", "&#34;FUNDAY&#34; is not a day of the week."},
		{"schedule.when", "schedule.failed <", "schedule-when-error"},
		{"schedule.stop_when", "schedule.unknown > 1", "schedule-stop-when-error"},
		{"schedule.keep_succeeded", "many", "&#34;many&#34; is not a whole number."},
		{"schedule.keep_failed", "100001", "Enter 0 to 100000."},
		{"schedule.jitter", "much", "&#34;much&#34; is not a duration."},
		{"schedule.catch_up", "-2h", "schedule-catch-up-error"},
		{"schedule.catch_up_max", "1001", "Enter 1 to 1000."},
		{"schedule.max_running", "x", "&#34;x&#34; is not a whole number."},
		{"schedule.pause_after", "101", "Enter 0 to 100."},
		{"schedule.starts", "soon", "&#34;soon&#34; is not a time."},
		{"schedule.ends", "2026-12-31T00:00", "The end must be after the start."},
		{"schedule.cron", "0 0 31 2 *", "never runs"},
		{"inputs.n", "9", "9 is more than 5"},
	} {
		sent := fieldsOf(typed(), c.name, c.value)
		answer := b.member.submit(t, nightlyForm, sent...)
		require.Equal(t, http.StatusUnprocessableEntity, answer.status, c.name)
		require.Contains(t, answer.body, c.says, c.name)
		require.Contains(t, answer.body, "Your entries were kept.", c.name)
		shown := typedValues(t, answer.body)
		for i := 0; i < len(sent); i += 2 {
			require.Equal(t, sent[i+1], shown[sent[i]], "%s, when %s is wrong", sent[i], c.name)
		}
	}
	require.NotContains(t, b.member.get(t, "/schedules").body, "all of it")
}

// TestARefusedScheduleFormShowsAllErrors: a text that cannot be read does not hide what is wrong elsewhere.
func TestARefusedScheduleFormShowsAllErrors(t *testing.T) {
	t.Parallel()
	b := scheduleSetup(t)
	answer := b.member.submit(t, nightlyForm, fieldsOf(typed(), "schedule.exclude", "all night", "schedule.timezone", "Mars", "schedule.pause_after", "101", "schedule.cron", "")...)
	require.Equal(t, http.StatusUnprocessableEntity, answer.status)
	for _, id := range []string{"schedule-exclude-error", "schedule-timezone-error", "schedule-pause-after-error", "schedule-cron-error"} {
		require.Contains(t, answer.body, `id="`+id+`"`)
	}
	require.Contains(t, answer.body, "4 values need attention")
}

// TestEditingAScheduleShowsWhatIsStored: the form of a schedule has each of its values, and saving it
// unchanged changes nothing.
func TestEditingAScheduleShowsWhatIsStored(t *testing.T) {
	t.Parallel()
	b := scheduleSetup(t)
	saved := b.member.submit(t, nightlyForm, fieldsOf(typed(), "schedule.pause", "1")...)
	require.Equal(t, http.StatusSeeOther, saved.status, saved.body)
	address := saved.header.Get("Location")
	before := b.member.get(t, "/api/v1"+address).object(t, http.StatusOK)
	require.Equal(t, "holidays", before["calendar"])
	require.Equal(t, true, before["business_days"])
	require.Len(t, before["exclude"], 2)
	require.Equal(t, "schedule.failed < 3", before["when"])
	require.Equal(t, "schedule.succeeded >= 10", before["stop_when"])
	require.Equal(t, json.Number("7"), before["keep_succeeded"])
	require.Equal(t, json.Number("0"), before["keep_failed"])

	shown := typedValues(t, b.member.get(t, address+"/edit").body)
	for name, value := range typed() {
		require.Equal(t, value, shown[name], name)
	}
	require.Equal(t, "{{ scheduled_time | date }}", shown["schedule.tag.day"])
	require.Equal(t, http.StatusSeeOther, b.member.submit(t, address+"/edit", fieldsOf(typed())...).status)
	after := b.member.get(t, "/api/v1"+address).object(t, http.StatusOK)
	for _, changing := range []string{"updated_at", "version_tag"} {
		delete(before, changing)
		delete(after, changing)
	}
	require.Equal(t, before, after)

	page := b.member.get(t, address).body
	for _, text := range []string{"Next runs if resumed", " on business days, calendar holidays", "Only business days", "22:00 to 06:00 on Friday, Saturday", "schedule.failed &lt; 3", "7 succeeded executions", "0 failed executions"} {
		require.Contains(t, page, text)
	}
}

// TestThePreviewShowsWhatIsLeftOut: the excluded times are among the next runs, with the reason.
func TestThePreviewShowsWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	b := scheduleSetup(t)
	parts := b.member.submit(t, nightlyForm, fieldsOf(typed(), "$panel", "1", "schedule.cron", "0 9 * * *")...)
	require.Equal(t, http.StatusOK, parts.status)
	require.Contains(t, parts.body, "Saturday is not a business day")
	require.Equal(t, 10, strings.Count(parts.body, `<span class="n">`)-strings.Count(parts.body, "No run:"))
}

// TestAScheduleOfADefinitionIsReadOnly: its page says where it comes from and has no form.
func TestAScheduleOfADefinitionIsReadOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, `{name: report, version: 1.0.0, operators: [{name: one, type: noop}], schedules: [{name: declared nightly, cron: "0 2 * * *"}]}`)
	list := b.member.get(t, "/schedules").body
	require.Contains(t, list, "from the definition")
	at := slices.IndexFunc(strings.Split(list, `"`), func(s string) bool { return strings.HasPrefix(s, "/schedules/0") })
	require.Positive(t, at)
	address := strings.Split(list, `"`)[at]
	address = "/schedules/" + strings.Split(address, "/")[2]
	for _, c := range []*caller{b.member, b.admin} {
		page := c.get(t, address).body
		require.Contains(t, page, "The definition of report declares this schedule.")
		require.Contains(t, page, `href="/workflows/report"`)
		require.NotContains(t, page, address+"/edit")
		require.NotContains(t, page, address+"/delete")
		require.Equal(t, http.StatusConflict, c.get(t, address+"/edit").status)
		require.Equal(t, http.StatusConflict, c.submit(t, address+"/edit", fieldsOf(typed())...).status)
	}
}
