package executions

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

// executionView is an execution with the data of its page. Page and stream build their pieces
// from it.
type executionView struct {
	*snapshot

	workflow string // name or id of the workflow in links
	mayKeep  bool   // the reader may exempt it from cleanup
	drawing  *dagview.Drawing
	states   []dag.State        // of every node of the plan
	nodes    map[int]query.Node // nodes of the plan that are drawn individually
	tries    map[int][]query.Attempt
	mark     int64   // position up to which changes of nodes have been read
	hours    float64 // GPU-hours until hoursAt
	hoursAt  time.Time
	labels   index.Labels
	sweep    views.SweepLink // of which it is a run
	trigger  views.TriggerLink
	schedule views.ScheduleLink
	shares   bool   // for a stream, which shares what it reads with other streams until the execution ends
	received uint64 // points before the metrics were read
}

// loadExecution reads the execution that r names, with the data of its page.
func (h *Pages) loadExecution(r *http.Request) (*executionView, error) {
	s, err := h.loadSnapshot(r)
	if err != nil {
		return nil, err
	}
	ctx := r.Context()
	x := &executionView{
		snapshot: s, workflow: request.WorkflowRef(ctx, s.WorkflowName, s.WorkflowID),
		drawing: h.Drawings.Best(s.version, ""), mayKeep: mayKeep(ctx, s.ProjectID),
	}
	if err := x.loadHours(ctx); err != nil {
		return nil, err
	}
	if err := x.loadLabels(ctx); err != nil {
		return nil, err
	}
	sweep, number, name, ok, err := h.Sweeps.OfExecution(ctx, x.ID)
	if err != nil {
		return nil, err
	}
	if ok {
		x.sweep = views.SweepLink{URL: views.SweepURL(sweep.String()), Name: name, Run: number + 1}
	}
	if err := x.loadTrigger(ctx); err != nil {
		return nil, err
	}
	if err := x.loadSchedule(ctx); err != nil {
		return nil, err
	}
	return x, x.loadNodes(ctx)
}

// loadTrigger finds the trigger that launched the execution.
func (x *executionView) loadTrigger(ctx context.Context) error {
	origin, err := x.h.Triggers.OriginOf(ctx, x.ID)
	if err != nil || origin == nil {
		return err
	}
	x.trigger = views.TriggerLink{Name: origin.Trigger, URL: views.TriggerURL(origin.Trigger)}
	if origin.SourceID != nil {
		x.trigger.Source, x.trigger.SourceURL = label.ShortID(*origin.SourceID), views.ExecutionURL(origin.SourceID.String())
	}
	return nil
}

// loadSchedule finds the schedule that launched the execution.
func (x *executionView) loadSchedule(ctx context.Context) error {
	origin, err := x.h.Schedules.Reader().OriginOf(ctx, x.ID)
	if err != nil || origin == nil {
		return err
	}
	x.schedule = views.ScheduleLink{Name: origin.Name, URL: views.ScheduleURL(origin.ID.String()), Note: "launched by schedule"}
	if origin.Manual {
		x.schedule.Note = "launched manually from schedule"
	}
	return nil
}

// loadHours sums up the GPU-hours from time to time, because the sum covers all attempts.
func (x *executionView) loadHours(ctx context.Context) error {
	if !x.hoursAt.IsZero() && x.clock.Now.Sub(x.hoursAt) < hoursInterval && !x.Status.Ended() {
		return nil
	}
	hours, err := x.h.Executions.Usage.GPUHours(ctx, x.ID)
	x.hours, x.hoursAt = hours[x.ID], x.clock.Now
	return err
}

// hoursInterval is the time between two sums of GPU-hours of an execution.
const hoursInterval = 10 * time.Second

// refresh reads the changes since the last call: of 10,000 nodes only those that changed.
func (x *executionView) refresh(ctx context.Context) error {
	if err := x.snapshot.refresh(ctx); err != nil {
		return err
	}
	if err := x.loadHours(ctx); err != nil {
		return err
	}
	if err := x.loadLabels(ctx); err != nil {
		return err
	}
	changed, mark, err := x.h.Executions.Nodes.ChangedSince(ctx, x.ID, x.mark)
	if err != nil {
		return err
	}
	x.mark = mark
	var shown []int
	for _, n := range changed {
		if n.Index < len(x.states) {
			x.states[n.Index] = n.State
		}
		if _, ok := x.nodes[n.Index]; ok {
			x.nodes[n.Index] = n
			shown = append(shown, n.Index)
		}
	}
	if err := x.count(ctx, x.liveGroups()); err != nil {
		return err
	}
	return x.loadAttempts(ctx, shown)
}

// loadNodes reads the state of every node, and all data of the nodes with their own box. The
// drawing limits their number.
func (x *executionView) loadNodes(ctx context.Context) error {
	var err error
	// The mark is read first, so that later changes are read again.
	if _, x.mark, err = x.h.Executions.Nodes.ChangedSince(ctx, x.ID, math.MaxInt64); err != nil {
		return err
	}
	if x.states, err = x.h.Executions.Nodes.States(ctx, x.ID); err != nil {
		return err
	}
	var single []int
	for _, b := range x.drawing.Boxes {
		if !b.Group() {
			single = append(single, b.Members[0])
		}
	}
	if i := x.selected(); i >= 0 && !slices.Contains(single, i) {
		single = append(single, i)
	}
	x.nodes, x.tries = make(map[int]query.Node, len(single)), map[int][]query.Attempt{}
	if len(single) == 0 {
		return nil
	}
	nodes, _, err := x.h.Executions.Nodes.List(ctx, x.ID, query.NodeFilter{Indexes: single})
	if err != nil {
		return err
	}
	for _, n := range nodes {
		x.nodes[n.Index] = n
	}
	if err := x.count(ctx, nodes); err != nil {
		return err
	}
	return x.loadAttempts(ctx, single)
}

// loadAttempts reads the attempts of the nodes with these indexes.
func (x *executionView) loadAttempts(ctx context.Context, indexes []int) error {
	if len(indexes) == 0 {
		return nil
	}
	tries, err := x.h.Executions.Nodes.Attempts(ctx, x.ID, indexes)
	if err != nil {
		return err
	}
	maps.Copy(x.tries, tries)
	return nil
}

// selected is the node whose panel is open, or that contains that node; -1 for none.
func (x *executionView) selected() int {
	if i, ok := x.version.Plan.Lookup(topName(x.query.Get("node"))); ok {
		return i
	}
	return -1
}

func (x *executionView) painter() dagview.Painter {
	id := x.ID.String()
	plan := x.version.Plan
	states := make([]dagview.NodeState, len(plan.Nodes))
	names := make([]string, len(plan.Nodes))
	for i := range plan.Nodes {
		names[i] = plan.Nodes[i].Name
		states[i].State = string(dag.Pending)
		if i < len(x.states) {
			states[i].State = string(x.states[i])
		}
		if n, ok := x.nodes[i]; ok {
			states[i] = x.nodeState(n)
		}
	}
	return dagview.Painter{
		ID: views.GraphID(), Drawing: x.drawing, States: states, Names: names, Selected: x.selected(), Fit: true,
		Links: dagview.Links{
			Node: func(i int) string {
				if plan.Nodes[i].Expands {
					return views.NodeURL(id, names[i])
				}
				return views.ExecutionNodeURL(id, names[i])
			},
			Group: func(b dagview.Box) string { return views.GroupURL(id, b.FromLevel, b.ToLevel, b.Stem) },
		},
	}
}

// resultOf is the origin of the result of a node that did not run itself, "" for others.
func resultOf(n query.Node) string {
	switch n.OriginUse {
	case query.OriginReused:
		return "reused"
	case query.OriginCached:
		return "cached"
	case query.OriginBefore:
	}
	return ""
}

// nodeTook is the duration of a node until its end or until now.
func nodeTook(now time.Time, n query.Node) time.Duration {
	if n.StartedAt == nil {
		return 0
	}
	if n.FinishedAt != nil {
		return n.FinishedAt.Sub(*n.StartedAt)
	}
	return now.Sub(*n.StartedAt)
}

const nodePageSize = 100

// nodeTable is the list view: all nodes, or those of a group of the graph.
func (x *executionView) nodeTable(ctx context.Context) (views.NodeTable, error) {
	q, id := x.query, x.ID.String()
	filter := query.NodeFilter{Query: q.Get("nodes"), After: q.Get("after"), Limit: nodePageSize, Top: q.Get("all") == ""}
	if s := q.Get("state"); s != "" {
		filter.States = []dag.State{dag.State(s)}
	}
	t := views.NodeTable{ExecutionID: id, Query: filter.Query, All: !filter.Top, HasMore: x.Counts.Total > len(x.version.Plan.Nodes), States: nodeStateOptions(q.Get("state")), ClearURL: views.NodesURL(id, "")}
	from, fromErr := strconv.Atoi(q.Get("from"))
	to, toErr := strconv.Atoi(q.Get("to"))
	if fromErr == nil && toErr == nil && from >= 0 && to >= from {
		filter.FromLevel, filter.ToLevel = &from, &to
		t.Title = fmt.Sprintf("level %d", from+1)
		if to > from {
			t.Title = fmt.Sprintf("levels %d to %d", from+1, to+1)
		}
		t.Hidden = append(t.Hidden, [2]string{"from", strconv.Itoa(from)}, [2]string{"to", strconv.Itoa(to)})
	}
	if stem := q.Get("stem"); stem != "" && filter.Query == "" {
		filter.Query = stem
		t.Title = stem + ", " + t.Title
	}
	if filter.After != "" {
		t.Pager.Newer = label.ListURL(views.ExecutionURL(id), q, "after", "") + "#graph"
	}
	nodes, next, err := x.h.Executions.Nodes.List(ctx, x.ID, filter)
	if err != nil {
		return t, err
	}
	if err := x.count(ctx, nodes); err != nil {
		return t, err
	}
	for _, n := range nodes {
		t.Rows = append(t.Rows, x.nodeRow(n))
	}
	t.Pager.Text = units.Plural(len(t.Rows), "node", "nodes")
	if next != "" {
		t.Pager.Older = label.ListURL(views.ExecutionURL(id), q, "after", next) + "#graph"
	}
	return t, nil
}

func nodeStateOptions(chosen string) []ui.Option {
	options := []ui.Option{{Name: "Any state", Selected: chosen == ""}}
	for _, s := range []dag.State{dag.Pending, dag.Ready, dag.Queued, dag.Running, ui.AwaitingApproval, dag.Retrying, dag.Succeeded, dag.Failed, dag.Skipped, dag.Cancelled} {
		options = append(options, ui.Option{Value: string(s), Name: ui.Word(string(s)), Selected: string(s) == chosen})
	}
	return options
}

func (x *executionView) nodeRow(n query.Node) views.NodeRow {
	id := x.ID.String()
	row := views.NodeRow{
		Index: n.Index, Name: n.Name, URL: views.NodeURL(id, n.Name), State: shownState(n), Level: strconv.Itoa(n.Level + 1),
		LogURL: views.NodeLogsURL(id, n.Name, 0), Sub: ui.Short(x.nodeSummaryLine(n), 160),
	}
	if n.Attempt > 0 {
		row.Attempt = x.attemptOf(n)
	}
	if x.becomes(n) {
		row.Attempt = ""
		if c, ok := x.children[n.Index]; ok && n.State != dag.Failed {
			row.Sub = progressText(c, n)
		}
	}
	if n.StartedAt != nil && resultOf(n) == "" {
		row.Took = units.Duration(nodeTook(x.clock.Now, n))
		if n.FinishedAt == nil && n.State == dag.Running {
			row.Since = n.StartedAt.Format(time.RFC3339)
		}
	}
	if !x.becomes(n) && (n.State == dag.Succeeded || (n.State == dag.Running && n.Progress == nil)) {
		row.Sub = resultOf(n) // the duration has its own column
	}
	return row
}
