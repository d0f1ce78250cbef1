package executions

import (
	"context"
	"net/http"
	"slices"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/web"
)

// groupStream is the only stream of the page of a node with children. Of 10,000 children it
// reads the number in each state and the rows that the page shows.
func (x *executionView) groupStream(w http.ResponseWriter, r *http.Request, d query.NodeDetail) error {
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	changes, err := x.h.Executions.Watch(ctx, x.ID)
	if err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead))
	if err != nil {
		return err
	}
	p := &groupPush{x: x, stream: stream, sent: page.SentPieces{}, name: d.Name}
	x.h.Page.OnHints(r.WithContext(ctx), stream, changes, page.PageInterval, p.send)
	return nil
}

// groupPush sends the changes of one page.
type groupPush struct {
	x      *executionView
	stream *web.Stream
	sent   page.SentPieces
	name   string
	shown  []int // the rows of the page
}

func (p *groupPush) send(ctx context.Context) error {
	x := p.x
	x.clock.Now = x.h.Now()
	e, err := x.h.Executions.Get(ctx, x.ID)
	if err != nil {
		return err
	}
	x.Execution = e
	d, err := x.h.Executions.Node(ctx, x.ID, p.name)
	if err != nil {
		return err
	}
	if err := x.count(ctx, []query.Node{d.Node}); err != nil {
		return err
	}
	u, err := p.pieces(ctx, d)
	if err != nil {
		return err
	}
	if !u.Empty() {
		if err := p.stream.SendComponent(ctx, "", "", views.GroupUpdateBlock(u)); err != nil {
			return err
		}
	}
	if !x.groupAtRest(d) {
		return nil
	}
	if err := p.stream.Send("end", "", nil); err != nil {
		return err
	}
	return page.ErrStreamDone
}

func (p *groupPush) pieces(ctx context.Context, d query.NodeDetail) (views.GroupUpdate, error) {
	var u views.GroupUpdate
	x := p.x
	head := x.groupHead(d)
	same := head
	same.Waits = ""
	if p.sent.Changed("head", same) {
		u.Head = &head
	}
	failures, err := x.failures(ctx, d)
	if err != nil {
		return u, err
	}
	if p.sent.Changed("failures", failures) {
		u.Failures = &failures
	}
	still := x.frozenRow(ctx, d)
	still.Inputs = nil
	if p.sent.Changed("still", stillFacts(still)) {
		u.Still, u.Facts, u.Outputs = true, still.Facts, still.Outputs
	}
	if err := p.rows(ctx, d, &u); err != nil {
		return u, err
	}
	if graph := x.innerGraph(d.Node); graph != "" && d.Expanded {
		children, err := x.childrenOf(ctx, d.Node)
		if err != nil {
			return u, err
		}
		for _, s := range x.inGraph(d.Node, graph, children).Boxes {
			if p.sent.Changed(s.ID, stillShape(s)) {
				u.Shapes = append(u.Shapes, s)
			}
		}
	}
	return u, nil
}

// rows adds the changed rows, or the table if there was none. A row that no longer matches
// the filter stays: rows move only when the reader reloads.
func (p *groupPush) rows(ctx context.Context, d query.NodeDetail, u *views.GroupUpdate) error {
	x := p.x
	if len(p.shown) == 0 {
		t, err := x.childTable(ctx, d)
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
	nodes, _, err := x.h.Executions.Nodes(ctx, x.ID, query.NodeFilter{Indexes: p.shown})
	if err != nil {
		return err
	}
	if err := x.count(ctx, nodes); err != nil {
		return err
	}
	u.Layout = childLayout(d)
	for _, n := range nodes {
		row := x.childRow(n, u.Layout)
		if p.sent.Changed(views.NodeRowID(row.Index), stillChild(row)) {
			u.Rows = append(u.Rows, row)
		}
	}
	return nil
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
