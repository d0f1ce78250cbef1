package sweeps

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/views"
)

// Parameters of a stream: the numbers of the runs in the order in which the page shows them, and the
// number of metrics that it offers.
const (
	rowsKey    = "rows"
	metricsKey = "metrics"
)

// streamURL is the stream of a page.
func streamURL(id string, q url.Values, v views.SweepView) string {
	next := url.Values{}
	maps.Copy(next, q)
	texts := make([]string, len(v.Runs.Rows))
	for i, r := range v.Runs.Rows {
		texts[i] = strconv.Itoa(r.Index)
	}
	next.Set(metricsKey, strconv.Itoa(len(v.Curves.Metrics)))
	next.Set(rowsKey, strings.Join(texts, ","))
	return views.SweepPartURL(id, "stream") + "?" + next.Encode()
}

// orderOf is the order in the address of a stream.
func orderOf(q url.Values) []int {
	var order []int
	for text := range strings.SplitSeq(q.Get(rowsKey), ",") {
		if index, err := strconv.Atoi(text); err == nil && len(order) < runsShown {
			order = append(order, index)
		}
	}
	return order
}

// keepOrder leaves rows where the reader sees them and appends new ones, so that results that arrive do
// not move the row under the pointer. The result is the order of the next message.
func keepOrder(m *views.SweepRuns, order []int) []int {
	place := make(map[int]int, len(order))
	for i, index := range order {
		place[index] = i
	}
	for _, r := range m.Rows {
		if _, known := place[r.Index]; !known {
			place[r.Index] = len(order)
			order = append(order, r.Index)
		}
	}
	byPlace := func(a, b views.SweepRunRow) int { return cmp.Compare(place[a.Index], place[b.Index]) }
	m.Moved = !slices.IsSortedFunc(m.Rows, byPlace)
	slices.SortFunc(m.Rows, byPlace)
	return order
}
