package executions

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// nodeStream is the only stream of a node's page: the reason for waiting, the state and
// attempts, and the lines of the log. Its messages are numbered like those of
// executionStream.
func (h *Pages) nodeStream(w http.ResponseWriter, r *http.Request) error {
	x, err := h.loadNode(r)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	if x.becomes(x.node.Node) {
		group := groupView{*x}
		return group.groupStream(w, r)
	}
	changes := h.Executions.Watches.WatchAll(ctx)
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead, auth.LogRead))
	if err != nil {
		return err
	}
	f := logFilterOf(url.Values{"node": {x.node.Name}})
	p := &nodePush{x: x, push: newPush(stream, f)}
	lines := h.Content.Tail(ctx, f.query(x.Execution), telemetry.Cursor(stream.LastEventID()))
	h.Page.OnHints(r.WithContext(ctx), stream, p.merge(ctx, changes, lines), page.LineInterval, p.send)
	return nil
}

// nodePush sends the changes of the page of a node. Any other node can change the reason for
// waiting, so it checks at every hint.
type nodePush struct {
	*push

	x *nodeView
}

func (p *nodePush) send(ctx context.Context) error {
	p.x.clock.Now = p.x.h.Now()
	var u views.NodeUpdate
	if changed, ticked := p.takeHints(); changed || ticked {
		if err := p.x.refresh(ctx); err != nil {
			return err
		}
		var err error
		if u, err = p.pieces(ctx); err != nil {
			return err
		}
	}
	var cursor string
	u.Lines, cursor = p.takeLines(p.x.snapshot)
	if !u.Empty() {
		if err := p.stream.SendComponent(ctx, "", cursor, views.NodeUpdateBlock(u)); err != nil {
			return err
		}
	}
	return p.endWhen(p.x.node.State.Ended(), len(u.Lines))
}

func (p *nodePush) pieces(ctx context.Context) (views.NodeUpdate, error) {
	var u views.NodeUpdate
	wait, err := p.x.wait(ctx)
	if err != nil {
		return u, err
	}
	head := p.x.head()
	if wait.Shown() {
		head.Summary = ""
	}
	pods, err := p.x.pods(ctx)
	if err != nil {
		return u, err
	}
	attempts := p.x.attempts()
	traceback, err := p.x.traceback(ctx)
	if err != nil {
		return u, err
	}
	if pods.Waits() || traceback.Shown() && p.x.node.State == dag.Failed || repeatsAttempt(attempts, head.Summary) {
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
	if p.x.node.Operator != nil && p.x.node.Operator.Runs() && p.sent.Changed("traceback", traceback) {
		u.Traceback = &traceback
	}
	if p.sent.Changed("wait", stillWait(wait)) {
		u.Wait = &wait
	}
	if p.sent.Changed("pods", pods) {
		u.Pods = &pods
	}
	still := p.x.frozenRow(ctx)
	if p.sent.Changed("still", stillFacts(still)) {
		u.Still = &still
	}
	if p.x.clock.Now.Sub(p.slow) < slowInterval && !p.x.node.State.Ended() {
		return u, nil
	}
	p.slow = p.x.clock.Now
	if m := p.x.metrics(ctx); p.sent.Changed("metrics", m) {
		u.Metrics = &m
	}
	if m := p.x.usage(ctx); p.sent.Changed("usage", m) {
		u.Usage = &m
	}
	if m := p.x.environment(ctx); len(m.Requirements) > 0 && p.sent.Changed("environment", m) {
		u.Python = &m
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
