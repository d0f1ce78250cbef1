package executions

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// Pieces that need a query of the telemetry store, or change only with time, are checked less
// often than states.
const slowInterval = 2 * time.Second

// readInterval is the time after which a page reads an execution that has not changed. What other
// people write, such as labels, then appears.
const readInterval = 10 * time.Second

// executionStream is the only stream of an execution page. Each message contains the changed
// pieces. Its id is the position in the log, so that a client that reconnects gets every
// line exactly once. Pieces are compared with those already sent, so a reconnect sends all
// of them again.
func (h *Pages) executionStream(w http.ResponseWriter, r *http.Request) error {
	x, err := h.loadExecution(r)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	changes, err := h.Executions.Watches.Watch(ctx, x.ID)
	if err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead, auth.LogRead))
	if err != nil {
		return err
	}
	x.shares = true
	f := logFilterOf(url.Values{"node": {x.query.Get("node")}})
	p := &executionPush{x: x, push: newPush(stream, f)}
	lines := h.Content.Tail(ctx, f.query(x.Execution), telemetry.Cursor(stream.LastEventID()))
	hints := p.merge(ctx, changes, lines)
	h.Page.OnHints(r.WithContext(ctx), stream, hints, page.LineInterval, p.send)
	return nil
}

// executionPush sends the changes of the page of an execution.
type executionPush struct {
	*push

	x     *executionView
	read  time.Time // when the execution was last read
	waits bool      // the page shows a reason for waiting, which other executions change

	metricsAt metricsState // of the metrics that were last read
}

// metricsState is what the metrics of an execution depend on, apart from what people choose.
type metricsState struct {
	read, ended bool
	received    uint64 // points
}

// send sends one message with all changes, or none.
func (p *executionPush) send(ctx context.Context) error {
	x := p.x
	x.clock.Now = x.h.Now()
	var u views.ExecutionUpdate
	var err error
	switch changed, ticked := p.takeHints(); {
	case changed, ticked && (p.waits || x.Status.Ended() || x.clock.Now.Sub(p.read) >= readInterval):
		if err = x.refresh(ctx); err != nil {
			return err
		}
		p.read = x.clock.Now
		u, err = p.pieces(ctx, x.Status.Ended())
	case ticked:
		p.slow = x.clock.Now
		err = p.slowPieces(ctx, &u)
	}
	if err != nil {
		return err
	}
	var cursor string
	u.Lines, cursor = p.takeLines(x.snapshot)
	if !u.Empty() {
		if err := p.stream.SendComponent(ctx, "", cursor, views.ExecutionUpdateBlock(u)); err != nil {
			return err
		}
	}
	return p.endWhen(x.Status.Ended(), len(u.Lines))
}

// pieces collects the changes since the last message.
func (p *executionPush) pieces(ctx context.Context, ended bool) (views.ExecutionUpdate, error) {
	x := p.x
	var u views.ExecutionUpdate
	head, err := x.wholeHead(ctx)
	if err != nil {
		return u, err
	}
	if p.sent.Changed("head", stillHead(head)) {
		u.Head = &head
	}
	if err := p.graphOrTable(ctx, &u); err != nil {
		return u, err
	}
	panel, err := x.panel(ctx)
	if err != nil {
		return u, err
	}
	p.waits = head.Wait.Shown() || panel.Name != ""
	if panel.Name != "" && p.sent.Changed("panel", stillPanel(panel)) {
		u.Panel = &panel
	}
	if outputs := x.outputs(ctx); p.sent.Changed("outputs", outputs) {
		u.Outputs = &outputs
	}
	moved := u.Head != nil || len(u.Shapes) > 0 || len(u.NodeRows) > 0
	if !moved && x.clock.Now.Sub(p.slow) < slowInterval {
		return u, nil
	}
	events, err := x.events(ctx)
	if err != nil {
		return u, err
	}
	if p.sent.Changed("events", events) {
		u.Events = &events
	}
	if x.clock.Now.Sub(p.slow) >= slowInterval || ended {
		p.slow = x.clock.Now
		return u, p.slowPieces(ctx, &u)
	}
	return u, nil
}

func (p *executionPush) slowPieces(ctx context.Context, u *views.ExecutionUpdate) error {
	x := p.x
	if t := x.timeline(); p.sent.Changed("timeline", t) {
		u.Timeline = &t
	}
	p.metrics(ctx, u)
	a, err := x.artifacts(ctx)
	if err != nil {
		return err
	}
	if p.sent.Changed("artifacts", a) {
		u.Artifacts = &a
	}
	return nil
}

// metrics adds the metrics if they changed. It reads them only after new points.
func (p *executionPush) metrics(ctx context.Context, u *views.ExecutionUpdate) {
	received, ok := p.x.h.Telemetry.Received(ctx, p.x.ID)
	ended := p.x.Status.Ended()
	if ok && p.metricsAt == (metricsState{read: true, ended: ended, received: received}) {
		return
	}
	p.x.received = received // a shared read lowers it
	m := p.x.metrics(ctx)
	p.metricsAt = metricsState{read: m.Problem == "", ended: ended, received: p.x.received}
	if p.sent.Changed("metrics", m) {
		u.Metrics = &m
	}
}

// graphOrTable adds the changed boxes of the graph, or the changed rows of the list.
func (p *executionPush) graphOrTable(ctx context.Context, u *views.ExecutionUpdate) error {
	if p.x.query.Get("view") == "list" {
		t, err := p.x.nodeTable(ctx)
		if err != nil {
			return err
		}
		for _, row := range t.Rows {
			if p.sent.Changed("row"+strconv.Itoa(row.Index), stillRow(row)) {
				u.NodeRows = append(u.NodeRows, row)
			}
		}
		return nil
	}
	painter := p.x.painter()
	for b := range p.x.drawing.Boxes {
		shape := painter.Shape(b)
		same := shape
		if same.Since != "" {
			same.Sub = ""
		}
		if p.sent.Changed(shape.ID, same) {
			u.Shapes = append(u.Shapes, shape)
		}
	}
	return nil
}

// The pieces below are compared without the durations that the browser updates.

func stillHead(h views.ExecutionHead) views.ExecutionHead {
	if h.Since != "" {
		h.Took = ""
	}
	h.Wait = stillWait(h.Wait)
	return h
}

func stillRow(r views.NodeRow) views.NodeRow {
	if r.Since != "" {
		r.Took = ""
	}
	return r
}

func stillPanel(p views.NodePanel) views.NodePanel {
	p.Wait = stillWait(p.Wait)
	facts := p.Facts
	p.Facts = nil
	for _, f := range facts {
		if f.Since != "" {
			f.Value = ""
		}
		p.Facts = append(p.Facts, f)
	}
	attempts := p.Attempts
	p.Attempts = nil
	for _, a := range attempts {
		if a.Since != "" {
			a.Took = ""
		}
		p.Attempts = append(p.Attempts, a)
	}
	return p
}
