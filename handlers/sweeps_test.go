package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/comparison/curve"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/views"
)

// sweptDocument has its best score at x = 3.
const sweptDocument = `.swept
version: 1.0.0
inputs: [{name: x, type: "Float(max=9)"}, {name: mode, type: "Enum(fast, slow)", default: fast}, {name: note, type: String, default: ""}]
outputs: [{name: score, type: Float, expression: "0.0 - (inputs.x - 3.0) * (inputs.x - 3.0)"}]
operators: [{name: one, type: noop}]
`

// swept is a site whose sweeps are driven.
func swept(t *testing.T) *testBundle {
	t.Helper()
	b := setup(t)
	b.register(t, "name: pages"+sweptDocument)
	b.start(t)
	ctx, stop := context.WithCancel(b.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.deps.Sweeps.Run(ctx)
	}()
	t.Cleanup(func() { stop(); <-done })
	return b
}

func sweepForm(pairs ...string) string {
	values := url.Values{
		"version": {"1.0.0"}, "$shown": {"1.0.0"}, "$mode": {"form"}, "sweep.on.x": {"1"}, "sweep.kind.x": {"values"}, "sweep.values.x": {"1, 2, 4"}, "sweep.method": {"grid"}, "sweep.rule": {"none"},
		"sweep.on.mode": {"1"}, "sweep.kind.mode": {"values"}, "sweep.pick.mode": {`"fast"`, `"slow"`}, "sweep.objective_kind": {"output"}, "sweep.objective": {"score"}, "sweep.goal": {"max"},
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return values.Encode()
}

// untilSwept waits until a sweep has ended.
func (b *testBundle) untilSwept(t *testing.T, path string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(b.member.get(t, path).body, "Finished") }, time.Minute, 50*time.Millisecond)
}

func (c *caller) sweepOf(t *testing.T, form string) string {
	t.Helper()
	sent := c.send(t, http.MethodPost, "/workflows/pages.swept/sweep", "application/x-www-form-urlencoded", form)
	require.Equal(t, http.StatusSeeOther, sent.status, sent.body)
	return sent.header.Get("Location")
}

// listsSweep checks that lists show a sweep of six runs as one row, and each run on request.
func (c *caller) listsSweep(t *testing.T, path string) {
	t.Helper()
	id := strings.TrimPrefix(path, "/sweeps/")
	runs := "/executions?where=" + url.QueryEscape("sweep = "+id)
	list := c.get(t, "/executions")
	list.says(t, http.StatusOK, `id="x-`+id+`"`, `href="`+path+`">Grid of x`, "Sweep of pages.swept 1.0.0", `href="`+runs+`">6 runs`, "best score −1", "0 executions and 1 sweep", "Each run")
	require.NotContains(t, list.body, "Grid of x, run 1")
	each := c.get(t, "/executions?sweeps=each&workflow=pages.swept")
	each.says(t, http.StatusOK, "Grid of x, run 1", "Grid of x, run 6", `name="sweeps" value="each"`, `href="/executions?workflow=pages.swept"`)
	require.NotContains(t, each.body, `id="x-`+id+`"`)
	c.get(t, "/executions?q=run+3").says(t, http.StatusOK, "Grid of x, run 3")
	c.get(t, "/executions?state=FAILED").says(t, http.StatusOK, "No execution matches")
	c.get(t, "/executions?state=SUCCEEDED").says(t, http.StatusOK, `href="/executions?state=SUCCEEDED&amp;where=`+url.QueryEscape("sweep = "+id))

	all := c.get(t, "/api/v1/executions").object(t, http.StatusOK)["executions"].([]any)
	require.Len(t, all, 6)
	require.Equal(t, id, all[0].(map[string]any)["sweep_id"])
	require.NotContains(t, all[0], "sweep")
	grouped := c.get(t, "/api/v1/executions?sweeps=grouped&status=SUCCEEDED").object(t, http.StatusOK)["executions"].([]any)
	require.Len(t, grouped, 1)
	of := grouped[0].(map[string]any)["sweep"].(map[string]any)
	require.Equal(t, "Grid of x 6 6", fmt.Sprint(of["name"], " ", of["runs"], " ", of["matching"]))
	c.get(t, "/api/v1/executions?sweeps=some").object(t, http.StatusUnprocessableEntity)
}

// TestSweepPages: the form launches a sweep; its page shows runs, the best one, and what to do with it.
func TestSweepPages(t *testing.T) {
	t.Parallel()
	b := swept(t)
	b.member.get(t, "/sweeps").says(t, http.StatusOK, "No sweeps yet")
	path := b.member.sweepOf(t, sweepForm("name", "Grid of x"))
	b.untilSwept(t, path)

	shown := b.member.get(t, path)
	shown.says(t, http.StatusOK, "Grid of x", "of 6 ended", "Launch the best again", "Save the best as a preset", "Compare the best 5", "1, 2, 4", "Add runs")
	b.member.get(t, "/sweeps").says(t, http.StatusOK, "Grid of x", "6 of 6", "Grid over x, mode")
	b.member.get(t, "/search?q=grid+of").says(t, http.StatusOK, `href="`+path+`"`)
	require.NotContains(t, b.member.get(t, "/search?q=grid_of").body, path)
	home := b.member.get(t, "/")
	home.says(t, http.StatusOK, `href="`+path+`">Grid of x</a>`, "6 runs", "best score −1")
	require.NotContains(t, home.body, "Grid of x, run 1", "the runs of a sweep are one row")
	b.member.listsSweep(t, path)
	b.member.get(t, "/sweeps?state=RUNNING").says(t, http.StatusOK, "No sweep has this state")

	var frame views.PlotFrame
	require.NoError(t, json.Unmarshal([]byte(b.member.get(t, path+"/runs.json").body), &frame))
	require.Len(t, frame.IDs, 6)
	require.Equal(t, "objective", frame.Columns[frame.Objective].Role)
	require.InDelta(t, -1, frame.Columns[frame.Objective].Values[frame.Best], 1e-9)
	require.Equal(t, []string{"fast", "slow"}, frame.Columns[1].Categories)
	for i, id := range frame.IDs {
		require.Equal(t, curve.ColorOf(uuid.MustParse(id)), frame.Colors[i], "charts have the color of the execution")
		line := fmt.Sprintf(`data-run="%s".*?<path class="line s%d d%d"`, id, frame.Colors[i]+1, frame.Dashes[i])
		require.Regexp(t, `(?s)`+line, shown.body, "the table has the line of the charts")
	}

	ascending, descending := b.member.get(t, path+"?sort=x").body, b.member.get(t, path+"?sort=-x").body
	require.Less(t, strings.Index(ascending, `id="run-0"`), strings.Index(ascending, `id="run-5"`))
	require.Greater(t, strings.Index(descending, `id="run-0"`), strings.Index(descending, `id="run-5"`))
	b.member.get(t, path+"?sort=nothing").says(t, http.StatusUnprocessableEntity, "The runs cannot be sorted")

	best := frame.IDs[frame.Best]
	b.member.get(t, "/executions/"+best).says(t, http.StatusOK, "Grid of x")
	again := b.member.get(t, "/workflows/pages.swept/launch?from="+best+"&save=1")
	again.says(t, http.StatusOK, "Filled in from")
	require.Regexp(t, `<details class="add-fold" open`, again.body)
	b.member.get(t, "/workflows/pages.swept/sweep?like="+strings.TrimPrefix(path, "/sweeps/")).says(t, http.StatusOK, "Filled in from the sweep “Grid of x”", `value="1, 2, 4"`, "Launch 6 runs")
}

// TestSweepFormErrors: a refused form keeps what was typed, and names the controls.
func TestSweepFormErrors(t *testing.T) {
	t.Parallel()
	b := swept(t)
	refused := b.member.send(t, http.MethodPost, "/workflows/pages.swept/sweep", "application/x-www-form-urlencoded", sweepForm("sweep.values.x", "1, 12", "sweep.objective", "loss", "inputs.note", "typed before"))
	refused.says(t, http.StatusUnprocessableEntity, "No sweep was launched: 2 values need attention", "12 is more than 9", "has no output", `value="1, 12"`, "typed before")
	require.Contains(t, refused.body, `href="#many-on-x"`)
	require.Contains(t, refused.body, `href="#sweep-objective"`)
	b.member.get(t, "/sweeps").says(t, http.StatusOK, "No sweeps yet")

	parts := b.member.send(t, http.MethodPost, "/workflows/pages.swept/sweep", "application/x-www-form-urlencoded", sweepForm("$panel", "1"))
	require.Equal(t, http.StatusOK, parts.status)
	require.Contains(t, parts.body, "Launch 6 runs")
	require.NotContains(t, parts.body, "<html")
	nothing := b.member.send(t, http.MethodPost, "/workflows/pages.swept/sweep", "application/x-www-form-urlencoded", "version=1.0.0&$panel=1")
	require.Contains(t, nothing.body, "No input has several values")

	once := b.member.send(t, http.MethodPost, "/workflows/pages.swept/launch", "application/x-www-form-urlencoded", sweepForm("$once", "1", "inputs.x", "2", "ttl", "3d"))
	once.says(t, http.StatusOK, `name="sweep.values.x" value="1, 2, 4"`, "Sweep inputs")
	back := b.member.send(t, http.MethodPost, "/workflows/pages.swept/sweep", "application/x-www-form-urlencoded", sweepForm("$sweep", "1", "inputs.x", "2", "ttl", "3d"))
	back.says(t, http.StatusOK, `name="ttl" value="3d"`, "Launch once instead", "Launch 6 runs")
}

// TestSweepCommands: pause, resume, change, add runs and stop.
func TestSweepCommands(t *testing.T) {
	t.Parallel()
	b := swept(t)
	path := b.member.sweepOf(t, sweepForm("name", "Changing"))
	b.untilSwept(t, path)
	change := func(pairs ...string) reply {
		values := url.Values{"name": {"Changing"}, "runs": {"6"}, "parallelism": {"4"}, "gpu_hours": {"0"}, "sweep.on.x": {"1"}, "sweep.kind.x": {"values"}, "sweep.values.x": {"1, 2, 4"}, "sweep.on.mode": {"1"}, "sweep.kind.mode": {"values"}, "sweep.pick.mode": {`"fast"`, `"slow"`}}
		for i := 0; i+1 < len(pairs); i += 2 {
			values.Set(pairs[i], pairs[i+1])
		}
		return b.member.send(t, http.MethodPost, path+"/change", "application/x-www-form-urlencoded", values.Encode())
	}
	b.member.get(t, path+"/change").says(t, http.StatusOK, "Change “Changing”", "6 runs exist already", `value="1, 2, 4"`)
	require.Equal(t, http.StatusSeeOther, change("gpu_hours", "2000").status)
	b.member.get(t, path+"/change").says(t, http.StatusOK, `value="2000"`)
	b.member.get(t, "/workflows/pages.swept/sweep?like="+strings.TrimPrefix(path, "/sweeps/")).says(t, http.StatusOK, `value="2000"`)
	change("runs", "2").says(t, http.StatusUnprocessableEntity, "The sweep already has 6 runs. Enter at least as many", `value="2"`)
	change("runs", "lots", "sweep.values.x", "1, 12").says(t, http.StatusUnprocessableEntity, "is not a whole number")
	require.Equal(t, http.StatusSeeOther, change("name", "Renamed").status)
	id, err := b.deps.Sweeps.Get(b.ctx, uuid.MustParse(strings.TrimPrefix(path, "/sweeps/")))
	require.NoError(t, err)
	require.Equal(t, 1, id.SpaceVersion, "the form changed a space that no user changed")
	require.Equal(t, http.StatusSeeOther, change("name", "Renamed", "sweep.values.x", "1, 2, 3", "runs", "8").status)
	require.Eventually(t, func() bool {
		s, err := b.deps.Sweeps.Get(b.ctx, id.ID)
		return err == nil && s.State == sweep.Succeeded && s.Counts.Succeeded == 8 && s.SpaceVersion == 2
	}, time.Minute, 50*time.Millisecond)
	b.member.get(t, path).says(t, http.StatusOK, "Renamed", "8 succeeded")

	for _, command := range []string{"pause", "resume", "stop"} {
		b.member.send(t, http.MethodPost, path+"/"+command, "application/x-www-form-urlencoded", "").says(t, http.StatusConflict, "Add runs to continue it")
	}
	b.member.get(t, path+"/stop").says(t, http.StatusOK, "Let them finish", "Cancel them")
}
