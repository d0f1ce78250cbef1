package handlers_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// chartedRuns are two executions that report the metric loss; the second one also reports accuracy.
func chartedRuns(t *testing.T) (b *testBundle, one, two string) {
	t.Helper()
	b = setupTable(t)
	b.register(t, typedDocument)
	one, two = b.launchTyped(t, 1), b.launchTyped(t, 2)
	var last query.Execution
	for _, id := range []string{one, two} {
		e, err := b.executions.Get(b.ctx, uuid.MustParse(id))
		require.NoError(t, err)
		b.losses(t, e, 1, 0, 3, 5)
		last = e
	}
	require.NoError(t, b.telemetry.AppendMetrics(auth.AsSystem(b.ctx), []telemetry.Point{{
		TenantID: last.TenantID, ProjectID: last.ProjectID, ExecutionID: last.ID, Node: "go", Attempt: 1, Seq: 100, Name: "accuracy", Kind: telemetry.Gauge, Step: new(int64), Value: 0.5, Time: time.Now(),
	}}))
	return b, one, two
}

// swatches are the colors of executions on a page, with their dashes.
func swatches(t *testing.T, body string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)data-run="([0-9a-f-]{36})".*?class="(line s\d d\d)"`).FindAllStringSubmatch(body, -1) {
		found[m[1]] = m[2]
	}
	return found
}

// TestChartsBesideTheTable: charts open with the metrics of the executions, their choice is part of the
// address, and every page gives an execution the same color.
func TestChartsBesideTheTable(t *testing.T) {
	t.Parallel()
	b, one, two := chartedRuns(t)
	table := "/executions?columns=inputs.epochs&sort=-inputs.epochs"
	closed := b.member.get(t, table)
	require.Contains(t, closed.body, `href="/executions?charts=open&amp;columns=inputs.epochs&amp;sort=-inputs.epochs"`)
	require.NotContains(t, closed.body, "data-run-charts")
	require.Empty(t, swatches(t, closed.body))
	require.Contains(t, b.member.get(t, "/executions").body, "charts=open", "the list leads to the charts")

	open := b.member.get(t, table+"&charts=open")
	require.Equal(t, http.StatusSeeOther, open.status)
	require.Equal(t, "/executions?columns=inputs.epochs%2Cmetrics.loss~chart%2Cmetrics.accuracy~chart&sort=-inputs.epochs", open.header.Get("Location"), "the metric of more executions comes first")
	page := b.member.get(t, open.header.Get("Location"))
	page.says(t, http.StatusOK, "data-run-charts", "2 executions", "1 of 2", "data-live")
	require.Contains(t, page.body, `data-curves="/compare/curves?executions=`+two+"%2C"+one+"&amp;metric=loss")
	require.Contains(t, page.body, "columns=inputs.epochs~pin%2Cmetrics.loss~chart", "the links of a column keep the charts")
	require.Equal(t, 2, strings.Count(page.body, `name="column" value="metrics.`), "the chooser of columns keeps the charts")
	require.Contains(t, page.body, `data-charts="metrics.loss~chart,metrics.accuracy~chart"`)
	require.Contains(t, page.body, `href="/executions?columns=inputs.epochs&amp;sort=-inputs.epochs" aria-label="Close the charts"`)
	require.Equal(t, 2, strings.Count(page.body, `data-eye title="Show in the charts" aria-pressed="true"`))
	hidden := b.member.get(t, open.header.Get("Location")+"&hide="+one[30:])
	require.Equal(t, 1, strings.Count(hidden.body, `data-eye title="Show in the charts" aria-pressed="false"`))

	colors := swatches(t, page.body)
	require.Len(t, colors, 2)
	require.Equal(t, colors, swatches(t, b.member.get(t, "/compare?executions="+one+","+two).body), "the page that compares them")
	curves := b.member.get(t, "/compare/curves?metric=loss&executions="+two+","+one).object(t, http.StatusOK)
	for _, line := range curves["lines"].([]any) {
		l := line.(map[string]any)
		color, dash := l["color"].(interface{ String() string }).String(), l["dash"].(interface{ String() string }).String()
		require.Equal(t, colors[l["run"].(string)][len("line s"):], next(color)+" d"+dash)
	}

	chosen := b.member.get(t, "/executions?charts=chosen&chart=accuracy&columns=inputs.epochs,metrics.loss~chart&x=relative")
	require.Equal(t, "/executions?columns=inputs.epochs%2Cmetrics.accuracy~chart&x=relative", chosen.header.Get("Location"))
	none := b.member.get(t, "/executions?charts=chosen&columns=metrics.loss~chart")
	require.Equal(t, "/executions?charts=none", none.header.Get("Location"))
	b.member.get(t, none.header.Get("Location")).says(t, http.StatusOK, "Choose the metrics to chart.", `value="loss"`)
	b.member.get(t, "/executions?columns=inputs.epochs~chart").says(t, http.StatusUnprocessableEntity, "Only a metric can be a chart")
	b.member.get(t, "/executions?charts=open&where=epochs%3D9").says(t, http.StatusOK, "No execution matches")
	columns := b.member.get(t, "/executions?column=name&column=metrics.loss~chart&column=metrics.loss&width:metrics.loss=120")
	require.Equal(t, "/executions?columns=name%2Cmetrics.loss~chart%2Cmetrics.loss~120", columns.header.Get("Location"), "a chart has no width")
	b.member.get(t, "/executions?group=state&columns=metrics.loss~chart").says(t, http.StatusOK, "Open a group to chart its executions.")
	means := b.member.get(t, "/executions?group=inputs.epochs&columns=metrics.loss~chart")
	means.says(t, http.StatusOK, "data-grouped", "2 groups", "Each curve is the mean of a group")
	data := regexp.MustCompile(`data-curves="([^"]+)"`).FindStringSubmatch(means.body)
	require.Len(t, data, 2)
	lines := b.member.get(t, html.UnescapeString(data[1])).object(t, http.StatusOK)["lines"].([]any)
	require.Len(t, lines, 2)
	for i, name := range []string{"epochs = 2", "epochs = 1"} {
		line := lines[i].(map[string]any)
		require.Equal(t, name, line["name"])
		require.NotEmpty(t, line["high"], "the band of a group")
	}
	grouped := b.member.get(t, "/executions?group=inputs.epochs&columns=metrics.loss~chart&open=n2")
	grouped.says(t, http.StatusOK, "1 execution<", "data-curves=\"/compare/curves?executions="+two+"&amp;metric=loss")
	require.Len(t, swatches(t, grouped.body), 1, "the executions of an open group")
}

func next(digit string) string { return string(rune(digit[0] + 1)) }

// TestViewsKeepCharts: a view has the metrics of its charts.
func TestViewsKeepCharts(t *testing.T) {
	t.Parallel()
	b, _, _ := chartedRuns(t)
	form := url.Values{"name": {"Curves"}, "sharing": {"project"}, "back": {"/executions?columns=inputs.epochs,metrics.loss~chart&hide=abcdef"}}
	saved := b.member.send(t, "POST", "/executions/views", "application/x-www-form-urlencoded", form.Encode())
	require.Equal(t, http.StatusSeeOther, saved.status, saved.body)
	link := saved.header.Get("Location")
	opened := b.member.get(t, link)
	opened.says(t, http.StatusOK, `data-name="loss"`, "Curves")
	require.NotContains(t, opened.body, "This view has unsaved changes")
	changed := b.member.get(t, link+"&edit=1&columns=inputs.epochs,metrics.accuracy~chart")
	changed.says(t, http.StatusOK, "This view has unsaved changes", `data-name="accuracy"`)

	api := b.member.get(t, "/api/v1/executions?view=Curves").object(t, http.StatusOK)
	require.Len(t, api["columns"], 1, "a chart is not a column")
	view := b.member.get(t, "/api/v1/views/Curves").object(t, http.StatusOK)
	require.Equal(t, []any{"inputs.epochs", "metrics.loss~chart"}, view["columns"])
	b.member.post(t, "/api/v1/views", `{"name": "wrong", "columns": ["user~chart"]}`).problem(t, http.StatusUnprocessableEntity)
}

// TestTheBestValueOfAColumn: the order of the table says which values of a result are better. The mark is
// text, and inputs have none.
func TestTheBestValueOfAColumn(t *testing.T) {
	t.Parallel()
	b, one, two := chartedRuns(t) // both end with the loss 3
	e, err := b.executions.Get(b.ctx, uuid.MustParse(two))
	require.NoError(t, err)
	best := func(query string) string {
		t.Helper()
		page := b.member.get(t, "/executions?columns=inputs.epochs,metrics.loss,metrics.loss.min&"+query)
		require.Equal(t, http.StatusOK, page.status, page.body)
		var list []string
		for row := range strings.SplitSeq(page.body, "<tr") {
			for _, m := range regexp.MustCompile(`▲ ([^<]+) <span class="vh">\(best\)`).FindAllStringSubmatch(row, -1) {
				list = append(list, regexp.MustCompile(`id="x-([0-9a-f-]{36})"`).FindStringSubmatch(row)[1]+" "+m[1])
			}
		}
		require.Equal(t, len(list), strings.Count(page.body, "(best)"), "one mark for each column")
		return strings.Join(list, ", ")
	}
	indexed := func(until func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !until(); {
			require.True(t, time.Now().Before(deadline), "the index has the metrics")
			for _, id := range []string{one, two} { // a change lets the index read the execution again
				b.member.post(t, "/api/v1/executions/"+id+"/labels", `{"note": "`+uuid.NewString()+`"}`).object(t, http.StatusOK)
			}
		}
	}
	indexed(func() bool {
		return strings.Count(b.member.get(t, "/executions?columns=metrics.loss&where=has:epochs").body, `<span class="cut">3</span>`) == 2
	})
	require.Empty(t, best("sort=metrics.loss"), "equal values")
	b.losses(t, e, 1, 3, 4, 5)
	indexed(func() bool { return best("sort=metrics.loss&where=has:epochs") == two+" 2" })
	require.Equal(t, one+" 3", best("sort=-metrics.loss"))
	require.Equal(t, two+" 2", best("sort=metrics.loss.min"))
	require.Empty(t, best("sort=-inputs.epochs"), "an input is not a result")
	require.Empty(t, best("where="+url.QueryEscape("loss > 0")), "no direction is known")
}
