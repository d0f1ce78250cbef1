package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadTimed: documents of schedules and calendars have the fields of the API.
func TestReadTimed(t *testing.T) {
	t.Parallel()
	d, err := readTimed([]byte("kind: Schedule\napiVersion: flowforge.io/v1\nworkflow: train\nname: nightly\ncron: 0 2 * * *\ninputs: {day: 1}\ncalendar: germany\n"))
	require.NoError(t, err)
	require.Equal(t, "train", d.schedule.Workflow)
	require.Equal(t, "nightly", d.schedule.Name)
	require.Equal(t, "germany", d.schedule.Calendar)
	require.JSONEq(t, `{"day": 1}`, string(d.schedule.Inputs))
	d, err = readTimed([]byte("kind: Calendar\nname: germany\nholidays: [{date: 2026-12-25, name: Christmas}]\n"))
	require.NoError(t, err)
	require.Equal(t, "germany", d.name)
	require.Equal(t, "2026-12-25", d.calendar.Holidays[0].Date)
	d, err = readTimed([]byte("kind: Trigger\nname: evaluate\nworkflow: digits.evaluate\nsources: [digits.train]\ninputs: {model: '{{ execution.outputs.model }}'}\n"))
	require.NoError(t, err)
	require.Equal(t, "evaluate", d.name)
	require.Equal(t, []string{"digits.train"}, d.trigger.Sources)
	require.Equal(t, "execution", d.trigger.Kind)
	d, err = readTimed([]byte("kind: Trigger\nname: hook\nworkflow: a\nsignature: github\nsecret: b\n"))
	require.NoError(t, err)
	require.Equal(t, "webhook", d.trigger.Kind)
	d, err = readTimed([]byte("kind: Trigger\nname: deploy\nworkflow: digits.serve\nwaits_for: model\nsources: [digits]\nstages: [production]\n"))
	require.NoError(t, err)
	require.Equal(t, []any{"model", []string{"production"}}, []any{d.trigger.Kind, d.trigger.Stages})
	d, err = readTimed([]byte("kind: Trigger\nname: page\nworkflow: a\non: {http: {url: 'https://example.com', every: 5m, when: appears}}\n"))
	require.NoError(t, err)
	require.Equal(t, []any{"http", "appears"}, []any{d.trigger.Kind, d.trigger.HTTP.When})
	d, err = readTimed([]byte("kind: Trigger\nname: both\nworkflow: a\non:\n  all:\n  - {name: images, kind: dataset, sources: [images]}\n  - {name: labels, kind: dataset, sources: [labels]}\n  within: 24h\n  by: dataset.facts.day\n"))
	require.NoError(t, err)
	require.Equal(t, []any{"all", "labels", "24h"}, []any{d.trigger.Kind, d.trigger.All[1].Name, d.trigger.Within})
	for doc, problem := range map[string]string{
		"kind: Trigger\nname: a\non: {ftp: {}}\n": `unknown field "ftp"`, "kind: Trigger\nname: a\non: often\n": "on: enter http",
		"kind: Trigger\nname: a\non: {s3: {bukket: x}}\n": `unknown field "bukket"`,
		"kind: Schedule\nworkflow: a\n":                   "needs a name", "kind: Schedule\nname: a\ncrn: x\n": `unknown field "crn"`, "kind: Calendar\nname: a\nweekend: 7\n": "weekend: a number",
		"kind: Trigger\nname: a\nwaits_for: 7\n":    "waits_for: a number",
		"kind: Schedule\napiVersion: v1\nname: a\n": "flowforge.io/v1",
	} {
		_, err := readTimed([]byte(doc))
		require.ErrorContains(t, err, problem)
	}
	d, err = readTimed([]byte("name: train\nversion: 1.0.0\n"))
	require.NoError(t, err)
	require.Nil(t, d)
}

// TestApplyKeepsWhatIsOff: a schedule that is paused, and a trigger that is off, stay so unless the document says
// otherwise.
func TestApplyKeepsWhatIsOff(t *testing.T) {
	t.Parallel()
	const schedule, trigger = "kind: Schedule\nname: nightly\nworkflow: train\ncron: 0 2 * * *\n", "kind: Trigger\nname: after\nworkflow: train\nsources: [load]\n"
	for document, off := range map[string]bool{schedule: true, schedule + "paused: false\n": false, trigger: true, trigger + "disabled: false\n": false} {
		file := filepath.Join(t.TempDir(), "document.yaml")
		require.NoError(t, os.WriteFile(file, []byte(document), 0o600))
		var put string
		_, err := command(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPut:
				body, _ := io.ReadAll(r.Body)
				put = string(body)
				answer(w, http.StatusOK, "{}")
			case r.URL.Path == "/api/v1/schedules":
				answer(w, http.StatusOK, `{"schedules":[{"id":"019aa5c8-7f3e-7c11-9a40-3f0c2d1b5e77","paused":true}]}`)
			default:
				answer(w, http.StatusOK, `{"disabled":true}`)
			}
		}, "apply", file)
		require.NoError(t, err)
		require.Contains(t, put, `"workflow":"train"`)
		require.Equal(t, off, strings.Contains(put, ":true"), "%s: %s", document, put)
	}
}
