package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/dag"
)

// AddressPort is the output of a node that serves others: where it does.
const AddressPort = "ip"

// ReasonServing is the code of a node that serves others and runs until they have ended.
const ReasonServing = "SERVING"

// thisMachine is where local processes serve.
const thisMachine = "127.0.0.1"

// servesRow is a row of the record set in MarkServing.
type servesRow struct {
	Execution uuid.UUID `json:"execution_id"`
	attemptKey
	Address string `json:"address"`
}

// takeServing writes where attempts serve and tells those who drive them. It tells also
// what is written already: whoever wrote it may have ended before it could.
func (s *Service) takeServing(ctx context.Context, rows []servesRow) error {
	if len(rows) == 0 {
		return nil
	}
	if err := s.queries.MarkServing(ctx, mustJSON(rows)); err != nil {
		return fmt.Errorf("write where attempts serve: %w", err)
	}
	for _, r := range rows {
		if s.live.post(r.Execution, message{node: r.Node, attempt: r.Attempt, address: r.Address}) {
			continue
		}
		s.wake(r.Execution)
		s.hints.add(r.Execution)
	}
	return nil
}

// applyAddress takes up where the attempt of a node serves.
func (l *loop) applyAddress(m message) {
	if !l.current(m) || !l.operator(m.node).Serves || !l.progress.State(m.node).Active() {
		return
	}
	if n := &l.nodes[m.node]; n.address == "" {
		n.address = m.address
	}
	l.serve(m.node, l.service.now())
}

// serve lets others go on that need node i, once its command runs and its address is
// known. A local process serves as soon as it runs.
func (l *loop) serve(i int, at time.Time) {
	n := &l.nodes[i]
	if !n.op.Serves || l.fansOut(i) || l.progress.State(i) != dag.Running || l.progress.Serving(i) {
		return
	}
	if n.address == "" && !l.service.config.Cluster {
		n.address = thisMachine
	}
	if n.address == "" {
		return
	}
	row := l.touch(i)
	l.progress.Serve(i)
	l.changed = append(l.changed, i)
	l.outputs[i] = map[string]any{AddressPort: n.address}
	row.Outputs = l.outputs[i]
	n.reason = &Reason{Code: ReasonServing, Message: fmt.Sprintf("It serves others at %s until they have ended.", n.address)}
	l.nodeEvent(i, at, "node.serving", fmt.Sprintf("At %s, until they have ended.", n.address), map[string]any{"address": n.address})
}

// rememberServing takes up which nodes serve, from their rows.
func (l *loop) rememberServing(ctx context.Context) error {
	var nodes []int
	for i := range l.nodes {
		if r := l.nodes[i].reason; r != nil && r.Code == ReasonServing {
			l.progress.Serve(i)
			nodes = append(nodes, i)
		}
	}
	if err := l.loadOutputs(ctx, nodes); err != nil {
		return err
	}
	for _, i := range nodes {
		l.nodes[i].address, _ = l.outputs[i][AddressPort].(string)
	}
	return nil
}

// loadServing takes up where attempts serve of which other processes were told.
func (l *loop) loadServing(ctx context.Context) error {
	var nodes []int32
	for i := range l.nodes {
		if l.operator(i).Serves && l.progress.State(i).Active() && !l.progress.Serving(i) && !l.fansOut(i) {
			nodes = append(nodes, int32(i))
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	rows, err := l.service.queries.ServingAttempts(ctx, l.id, nodes)
	if err != nil {
		return fmt.Errorf("load where attempts serve: %w", err)
	}
	for _, r := range rows {
		l.applyAddress(message{node: int(r.NodeIndex), attempt: int(r.Attempt), address: r.Address})
	}
	return nil
}

// dismiss ends the attempt of node i, which serves nobody any more.
func (l *loop) dismiss(i int, now time.Time) {
	reason := &Reason{Code: ReasonServing, Message: "Nobody needs it any more: it was asked to stop."}
	l.stopAs(i, now, reason, reason.Message)
}

// endsServing turns the end of an attempt that served others into a good one, however it
// came: it was not there to end by itself. It reports false for any other, and for one
// that somebody, or a failure, stopped.
func (l *loop) endsServing(i int, e *ending) bool {
	n := &l.nodes[i]
	if !l.progress.Serving(i) || n.cancelled != nil || n.verdict != nil || l.progress.Halted(i) {
		return false
	}
	if !l.progress.Dismissed(i) && e.Outcome != succeeded {
		text := e.Message
		if failure := e.failure(n.name, n.attempt); text == "" && failure != nil {
			text = failure.Message
		}
		e.Message = clean("It ended while others might have needed it. "+text, maxMessage)
	}
	e.Outcome, e.Class = succeeded, ""
	return true
}
