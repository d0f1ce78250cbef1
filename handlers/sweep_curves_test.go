package handlers_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/sweep"
)

// TestCurvesOfASweep: the page draws the curves of a metric of the best runs, in the colors of its table.
// The address of the curves does not name the runs, so that it stays the same while runs start.
func TestCurvesOfASweep(t *testing.T) {
	t.Parallel()
	b := swept(t)
	path := b.member.sweepOf(t, sweepForm("name", "Curves of x"))
	b.untilSwept(t, path)
	b.member.get(t, path).says(t, http.StatusOK, `id="curves"`, "The runs have not reported metrics.", "6 runs")

	id := strings.TrimPrefix(path, "/sweeps/")
	study, err := b.deps.Sweeps.Study(b.ctx, uuid.MustParse(id))
	require.NoError(t, err)
	runs, _, err := study.Runs(sweep.Filter{Sort: "objective"})
	require.NoError(t, err)
	drawn := study.Charted(2)
	require.Equal(t, []uuid.UUID{*runs[0].ExecutionID, *runs[1].ExecutionID}, drawn.Executions, "the best")
	require.Len(t, drawn.All, 6)
	for _, run := range runs[:3] {
		e, err := b.executions.Get(b.ctx, *run.ExecutionID)
		require.NoError(t, err)
		b.losses(t, e, 1, 0, 3, 5)
	}
	page := b.member.get(t, path+"?sort=x&x=relative")
	data := "/compare/curves?" + url.Values{"metric": {"loss"}, "sweep": {id}, "x": {"relative"}}.Encode()
	page.says(t, http.StatusOK, `data-curves="`+strings.ReplaceAll(data, "&", "&amp;")+`"`, `<option value="loss" selected>loss</option>`, `name="sort" value="x"`)
	require.Contains(t, page.body, "sort=-x&amp;x=relative", "the links of the table keep the axis")

	require.Equal(t, http.StatusNoContent, b.member.submit(t, "/executions/"+runs[0].ExecutionID.String()+"/labels?field=name", "name_was", "", "name", "the widest").status)
	b.member.get(t, path).says(t, http.StatusOK, `<span class="sweep-sub cut-2">the widest</span>`)

	colors := swatches(t, b.member.get(t, path).body)
	require.Len(t, colors, 6)
	curves := b.member.get(t, "/compare/curves?metric=loss&sweep="+id).object(t, http.StatusOK)
	require.Equal(t, false, curves["live"])
	lines := curves["lines"].([]any)
	require.Len(t, lines, 3)
	for _, one := range lines {
		l := one.(map[string]any)
		color, dash := l["color"].(interface{ String() string }).String(), l["dash"].(interface{ String() string }).String()
		require.Equal(t, colors[l["run"].(string)][len("line s"):], next(color)+" d"+dash, "the color and the dash of the row")
		require.True(t, slices.ContainsFunc(runs[:3], func(r sweep.Run) bool { return r.ExecutionID.String() == l["run"] }))
	}
	require.Contains(t, b.member.get(t, "/compare/curves.csv?metric=loss&sweep="+id).body, runs[0].ExecutionID.String())
	require.Contains(t, b.member.get(t, "/compare/curves?metric=none&sweep="+id).body, `"lines":[]`)
	require.Equal(t, http.StatusNotFound, b.member.get(t, "/compare/curves?metric=loss&sweep="+uuid.NewString()).status)
	require.Equal(t, http.StatusUnprocessableEntity, b.member.get(t, "/compare/curves?sweep="+id).status)

	deleted := runs[0].ExecutionID.String()
	form := url.Values{"action": {"delete"}, "id": {deleted}, "back": {"/executions"}, "step": {"apply"}, "key": {uuid.NewString()}}
	require.Equal(t, http.StatusSeeOther, b.member.send(t, "POST", "/executions/bulk", "application/x-www-form-urlencoded", form.Encode()).status)
	require.NoError(t, b.deps.Retention.RemoveDeleted(b.ctx))
	require.Equal(t, http.StatusNotFound, b.member.get(t, "/executions/"+deleted).status)
	curves = b.member.get(t, "/compare/curves?metric=loss&sweep="+id).object(t, http.StatusOK)
	require.Len(t, curves["lines"], 2, "the runs that still exist")
	page = b.member.get(t, path)
	page.says(t, http.StatusOK, "Compare the best 5")
	require.Regexp(t, `id="curves-drawn"[^>]*>5 runs<`, page.body, "the deleted run has no curve")
	study, err = b.deps.Sweeps.Study(b.ctx, uuid.MustParse(id))
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{*runs[1].ExecutionID, *runs[2].ExecutionID}, study.Charted(2).Executions, "the best that exist")
	require.NotContains(t, strings.Join(regexp.MustCompile(`href="(/compare[^"]*)"`).FindStringSubmatch(page.body), ""), deleted)
}
