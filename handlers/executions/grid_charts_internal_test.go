package executions

import (
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/comparison"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/views"
)

func parsed(t *testing.T, text string) url.Values {
	t.Helper()
	q, err := url.ParseQuery(text)
	require.NoError(t, err)
	return q
}

func TestFirstChartsAreColumnsThenFrequentMetrics(t *testing.T) {
	t.Parallel()
	reported := []telemetry.MetricName{{Name: "loss", Executions: 3}, {Name: "a,b", Executions: 3}, {Name: "lr", Executions: 2}, {Name: "accuracy", Executions: 1}, {Name: "x", Executions: 1}, {Name: "y", Executions: 1}}
	require.Equal(t, []string{"accuracy", "loss", "lr", "x"}, firstCharts([]string{"", "accuracy", "unknown", "accuracy"}, reported))
	require.Equal(t, []string{"loss"}, firstCharts(nil, reported[:2]), "a name with a comma cannot be in an address")
	require.Empty(t, firstCharts([]string{"accuracy"}, nil))
}

// TestChartsInAddresses: a choice of metrics keeps the page, the columns and the filters of the table;
// the table alone forgets what only charts need.
func TestChartsInAddresses(t *testing.T) {
	t.Parallel()
	q := parsed(t, "where=lr>1&columns=user~pin,metrics.loss~chart&after=cursor&charts=open&hide=abc123&x=time")
	require.Equal(t, "/executions?columns=user~pin%2Cmetrics.lr~chart%2Cmetrics.val+loss~chart&hide=abc123&where=lr%3E1&x=time&after=cursor", withCharts(q, []string{"lr", "val loss"}))
	require.Equal(t, "/executions?charts=none&columns=user~pin&hide=abc123&where=lr%3E1&x=time&after=cursor", withCharts(q, nil))
	require.Equal(t, "/executions?columns=user~pin&where=lr%3E1&x=time&after=cursor", withoutCharts(q))
	require.Equal(t, "/executions?sort=-created", withoutCharts(parsed(t, "columns=metrics.loss~chart")), "without another parameter, the list would open instead of the table")
	require.Equal(t, "lr>1", q.Get("where"), "the address is not changed")
	metrics, shown := chartsOf(q)
	require.Equal(t, []string{"loss"}, metrics)
	require.True(t, shown)
	_, shown = chartsOf(parsed(t, "columns=metrics.loss"))
	require.False(t, shown)
	require.Equal(t, []string{"metrics.loss~chart"}, chartEntries(q))
}

func TestMetricChoicesSayHowManyExecutionsReportThem(t *testing.T) {
	t.Parallel()
	reported := []telemetry.MetricName{{Name: "loss", Executions: 3}, {Name: "lr", Executions: 2}, {Name: "a~b", Executions: 1}}
	require.Equal(t, []views.MetricChoice{{Name: "old", Chosen: true, Note: "0 of 3"}, {Name: "lr", Chosen: true, Note: "2 of 3"}, {Name: "loss"}}, metricChoices([]string{"old", "lr"}, reported, 3))
}

// TestRowsHaveTheStyleOfTheirCurve: rows that the charts do not draw have no style.
func TestRowsHaveTheStyleOfTheirCurve(t *testing.T) {
	t.Parallel()
	var list []query.Execution
	var rows []views.GridRow
	shown := map[uuid.UUID]bool{}
	for i := range 5 {
		id := uuid.Must(uuid.NewV7())
		list, rows = append(list, query.Execution{ID: id}), append(rows, views.GridRow{ID: id.String(), Short: "#" + id.String()[30:]})
		shown[id] = i < 4
	}
	q := parsed(t, "columns=metrics.loss~chart&hide=zzzzzz,"+rows[1].Short[1:])
	streamMarks(q, list, shown)(rows)
	styles := comparison.Styles(list[:4])
	for i, row := range rows {
		require.Equal(t, i < 4, row.Charted)
		require.Equal(t, i == 1, row.Unseen)
		if i < 4 {
			require.Equal(t, views.RunStyle(styles[i]), row.Style)
		}
	}
	plain := []views.GridRow{{ID: rows[0].ID}}
	streamMarks(parsed(t, "columns=user"), list, shown)(plain)
	require.False(t, plain[0].Charted, "a table without charts")
}
