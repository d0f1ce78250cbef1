package executions

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/handlers/content"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views/ui"
)

const (
	seriesCompared = 200 // candidates for the best curves
	comparedPoints = 60  // points read of each candidate
	exportedPoints = 100_000
	itemLabelShown = 28
)

// bestSeries reads at most six curves of each metric. If there are more, as in a fan-out, it
// selects the best by their last value.
func (h *Pages) bestSeries(ctx context.Context, query telemetry.MetricQuery) ([]telemetry.Series, error) {
	query.MaxPoints, query.MaxSeries = chartPoints, maxCurves
	series, err := h.Telemetry.Series(ctx, query)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names its context
	}
	var many []string
	for _, s := range series {
		if s.Of > maxCurves && !slices.Contains(many, s.Name) {
			many = append(many, s.Name)
		}
	}
	if len(many) == 0 {
		return series, nil
	}
	query.Names, query.MaxPoints, query.MaxSeries = many, comparedPoints, seriesCompared
	all, err := h.Telemetry.Series(ctx, query)
	if err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	series = slices.DeleteFunc(series, func(s telemetry.Series) bool { return slices.Contains(many, s.Name) })
	slices.SortStableFunc(all, func(a, b telemetry.Series) int {
		if order := strings.Compare(a.Name, b.Name); order != 0 {
			return order
		}
		return cmp.Compare(rank(a), rank(b))
	})
	taken := map[string]int{}
	for _, s := range all {
		if taken[s.Name]++; taken[s.Name] <= maxCurves {
			series = append(series, s)
		}
	}
	return series, nil
}

// rank orders curves of one metric; the best has the lowest rank.
func rank(s telemetry.Series) float64 {
	last := float64(s.Summary.Last)
	switch {
	case math.IsNaN(last) || math.IsInf(last, 0):
		return math.Inf(1)
	case search.LowerIsBetter(s.Name):
		return last
	}
	return -last
}

// itemLabels are the values of the items of a fan-out that reported series, by node.
func (h *Pages) itemLabels(ctx context.Context, id uuid.UUID, series []telemetry.Series) map[string]string {
	var indexes []int
	for _, s := range series {
		if _, item := fanOutOf(s.Node); item && !slices.Contains(indexes, s.NodeIndex) {
			indexes = append(indexes, s.NodeIndex)
		}
	}
	if len(indexes) == 0 {
		return nil
	}
	nodes, _, err := h.Executions.Nodes.List(ctx, id, query.NodeFilter{Indexes: indexes})
	if err != nil { // the names of the nodes are sufficient
		h.Log.Warn("items cannot be read for a legend", "execution", id, "error", err)
		return nil
	}
	labels := map[string]string{}
	parents := map[string]bool{}
	for _, n := range nodes {
		parent, _ := fanOutOf(n.Name)
		parents[parent] = true
		if n.ItemIndex != nil {
			labels[n.Name] = ui.Short(oneLine(n.Item), itemLabelShown)
		}
	}
	if len(parents) > 1 {
		for name, label := range labels {
			parent, _ := fanOutOf(name)
			labels[name] = shortName(parent) + " " + label
		}
	}
	return labels
}

// csvName names the file of series. A series of more than exportedPoints is downsampled, and
// the name says so.
func csvName(series []telemetry.Series) string {
	for _, s := range series {
		if s.Summary.Count > len(s.Points) {
			return "metrics-downsampled.csv"
		}
	}
	return "metrics.csv"
}

// metricCSV sends the values of one metric.
func (h *Pages) metricCSV(w http.ResponseWriter, r *http.Request) error {
	id, err := request.ExecutionID(r)
	if err != nil {
		return err
	}
	ctx, q := r.Context(), r.URL.Query()
	if _, err := h.Executions.Get(ctx, id); err != nil {
		return err
	}
	name := q.Get("name")
	if name == "" {
		return apperr.New(apperr.Invalid, "name is missing. Enter the name of a metric.")
	}
	series, err := h.Telemetry.Series(ctx, telemetry.MetricQuery{ExecutionID: id, Node: q.Get("node"), Names: []string{name}, MaxPoints: exportedPoints})
	if err != nil {
		return err //nolint:wrapcheck // it names its context
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", "attachment; filename="+csvName(series))
	out := csv.NewWriter(w)
	rows := [][]string{{"node", "attempt", "tags", "step", "time", "value"}}
	for _, s := range series {
		var tags []string
		for k, v := range s.Tags {
			tags = append(tags, k+"="+v)
		}
		slices.Sort(tags)
		for _, p := range s.Points {
			step := ""
			if p.Step != nil {
				step = strconv.FormatInt(*p.Step, 10)
			}
			rows = append(rows, []string{content.CSVText(s.Node), strconv.Itoa(s.Attempt), content.CSVText(strings.Join(tags, " ")), step, p.Time.UTC().Format(time.RFC3339Nano), strconv.FormatFloat(float64(p.Value), 'g', -1, 64)})
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("metrics of %s as CSV: %w", id, err)
	}
	return nil
}
