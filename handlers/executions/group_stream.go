package executions

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/planview"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/web"
)

// groupStream is the only stream of the page of a node with children. Of 10,000 children it
// reads the number in each state and the rows that the page shows.
func (x *groupView) groupStream(w http.ResponseWriter, r *http.Request) error {
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	changes, err := x.h.Executions.Watches.Watch(ctx, x.ID)
	if err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead))
	if err != nil {
		return err
	}
	p := &groupPush{x: x, stream: stream, sent: page.SentPieces{}}
	x.h.Page.OnHints(r.WithContext(ctx), stream, changes, page.PageInterval, p.send)
	return nil
}

// groupPush sends the changes of one page.
type groupPush struct {
	x      *groupView
	stream *web.Stream
	sent   page.SentPieces
	shown  []int // the rows of the page
}

func (p *groupPush) send(ctx context.Context) error {
	x := p.x
	if err := x.refresh(ctx); err != nil {
		return err
	}
	if err := x.count(ctx, []query.Node{x.node.Node}); err != nil {
		return err
	}
	u, err := p.pieces(ctx)
	if err != nil {
		return err
	}
	if !u.Empty() {
		if err := p.stream.SendComponent(ctx, "", "", views.GroupUpdateBlock(u)); err != nil {
			return err
		}
	}
	if !x.groupSettled() {
		return nil
	}
	if err := p.stream.Send("end", "", nil); err != nil {
		return err
	}
	return page.ErrStreamDone
}

func (p *groupPush) pieces(ctx context.Context) (views.GroupUpdate, error) {
	var u views.GroupUpdate
	x := p.x
	head := x.groupHead()
	same := head
	same.Waits = ""
	if p.sent.Changed("head", same) {
		u.Head = &head
	}
	failures, err := x.failures(ctx)
	if err != nil {
		return u, err
	}
	if p.sent.Changed("failures", failures) {
		u.Failures = &failures
	}
	still := x.frozenRow(ctx)
	still.Inputs = nil
	if p.sent.Changed("still", stillFacts(still)) {
		u.Still, u.Facts, u.Outputs = true, still.Facts, still.Outputs
	}
	if err := p.rows(ctx, &u); err != nil {
		return u, err
	}
	if graph := x.innerGraph(); graph != "" && x.node.Expanded {
		children, err := x.childrenOf(ctx)
		if err != nil {
			return u, err
		}
		for _, s := range x.inGraph(graph, children).Boxes {
			if p.sent.Changed(s.ID, stillShape(s)) {
				u.Shapes = append(u.Shapes, s)
			}
		}
	}
	return u, nil
}

// rows adds the changed rows, or the table if there was none. A row that no longer matches
// the filter stays: rows move only when the reader reloads.
func (p *groupPush) rows(ctx context.Context, u *views.GroupUpdate) error {
	x := p.x
	if len(p.shown) == 0 {
		t, err := x.childTable(ctx)
		if err != nil || len(t.Rows) == 0 {
			return err
		}
		for _, row := range t.Rows {
			p.shown = append(p.shown, row.Index)
			p.sent.Changed(views.NodeRowID(row.Index), stillChild(row))
		}
		u.Layout = t
		if p.sent.Changed("table", p.shown) {
			u.Children = &t
		}
		return nil
	}
	nodes, _, err := x.h.Executions.Nodes.List(ctx, x.ID, query.NodeFilter{Indexes: p.shown})
	if err != nil {
		return err
	}
	if err := x.count(ctx, nodes); err != nil {
		return err
	}
	u.Layout = childLayout(x.node)
	for _, n := range nodes {
		row := x.childRow(n, u.Layout)
		if p.sent.Changed(views.NodeRowID(row.Index), stillChild(row)) {
			u.Rows = append(u.Rows, row)
		}
	}
	return nil
}

// inGraph draws the graph that the node runs. Its nodes are children, in the order of the plan.
func (x *groupView) inGraph(graph string, children []query.Node) dagview.Picture {
	plan, _ := planview.GraphOf(x.version, graph)
	drawing := x.h.Drawings.Best(x.version, graph)
	names, states := make([]string, len(plan.Nodes)), make([]dagview.NodeState, len(plan.Nodes))
	for i := range plan.Nodes {
		names[i], states[i].State = plan.Nodes[i].Name, string(dag.Pending)
		if i < len(children) {
			states[i] = x.nodeState(children[i])
		}
	}
	id := x.ID.String()
	p := dagview.Painter{
		ID: views.InnerGraphID(), Drawing: drawing, States: states, Names: names, Selected: -1,
		Links: dagview.Links{
			Node:  func(i int) string { return views.NodeURL(id, x.node.Name+"/"+names[i]) },
			Group: func(b dagview.Box) string { return views.ChildrenURL(id, x.node.Name, "", b.Stem) },
		},
	}
	return p.Picture(fmt.Sprintf("Graph %s: %s", graph, units.Plural(len(plan.Nodes), "node", "nodes")))
}

func stillChild(r views.ChildRow) views.ChildRow {
	if r.Since != "" {
		r.Took = ""
	}
	return r
}

// stillShape is a box without the durations that the browser updates.
func stillShape(s dagview.Shape) dagview.Shape {
	s.Lines = slices.Clone(s.Lines)
	if s.Since != "" {
		s.Sub = ""
	}
	return s
}
