package executions

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// nodeStream is the only stream of a node's page: the reason for waiting, the state and
// attempts, and the lines of the log. Its messages are numbered like those of
// executionStream.
func (h *Pages) nodeStream(w http.ResponseWriter, r *http.Request) error {
	x, err := h.loadExecution(r)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	name := request.PathValue(r, "node")
	d, err := h.Executions.Node(ctx, x.ID, name)
	if err != nil {
		return err
	}
	if x.becomes(d.Node) {
		return x.groupStream(w, r, d)
	}
	changes := h.Executions.WatchAll(ctx)
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead, auth.LogRead))
	if err != nil {
		return err
	}
	f := logFilterOf(url.Values{"node": {name}})
	p := &nodePush{executionPush{x: x, stream: stream, sent: page.SentPieces{}, filter: f, attempts: map[string]int{}}, name}
	lines := h.Content.Tail(ctx, f.query(x.Execution), telemetry.Cursor(stream.LastEventID()))
	h.Page.OnHints(r.WithContext(ctx), stream, p.merge(ctx, changes, lines), page.PageInterval, p.send)
	return nil
}

// nodePush sends the changes of the page of a node. Any other node can change the reason for
// waiting, so it checks at every hint.
type nodePush struct {
	executionPush

	name string
}

func (p *nodePush) send(ctx context.Context) error {
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
	u, err := p.pieces(ctx, d)
	if err != nil {
		return err
	}
	lines := views.ExecutionUpdate{}
	cursor := p.takeLines(&lines)
	u.Lines = lines.Lines
	if !u.Empty() {
		if err := p.stream.SendComponent(ctx, "", cursor, views.NodeUpdateBlock(u)); err != nil {
			return err
		}
	}
	return p.endWhen(d.State.Ended(), len(u.Lines))
}

func (p *nodePush) pieces(ctx context.Context, d query.NodeDetail) (views.NodeUpdate, error) {
	var u views.NodeUpdate
	wait, err := p.x.wait(ctx, d)
	if err != nil {
		return u, err
	}
	head := p.x.nodeHead(d)
	if wait.Shown() {
		head.Summary = ""
	}
	pods, err := p.x.pods(ctx, d)
	if err != nil {
		return u, err
	}
	attempts := p.x.attempts(d)
	if pods.Waits() || repeatsAttempt(attempts, head.Summary) {
		head.Summary = ""
	}
	same := head
	same.Waits = ""
	if p.sent.Changed("head", same) {
		u.Head = &head
	}
	if p.sent.Changed("attempts", stillPanel(views.NodePanel{Attempts: attempts})) {
		u.Attempts, u.Moved = attempts, true
	}
	if p.sent.Changed("wait", stillWait(wait)) {
		u.Wait = &wait
	}
	if p.sent.Changed("pods", pods) {
		u.Pods = &pods
	}
	still := p.x.frozenRow(ctx, d)
	if p.sent.Changed("still", stillFacts(still)) {
		u.Still = &still
	}
	if p.x.clock.Now.Sub(p.slow) < slowInterval && !d.State.Ended() {
		return u, nil
	}
	p.slow = p.x.clock.Now
	if m := p.x.nodeMetrics(ctx, d); p.sent.Changed("metrics", m) {
		u.Metrics = &m
	}
	if m := p.x.usage(ctx, d); p.sent.Changed("usage", m) {
		u.Usage = &m
	}
	return u, nil
}

// stillFacts are facts and values without the durations that the browser updates.
func stillFacts(n views.NodeStill) views.NodeStill {
	n.Facts = slices.Clone(n.Facts)
	for i := range n.Facts {
		if n.Facts[i].Since != "" {
			n.Facts[i].Value = ""
		}
	}
	return n
}

// stillWait is a panel without the durations that the browser updates.
func stillWait(p views.WaitPanel) views.WaitPanel {
	stats := p.Stats
	p.Stats = nil
	for _, s := range stats {
		if s.Since != "" {
			s.Value = ""
		}
		p.Stats = append(p.Stats, s)
	}
	return p
}
