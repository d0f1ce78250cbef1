package executions

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	childPageSize  = 50
	failuresShown  = 8
	itemValueShown = 120
	outputColumns  = 4
)

// groupView is a node that expands into other nodes, with the data of its page.
type groupView struct{ nodeView }

// groupPage shows a node that expands into other nodes.
func (x *groupView) groupPage(w http.ResponseWriter, r *http.Request, page views.Page) error {
	ctx, id, op := r.Context(), x.ID.String(), x.node.Operator
	if err := x.count(ctx, []query.Node{x.node.Node}); err != nil {
		return err
	}
	m := views.Group{Page: page, Head: x.groupHead(), Fan: fanFacts(op, x.node.Node)}
	var err error
	if m.Place, err = x.place(ctx); err != nil {
		return err
	}
	if m.Failures, err = x.failures(ctx); err != nil {
		return err
	}
	if m.Children, err = x.childTable(ctx); err != nil {
		return err
	}
	if graph := x.innerGraph(); graph != "" {
		if x.node.Expanded {
			children, err := x.childrenOf(ctx)
			if err != nil {
				return err
			}
			picture := x.inGraph(graph, children)
			m.Graph, m.GraphText = &picture, graph+": "+units.Plural(len(children), "node", "nodes")
		}
	} else if op.Runs() {
		m.Code = x.code(ctx, op)
		m.Resources, m.Policy = x.resourceFacts(op), policyFacts(op)
		m.Resources = append(m.Resources, podSettingFacts(op)...)
	}
	still := x.frozenRow(ctx)
	m.Facts, m.Outputs = still.Facts, still.Outputs
	m.Inputs = x.names.resolve(ctx, x.groupInputs())
	if !x.groupSettled() {
		q := x.streamQuery("")
		for _, k := range []string{"q", "failure"} {
			if v := x.query.Get(k); v != "" {
				q.Set(k, v)
			}
		}
		m.StreamURL = views.NodeStreamURL(id, x.node.Name, q)
	}
	return web.Render(w, r, http.StatusOK, views.GroupPage(m))
}

// groupSettled reports whether the page no longer changes.
func (x *groupView) groupSettled() bool {
	c := x.children[x.node.Index]
	return x.node.State.Ended() && c.Total() == c.Ended()
}

// innerGraph is the graph that a node runs, "" for a fan-out.
func (x *groupView) innerGraph() string {
	op := x.operator(x.node.Node)
	if op == nil || x.node.FansOut(op) {
		return ""
	}
	return op.Graph
}

// childrenOf are all children of n.
func (x *groupView) childrenOf(ctx context.Context) ([]query.Node, error) {
	children, _, err := x.h.Executions.Nodes.List(ctx, x.ID, query.NodeFilter{Parent: x.node.Name})
	if err != nil {
		return nil, err
	}
	return children, x.count(ctx, children)
}

// groupHead is the head of the page.
func (x *groupView) groupHead() views.GroupHead {
	id := x.ID.String()
	head := views.GroupHead{NodeHead: x.head()}
	if !x.node.Expanded {
		return head
	}
	c := x.children[x.node.Index]
	bar := ui.NewBar(childNoun(x.node, 2), stateCounts(c, func(state string) string { return views.ChildrenURL(id, x.node.Name, state, "") }))
	head.Bar, head.Percent = &bar, bar.Percent
	done, verb := c.Ended(), "ended"
	if s := x.node.State; s == dag.Failed || s == dag.Cancelled {
		done, verb, head.Percent = c[dag.Succeeded], "succeeded", ""
	}
	head.Progress = fmt.Sprintf("%s of %s %s", units.Number(int64(done)), units.Plural(x.node.Children, childNoun(x.node, 1), childNoun(x.node, 2)), verb)
	switch x.node.State {
	case dag.Running:
		head.Summary = ""
	case dag.Succeeded:
		if c[dag.Failed] > 0 {
			head.Summary = fmt.Sprintf("Succeeded after %s. %s failed.", units.Duration(nodeTook(x.clock.Now, x.node.Node)),
				units.Plural(c[dag.Failed], childNoun(x.node, 1), childNoun(x.node, 2)))
		}
	case dag.Pending, dag.Ready, dag.Queued, dag.Retrying, dag.Failed, dag.Skipped, dag.Cancelled:
	}
	return head
}

// childNoun is the name of a node's children: items or nodes.
func childNoun(d query.NodeDetail, n int) string {
	noun := "node"
	if d.FansOut(d.Operator) {
		noun = "item"
	}
	if n != 1 {
		noun += "s"
	}
	return noun
}

// childCountText is the number of a node's children, "" before it has expanded.
func childCountText(d query.NodeDetail) string {
	if !d.Expanded {
		return ""
	}
	return units.Plural(d.Children, childNoun(d, 1), childNoun(d, 2))
}

// failures are the kinds of failures among the children of a node.
func (x *groupView) failures(ctx context.Context) (views.Failures, error) {
	var f views.Failures
	n := x.node.Node
	if x.children[n.Index][dag.Failed] == 0 {
		return f, nil
	}
	kinds, err := x.h.Executions.Nodes.FailureKinds(ctx, x.ID, n, failuresShown+1)
	if err != nil {
		return f, err
	}
	f.More = len(kinds) > failuresShown
	id := x.ID.String()
	for _, k := range kinds[:min(len(kinds), failuresShown)] {
		name, err := x.h.Executions.Nodes.Name(ctx, x.ID, k.First)
		if err != nil {
			return f, err
		}
		f.Rows = append(f.Rows, views.FailureRow{
			Message: ui.Short(k.Message, 300), Code: k.Code, Count: units.Plural(k.Count, childNoun(x.node, 1), childNoun(x.node, 2)),
			URL:       views.NodeURL(id, n.Name) + "?" + url.Values{"failure": {k.Key}}.Encode() + "#children",
			FirstName: shortName(name), FirstURL: views.NodeURL(id, name), LogURL: views.NodeLogsURL(id, name, 0),
		})
	}
	return f, nil
}

// childFilter reads the filter of the table from the address.
func (x *groupView) childFilter() query.NodeFilter {
	q := x.query
	f := query.NodeFilter{Parent: x.node.Name, Query: strings.TrimSpace(q.Get("q")), Everywhere: true, Failure: q.Get("failure"), After: q.Get("after"), Limit: childPageSize}
	if s := q.Get("state"); s != "" {
		f.States = []dag.State{dag.State(s)}
	}
	return f
}

// childLayout are the columns of the table of the children of d.
func childLayout(d query.NodeDetail) views.Children {
	t := views.Children{Items: d.FansOut(d.Operator), Attempts: d.Operator.Runs()}
	for _, out := range d.Operator.Outputs[:min(len(d.Operator.Outputs), outputColumns)] {
		t.Outputs = append(t.Outputs, out.Name)
	}
	return t
}

// childTable is the page of the table that the address selects.
func (x *groupView) childTable(ctx context.Context) (views.Children, error) {
	f, q := x.childFilter(), x.query
	here := views.NodeURL(x.ID.String(), x.node.Name)
	t := childLayout(x.node)
	t.Noun, t.Action, t.Query, t.States = childNoun(x.node, 2), here, f.Query, nodeStateOptions(q.Get("state"))
	if f.Failure != "" {
		t.Chip, t.Hidden = "One kind of failure", [][2]string{{"failure", f.Failure}}
	}
	filtered := f.Query != "" || len(f.States) > 0 || f.Failure != ""
	if filtered {
		t.ClearURL = here + "#children"
	}
	nodes, next, err := x.h.Executions.Nodes.List(ctx, x.ID, f)
	if err != nil {
		return t, err
	}
	if err := x.count(ctx, nodes); err != nil {
		return t, err
	}
	for _, n := range nodes {
		t.Rows = append(t.Rows, x.childRow(n, t))
	}
	switch {
	case len(nodes) > 0:
	case filtered && x.node.Expanded:
		t.Empty = "No " + t.Noun + " match the filter."
	case x.node.Expanded:
		t.Empty = "No items: the list was empty."
	default:
		t.Empty = "Not started. The " + t.Noun + " are listed here when it starts."
	}
	t.Pager = x.childPager(here, nodes, next, filtered)
	return t, nil
}

// childPager links the pages of the table. Without a filter the pages are known, because the
// indexes of children are consecutive.
func (x *groupView) childPager(here string, nodes []query.Node, next string, filtered bool) ui.Pager {
	p := ui.Pager{InOrder: true}
	if len(nodes) == 0 {
		return p
	}
	to := func(after string) string { return label.ListURL(here, x.query, "after", after) + "#children" }
	if next != "" {
		p.Older = to(next)
	}
	first := nodes[0].Index - x.node.FirstChild
	if !filtered {
		p.Text = fmt.Sprintf("%s to %s of %s", units.Number(int64(first+1)), units.Number(int64(first+len(nodes))), units.Number(int64(x.node.Children)))
		if first > childPageSize {
			p.Newer = to(strconv.Itoa(nodes[0].Index - childPageSize - 1))
		} else if first > 0 {
			p.Newer = to("")
		}
		return p
	}
	p.Text = units.Number(int64(len(nodes))) + " shown"
	if x.query.Get("after") != "" {
		p.Newer, p.Text = to(""), p.Text+", not from the first"
	}
	return p
}

// childRow is one row of the table.
func (x *groupView) childRow(n query.Node, layout views.Children) views.ChildRow {
	id := x.ID.String()
	row := views.ChildRow{
		Index: n.Index, Label: shortName(n.Name), Name: n.Name, URL: views.NodeURL(id, n.Name), State: shownState(n), LogURL: views.NodeLogsURL(id, n.Name, 0),
	}
	for _, name := range layout.Outputs {
		row.Outputs = append(row.Outputs, outputCell(n.Outputs[name]))
	}
	if n.ItemIndex != nil {
		row.Item = ui.Short(oneLine(n.Item), itemValueShown)
	}
	switch c, ok := x.children[n.Index]; {
	case n.State == dag.Failed || n.Reason != nil || n.Progress != nil:
		row.Sub = ui.Short(x.nodeSummaryLine(n), 200)
	case ok:
		row.Sub = progressText(c, n)
	}
	if n.Attempt > 0 && !x.becomes(n) {
		row.Attempt = x.attemptOf(n)
	}
	if n.StartedAt != nil {
		row.Took = units.Duration(nodeTook(x.clock.Now, n))
		if n.FinishedAt == nil && n.State == dag.Running {
			row.Since = n.StartedAt.Format(time.RFC3339)
		}
	}
	return row
}

// oneLine is a value as JSON on one line; strings are unquoted.
func oneLine(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return strings.Join(strings.Fields(label.Indented(v)), " ")
}

// place describes the position of a node in the execution.
func (x *nodeView) place(ctx context.Context) (views.NodePath, error) {
	var p views.NodePath
	id, op := x.ID.String(), x.operator(x.node.Node)
	plan, node := x.planned(x.node.Node)
	if plan == nil || op == nil {
		return p, nil
	}
	prefix := x.siblingPrefix(x.node.Node)
	p.Exit, p.Condition, p.Rule = op.Final, op.When, op.Depends
	if p.Rule == "" && node.Depends != "" && strings.Contains(strings.Join(op.DependsOn, " "), ".") {
		p.Rule = node.Depends
	}
	p.Before, p.After = x.neighbours(plan, prefix, node.Dependencies), x.neighbours(plan, prefix, node.Dependents)
	if x.node.Parent < 0 {
		return p, nil
	}
	parents, _, err := x.h.Executions.Nodes.List(ctx, x.ID, query.NodeFilter{Indexes: []int{x.node.Parent}})
	if err != nil {
		return p, err
	}
	if len(parents) == 0 {
		return p, apperr.New(apperr.NotFound, "The execution has no node %d.", x.node.Parent)
	}
	parent := parents[0]
	p.Parent = &views.Tag{Name: parent.Name, URL: views.NodeURL(id, parent.Name)}
	if x.node.ItemIndex == nil {
		return p, nil
	}
	k := *x.node.ItemIndex
	p.Item = fmt.Sprintf("index %s of %s", units.Number(int64(k)), units.Plural(parent.Children, "item", "items"))
	p.Value = ui.Short(label.Indented(x.node.Item), 2000)
	sibling := func(k int) *views.Tag {
		if k < 0 || k >= parent.Children {
			return nil
		}
		name := fmt.Sprintf("%s[%d]", parent.Name, k)
		return &views.Tag{Name: name, URL: views.NodeURL(id, name)}
	}
	p.Previous, p.Next = sibling(k-1), sibling(k+1)
	return p, nil
}

const neighboursShown = 20

// neighbours links to nodes of a plan. Their names have the prefix alongside.
func (x *nodeView) neighbours(plan *dag.Plan, prefix string, places []int) []views.Tag {
	var links []views.Tag
	id := x.ID.String()
	for _, i := range places[:min(len(places), neighboursShown)] {
		name := plan.Nodes[i].Name
		links = append(links, views.Tag{Name: name, URL: views.NodeURL(id, prefix+name)})
	}
	if more := len(places) - neighboursShown; more > 0 {
		links = append(links, views.Tag{Name: units.Number(int64(more)) + " more", URL: views.NodesURL(id, "")})
	}
	return links
}

// groupInputs are the inputs of a graph, or the sources of the inputs of items.
func (x *groupView) groupInputs() []views.Value {
	values := operatorInputs(x.node)
	g, ok := x.version.Definition.Graph(x.innerGraph())
	if !ok || g.Name == "" {
		return values
	}
	values = nil
	for _, f := range g.Inputs.Fields {
		if v, ok := x.node.Inputs[f.Name]; ok {
			values = append(values, valueOf(f.Name, f.Type, v))
			continue
		}
		value := views.Value{Name: f.Name, Type: f.Type.Name(), Missing: "default, if any"}
		for _, in := range x.node.Operator.Inputs {
			if in.Name == f.Name {
				value.Missing = sourceText(in)
			}
		}
		values = append(values, value)
	}
	return values
}
