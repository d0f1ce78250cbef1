package executions

import (
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// gridSizes are the numbers of executions that a grid can have; the first is the default.
func gridSizes() []int { return []int{25, 50, query.MaxGridExecutions} }

// WorkflowTabs are the tabs of a workflow: of the version asked, or of the latest without one.
func WorkflowTabs(flow workflow.Workflow, ref, shown, requested, current string) []ui.Tab {
	base := views.WorkflowURL(ref)
	if requested != "" {
		base = views.VersionURL(ref, shown)
	}
	releases := 0
	for _, v := range flow.Versions {
		if !v.Development {
			releases++
		}
	}
	var tabs []ui.Tab
	for _, t := range []struct{ key, name, count string }{
		{"", "Overview", ""}, {"executions", "Executions", ""}, {"grid", "Grid", ""}, {"versions", "Versions", units.Number(int64(releases))}, {"source", "Source", ""},
	} {
		u := base
		switch t.key {
		case "":
		case "grid":
			u = views.NodeGridURL(ref)
		default:
			u += "?tab=" + url.QueryEscape(t.key)
		}
		tabs = append(tabs, ui.Tab{Name: t.name, URL: u, Count: t.count, Current: t.key == current})
	}
	return tabs
}

// requestedGrid is what the address of a grid selects.
type requestedGrid struct {
	flow   workflow.Workflow
	filter query.Filter
	first  int
}

func (h *nodeGrids) requestedGrid(r *http.Request) (requestedGrid, error) {
	flow, err := h.Workflows.Get(r.Context(), request.PathValue(r, "name"))
	if err != nil {
		return requestedGrid{}, err
	}
	a := requestedGrid{flow: flow, filter: query.Filter{Workflow: flow.ID.String(), Limit: gridSizes()[0], After: r.URL.Query().Get("after")}}
	if n, err := strconv.Atoi(r.URL.Query().Get("show")); err == nil && slices.Contains(gridSizes(), n) {
		a.filter.Limit = n
	}
	if state := r.URL.Query().Get("state"); state != "" {
		s, err := query.ParseState(state)
		if err != nil {
			return a, err
		}
		a.filter.Status = []query.State{s}
	}
	if text := r.URL.Query().Get("first"); text != "" {
		if a.first, err = strconv.Atoi(text); err != nil {
			return a, apperr.New(apperr.Invalid, "first is the number of a node, from 0.")
		}
	}
	return a, nil
}

// nodeGrid shows the nodes of a workflow's executions side by side.
func (h *nodeGrids) nodeGrid(w http.ResponseWriter, r *http.Request) error {
	a, err := h.requestedGrid(r)
	if err != nil {
		return err
	}
	grid, err := h.Executions.NodeGrid(r.Context(), a.filter, a.first)
	if err != nil {
		return err
	}
	ref := request.WorkflowRef(r.Context(), a.flow.Name, a.flow.ID)
	base, q := views.NodeGridURL(ref), r.URL.Query()
	m := views.NodeGrid{
		Page: h.Page.Base(r, "Grid", views.SectionWorkflows, views.Crumb{Name: "Workflows", URL: views.WorkflowsURL()}, views.Crumb{Name: a.flow.Name, URL: views.WorkflowURL(ref)}),
		Name: a.flow.Name, LaunchURL: views.LaunchURL(ref), Tabs: WorkflowTabs(a.flow, ref, "", "", "grid"),
	}
	m.Runs, m.Rows = gridOf(h.Now(), grid)
	for i, n := range gridSizes() {
		value := strconv.Itoa(n)
		if i == 0 {
			value = ""
		}
		m.Shown = append(m.Shown, ui.Choice{Name: strconv.Itoa(n), URL: label.ListURL(base, q, "show", value), Current: n == a.filter.Limit})
	}
	for _, s := range []string{"", string(query.Succeeded), string(query.Failed), string(query.Running)} {
		name := "Any state"
		if s != "" {
			name = ui.Word(s)
		}
		m.States = append(m.States, ui.Choice{Name: name, URL: label.ListURL(base, q, "state", s), Current: strings.EqualFold(q.Get("state"), s)})
	}
	if grid.Next != "" {
		m.OlderURL = label.ListURL(base, q, "after", grid.Next)
	}
	if a.filter.After != "" {
		m.NewerURL = label.ListURL(base, q, "", "")
	}
	nodePages(&m, base, q, a.first, grid.More)
	if a.filter.After == "" {
		top := uuid.Nil
		if len(grid.Executions) > 0 {
			top = grid.Executions[0].ID
		}
		m.Stream = label.ListURL(base+"/stream", q, "top", top.String())
	}
	return web.Render(w, r, http.StatusOK, views.NodeGridPage(m))
}

// nodePages specifies which nodes of the plans the grid has, if not all.
func nodePages(m *views.NodeGrid, base string, q url.Values, first int, more bool) {
	if first == 0 && !more {
		return
	}
	m.NodesText = fmt.Sprintf("Nodes %d to %d", first+1, first+query.MaxGridNodes)
	if first > 0 {
		former := ""
		if n := first - query.MaxGridNodes; n > 0 {
			former = strconv.Itoa(n)
		}
		m.FormerNodesURL = keepPage(base, q, former)
	}
	if more {
		m.FurtherNodesURL = keepPage(base, q, strconv.Itoa(first+query.MaxGridNodes))
	}
}

// keepPage is the same executions with other nodes.
func keepPage(base string, q url.Values, first string) string {
	address := label.ListURL(base, q, "first", first)
	if after := q.Get("after"); after != "" {
		separator := "?"
		if strings.Contains(address, "?") {
			separator = "&"
		}
		address += separator + "after=" + url.QueryEscape(after)
	}
	return address
}

// gridOf draws the oldest execution first.
func gridOf(now time.Time, grid query.NodeGrid) ([]views.GridRun, []views.NodeGridRow) {
	longest := time.Duration(1)
	for _, e := range grid.Executions {
		longest = max(longest, tookOf(now, e))
	}
	runs := make([]views.GridRun, len(grid.Executions))
	for i, e := range grid.Executions {
		took := tookOf(now, e)
		runs[len(runs)-1-i] = views.GridRun{
			ID: e.ID.String(), Short: strings.TrimPrefix(label.ShortID(e.ID), "#"), URL: views.ExecutionURL(e.ID.String()), State: string(e.Status),
			Title: label.ExecutionTitle(e) + " " + e.Version, Took: briefly(took), Height: max(2, int(math.Round(float64(took)*100/float64(longest)))),
		}
	}
	rows := make([]views.NodeGridRow, len(grid.Rows))
	for i, row := range grid.Rows {
		rows[i] = views.NodeGridRow{Name: row.Name, Cells: make([]views.NodeGridCell, len(row.Cells))}
		if row.Median > 0 {
			rows[i].Median = briefly(row.Median)
		}
		for k, c := range row.Cells {
			if c != nil {
				rows[i].Cells[len(row.Cells)-1-k] = gridNode(now, grid.Executions[k], row, c)
			}
		}
	}
	return runs, rows
}

func gridNode(now time.Time, e query.Execution, row query.NodeGridRow, c *query.NodeGridCell) views.NodeGridCell {
	id := e.ID.String()
	cell := views.NodeGridCell{URL: views.NodeURL(id, row.Name), State: string(c.State), Icon: c.State != dag.Succeeded && c.State != dag.Pending}
	if changing(now, e) { // the others need no name for the stream
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(row.Name))
		cell.ID = "n-" + id + "-" + strconv.FormatUint(hash.Sum64(), 36)
	}
	took := c.Took(now)
	if c.StartedAt != nil && c.State != dag.Skipped && c.State != dag.Cancelled {
		cell.Took = briefly(took)
	}
	if c.State == dag.Succeeded && row.Median > 0 {
		switch ratio := float64(took) / float64(row.Median); {
		case ratio > 1.25:
			cell.Pace = "slow"
		case ratio < 0.8:
			cell.Pace = "quick"
		}
	}
	return cell
}

// changing reports whether the page may show an earlier state of an execution: it is live, or ended
// a moment ago.
func changing(now time.Time, e query.Execution) bool {
	return e.FinishedAt == nil || now.Sub(*e.FinishedAt) < time.Minute
}

func tookOf(now time.Time, e query.Execution) time.Duration {
	if e.StartedAt == nil {
		return 0
	}
	end := now
	if e.FinishedAt != nil {
		end = *e.FinishedAt
	}
	return max(0, end.Sub(*e.StartedAt))
}

// briefly is a duration in at most five characters: 0.4s, 47s, 2m05, 1h20 or 3d4h.
func briefly(d time.Duration) string {
	switch s := int(d.Seconds()); {
	case d < 10*time.Second:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", math.Floor(d.Seconds()*10)/10), ".0") + "s"
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02d", s/60, s%60)
	case s < 24*3600:
		return fmt.Sprintf("%dh%02d", s/3600, s/60%60)
	default:
		return fmt.Sprintf("%dd%dh", s/86400, s/3600%24)
	}
}
