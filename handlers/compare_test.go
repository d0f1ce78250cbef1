package handlers_test

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/comparison/curve"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web/contract"
)

// comparedRuns are two ended executions that differ in one input, one artifact and their loss.
func comparedRuns(t *testing.T) (*testBundle, []string) {
	t.Helper()
	b := setup(t)
	b.register(t, `{"name": "compare.flow", "version": "1.0.0",
		"inputs": [{"name": "rate", "type": "Float", "default": 0.5}, {"name": "model", "type": "String", "default": "resnet"}],
		"operators": [{"name": "go", "type": "noop"}]}`)
	b.start(t)
	var ids []string
	for i, rate := range []float64{0.125, 0.25} {
		e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "compare.flow", Inputs: map[string]any{"rate": rate}})
		require.NoError(t, err)
		e = b.until(t, e.ID, func(e query.Execution) bool { return e.Status.Ended() })
		b.publish(t, e, artifact.New{NodeIndex: 0, Node: "go", Name: "same", Type: "Table", Kind: "Table", MediaType: "text/csv", Filename: "t.csv"}, "a,b\n1,2\n")
		b.publish(t, e, artifact.New{NodeIndex: 0, Node: "go", Name: "other", Type: "Table", Kind: "Table", MediaType: "text/csv", Filename: "t.csv"}, strings.Repeat("a,b\n", i+1))
		b.losses(t, e, 1, 0, 4, float64(i))
		ids = append(ids, e.ID.String())
	}
	return b, ids
}

// losses appends values of the metric loss: from minus the step.
func (b *testBundle) losses(t *testing.T, e query.Execution, attempt int, from, to int64, value float64) {
	t.Helper()
	var points []telemetry.Point
	for step := from; step < to; step++ {
		points = append(points, telemetry.Point{
			TenantID: e.TenantID, ProjectID: e.ProjectID, ExecutionID: e.ID, NodeIndex: 0, Node: "go", Attempt: attempt, Seq: step + 1, Name: "loss", Kind: telemetry.Gauge,
			Step: &step, Value: value - float64(step), Time: time.Now(),
		})
	}
	require.NoError(t, b.telemetry.AppendMetrics(auth.AsSystem(b.ctx), points))
}

func TestCompareAPI(t *testing.T) {
	t.Parallel()
	b, ids := comparedRuns(t)
	read := func(query string) contract.ComparisonBody {
		var body contract.ComparisonBody
		got := b.member.get(t, "/api/v1/compare?"+query)
		require.Equal(t, http.StatusOK, got.status, got.body)
		require.NoError(t, json.Unmarshal([]byte(got.body), &body))
		return body
	}
	row := func(body contract.ComparisonBody, path, statistic string) *contract.ComparedRow {
		for i, r := range body.Rows {
			if r.Path == path && r.Statistic == statistic {
				return &body.Rows[i]
			}
		}
		return nil
	}
	both := "executions=" + ids[0] + "," + ids[1]

	body := read(both)
	require.Equal(t, ids[0], body.Baseline.String())
	rate := row(body, "rate", "")
	require.Equal(t, "inputs", rate.Section)
	require.Equal(t, []any{0.125, 0.25}, []any{rate.Values[0].Value, rate.Values[1].Value})
	require.Nil(t, rate.Values[0].Delta)
	require.InDelta(t, 0.125, *rate.Values[1].Delta, 0)
	require.Nil(t, row(body, "model", ""), "an input that both have in common")
	require.Nil(t, row(body, "go.same", ""), "an artifact with the same bytes")
	require.NotNil(t, row(body, "go.other", ""))
	for statistic, want := range map[string][]any{"last": {-3.0, -2.0}, "min": {-3.0, -2.0}, "max": {0.0, 1.0}} {
		loss := row(body, "loss", statistic)
		require.Equal(t, want, []any{loss.Values[0].Value, loss.Values[1].Value}, statistic)
		require.True(t, loss.Values[0].Best)
	}
	require.Equal(t, []string{"loss"}, body.Metrics)

	body = read(both + "&all=true&baseline=" + ids[1])
	require.Equal(t, ids[1], body.Baseline.String())
	require.False(t, row(body, "model", "").Differs)
	require.InDelta(t, -0.125, *row(body, "rate", "").Values[0].Delta, 0)
	short := read("executions=" + ids[0][len(ids[0])-6:] + "," + ids[1] + "," + ids[1])
	require.Len(t, short.Executions, 2)

	for path, want := range map[string]string{
		"executions=" + ids[0]:                        "at least 2",
		"executions=" + strings.Repeat("abcdef,", 51): "at most 50",
		both + "&baseline=" + uuid.NewString():        "must be one of",
	} {
		require.Contains(t, b.member.get(t, "/api/v1/compare?"+path).problem(t, http.StatusUnprocessableEntity).Detail, want)
	}
	for _, absent := range []string{uuid.NewString(), "000000", "nonsense"} {
		require.Equal(t, http.StatusNotFound, b.member.get(t, "/api/v1/compare?executions="+ids[0]+","+absent).status)
	}
}

func TestCompareCurves(t *testing.T) {
	t.Parallel()
	b, ids := comparedRuns(t)
	e, err := b.executions.Get(b.ctx, uuid.MustParse(ids[0]))
	require.NoError(t, err)
	b.losses(t, e, 2, 2, 6, 100) // a retry that begins at step 2
	var curves contract.ComparedCurves
	got := b.member.get(t, "/api/v1/compare/metrics?name=loss&executions="+strings.Join(ids, ","))
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.NoError(t, json.Unmarshal([]byte(got.body), &curves))
	require.Len(t, curves.Curves, 2)
	require.Equal(t, 2, curves.Of, "a retry continues a curve")
	require.Equal(t, []float64{0, 1, 2, 3, 4, 5}, curves.Curves[0].X)
	require.Equal(t, []float64{0, -1, 98, 97, 96, 95}, curves.Curves[0].Y)
	require.Equal(t, []float64{1, 0, -1, -2}, curves.Curves[1].Y)

	var frame struct {
		X     []float64
		Exact bool
		Lines []struct {
			Name      string
			Y         []*float64
			Low, High []*float64
			Last      *float64
		}
	}
	both := "?metric=loss&executions=" + strings.Join(ids, ",")
	require.NoError(t, json.Unmarshal([]byte(b.member.get(t, "/compare/curves"+both).body), &frame))
	require.True(t, frame.Exact)
	require.Len(t, frame.Lines, 2)
	require.Nil(t, frame.Lines[1].Y[4])
	require.InDelta(t, 95, *frame.Lines[0].Last, 0)
	frame.Lines = nil
	require.NoError(t, json.Unmarshal([]byte(b.member.get(t, "/compare/curves"+both+"&group=inputs:rate").body), &frame))
	require.Equal(t, "rate = 0.125", frame.Lines[0].Name)
	require.Len(t, frame.Lines[0].High, 6)
	require.Nil(t, frame.Lines[0].Last)

	var plots views.PlotFrame
	require.NoError(t, json.Unmarshal([]byte(b.member.get(t, "/compare/plots.json"+both).body), &plots))
	require.Equal(t, []string{"input", "objective"}, []string{plots.Columns[0].Role, plots.Columns[plots.Objective].Role})
	require.Equal(t, views.PlotNumbers{0.125, 0.25}, plots.Columns[0].Values)
	require.Equal(t, "loss", plots.Columns[plots.Objective].Name)
	require.Equal(t, []int{curve.ColorOf(uuid.MustParse(ids[0])), curve.ColorOf(uuid.MustParse(ids[1]))}, plots.Colors)
	require.Equal(t, "min", plots.Columns[plots.Objective].Better)
	require.Equal(t, 1, plots.Best, "the retry of the first run ended with a higher loss")

	file := b.member.get(t, "/compare/curves.csv"+both)
	require.Equal(t, 11, strings.Count(file.body, "\n"), file.body)
	require.Contains(t, file.body, ids[0]+",go,2,,2,98")

	var folds []telemetry.Point
	for i := range 300 {
		folds = append(folds, telemetry.Point{
			TenantID: e.TenantID, ProjectID: e.ProjectID, ExecutionID: e.ID, NodeIndex: 0, Node: "go", Attempt: 2, Seq: int64(100 + i), Name: "loss", Kind: telemetry.Gauge,
			Tags: map[string]string{"fold": strconv.Itoa(i)}, Value: 1, Time: time.Now(),
		})
	}
	require.NoError(t, b.telemetry.AppendMetrics(auth.AsSystem(b.ctx), folds))
	got = b.member.get(t, "/api/v1/compare/metrics?name=loss&executions="+strings.Join(ids, ","))
	require.NoError(t, json.Unmarshal([]byte(got.body), &curves))
	require.Len(t, curves.Curves, 200)
	require.Equal(t, 302, curves.Of)
}

// TestMetricsOfRenamedNodes: a metric has one row, even if its node has another name in another version of
// the workflow.
func TestMetricsOfRenamedNodes(t *testing.T) {
	t.Parallel()
	b, ids := comparedRuns(t)
	b.register(t, `{"name": "compare.flow", "version": "2.0.0", "operators": [{"name": "fit", "type": "noop"}]}`)
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "compare.flow", Version: "2.0.0"})
	require.NoError(t, err)
	e = b.until(t, e.ID, func(e query.Execution) bool { return e.Status.Ended() })
	b.losses(t, e, 1, 0, 4, 5)
	var body contract.ComparisonBody
	got := b.member.get(t, "/api/v1/compare?executions="+ids[0]+","+e.ID.String())
	require.NoError(t, json.Unmarshal([]byte(got.body), &body))
	var paths []string
	for _, r := range body.Rows {
		if r.Section == "metrics" && r.Statistic == "last" {
			paths = append(paths, r.Path)
			require.Equal(t, []any{-3.0, 2.0}, []any{r.Values[0].Value, r.Values[1].Value})
		}
	}
	require.Equal(t, []string{"loss"}, paths)
}

// TestExportedMetricsAreNoFormulas: a task chooses the names and the tags of its metrics.
func TestExportedMetricsAreNoFormulas(t *testing.T) {
	t.Parallel()
	b, ids := comparedRuns(t)
	const name = "=HYPERLINK(1)"
	for i, id := range ids {
		e, err := b.executions.Get(b.ctx, uuid.MustParse(id))
		require.NoError(t, err)
		require.NoError(t, b.telemetry.AppendMetrics(auth.AsSystem(b.ctx), []telemetry.Point{{
			TenantID: e.TenantID, ProjectID: e.ProjectID, ExecutionID: e.ID, NodeIndex: 0, Node: "go", Attempt: 1, Seq: 100, Name: name, Kind: telemetry.Gauge,
			Tags: map[string]string{"+cmd": "x"}, Value: float64(i) - 5, Time: time.Now(),
		}}))
	}
	metric := url.QueryEscape(name)
	for _, path := range []string{
		"/executions/" + ids[0] + "/metrics.csv?name=" + metric,
		"/compare/curves.csv?metric=" + metric + "&executions=" + strings.Join(ids, ","),
		"/compare/table.csv?executions=" + strings.Join(ids, ","),
	} {
		got := b.member.get(t, path)
		require.Equal(t, http.StatusOK, got.status, got.body)
		rows, err := csv.NewReader(strings.NewReader(got.body)).ReadAll()
		require.NoError(t, err, path)
		guarded := 0
		for _, row := range rows {
			for _, cell := range row {
				require.False(t, strings.HasPrefix(cell, "=") || strings.HasPrefix(cell, "+"), "%s: %s", path, cell)
				if strings.HasPrefix(cell, "'=") || strings.HasPrefix(cell, "'+") {
					guarded++
				}
			}
		}
		require.Positive(t, guarded, "%s: %s", path, got.body)
		require.Contains(t, got.body, ",-5", "a number keeps its sign")
	}
}

// TestCompareRetries: the range of a metric is that of all attempts, as a retry may continue from a
// checkpoint; the last value is that of the latest attempt.
func TestCompareRetries(t *testing.T) {
	t.Parallel()
	b, ids := comparedRuns(t)
	e, err := b.executions.Get(b.ctx, uuid.MustParse(ids[0]))
	require.NoError(t, err)
	b.losses(t, e, 2, 4, 6, 3) // -1 and -2
	var body contract.ComparisonBody
	require.NoError(t, json.Unmarshal([]byte(b.member.get(t, "/api/v1/compare?all=true&executions="+strings.Join(ids, ",")).body), &body))
	got := map[string]any{}
	for _, r := range body.Rows {
		if r.Path == "loss" {
			got[r.Statistic] = r.Values[0].Value
		}
	}
	require.Equal(t, map[string]any{"last": -2.0, "min": -3.0, "max": 0.0}, got)
}

func TestComparePage(t *testing.T) {
	t.Parallel()
	b, ids := comparedRuns(t)
	both := "/compare?executions=" + strings.Join(ids, ",")
	page := b.member.get(t, both)
	page.says(t, http.StatusOK, "Compare 2 executions", "0.125", "Set as baseline", "/artifacts/", "Group by", "rate 0.25")
	require.NotContains(t, page.body, "resnet", "differences only by default")
	require.NotContains(t, page.body, "hx-sse:connect", "nothing moves any more")
	b.member.get(t, both+"&all=1").says(t, http.StatusOK, "resnet")
	b.member.get(t, both+"&baseline="+ids[1]).says(t, http.StatusOK, "−0.125")
	require.Contains(t, b.member.get(t, both+"&baseline="+ids[1][28:]).body, `href="/compare?executions=`+ids[0]+`" aria-label="Remove`)
	b.member.get(t, both+"&stat=max").says(t, http.StatusOK, "Highest")

	b.member.get(t, "/compare").says(t, http.StatusOK, "Choose 2 to 50 executions", "compare.flow")
	one := b.member.get(t, "/compare?executions="+ids[0])
	one.says(t, http.StatusOK, "Choose 2 to 50 executions", ids[1])
	require.Contains(t, b.member.get(t, "/compare/choices?executions="+ids[0]+"&q="+ids[1][30:]).body, ids[0]+"%2C"+ids[1])
	require.Contains(t, b.member.get(t, "/compare/choices?executions="+ids[0]+"&q=zzz").body, "No other execution matches")

	previous := b.member.get(t, "/compare?with=previous&executions="+ids[1])
	require.Equal(t, http.StatusFound, previous.status)
	require.Equal(t, "/compare?executions="+ids[0]+"%2C"+ids[1], previous.header.Get("Location"))
	b.member.get(t, "/compare?with=previous&executions="+ids[0]).says(t, http.StatusOK, "no earlier execution")
	b.member.get(t, "/executions/"+ids[1]).says(t, http.StatusOK, "Compare with…", "with=previous")

	file := b.member.get(t, "/compare/table.csv?executions="+strings.Join(ids, ","))
	require.Contains(t, file.body, "inputs,rate,,true,0.125,0.25")
	require.NotContains(t, file.body, "resnet")
	stream := b.member.get(t, "/compare/stream?executions="+strings.Join(ids, ","))
	require.Contains(t, stream.body, "event: end")
}
