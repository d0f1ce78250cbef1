package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/dag"
)

// AddressPort is the output of a node that serves others: its address.
const AddressPort = "ip"

// ReasonServing is the code of a node that serves others and runs until they have ended.
const ReasonServing = "SERVING"

// thisMachine is the address at which local processes serve.
const thisMachine = "127.0.0.1"

// servesRow is a row of the record set in MarkServing.
type servesRow struct {
	Execution uuid.UUID `json:"execution_id"`
	attemptKey
	Address string `json:"address"`
}

// takeServing writes the addresses of serving attempts and notifies their drivers. It also
// notifies for rows that already exist: the process that wrote them may have ended before it
// could.
func (s *Service) takeServing(ctx context.Context, rows []servesRow) error {
	if len(rows) == 0 {
		return nil
	}
	if err := s.queries.MarkServing(ctx, mustJSON(rows)); err != nil {
		return fmt.Errorf("write addresses of attempts: %w", err)
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

// serving are the nodes that serve others while they run.
type serving struct {
	feature
	noPart
	noWrite
}

// apply stores the address at which the attempt of a node serves.
func (sv *serving) apply(m message) {
	if !sv.current(m) || !sv.operator(m.node).Serves || !sv.progress.State(m.node).Active() {
		return
	}
	if n := &sv.nodes[m.node]; n.address == "" {
		n.address = m.address
	}
	sv.serve(m.node, sv.service.now())
}

// serve lets the dependents of node i begin once its command runs and its address is known.
// A local process serves as soon as it runs.
func (sv *serving) serve(i int, at time.Time) {
	n := &sv.nodes[i]
	if !n.op.Serves || sv.fansOut(i) || sv.progress.State(i) != dag.Running || sv.progress.Serving(i) {
		return
	}
	if n.address == "" && !sv.service.config.Cluster {
		n.address = thisMachine
	}
	if n.address == "" {
		return
	}
	row := sv.touch(i)
	sv.progress.Serve(i)
	sv.changed = append(sv.changed, i)
	sv.outputs[i] = map[string]any{AddressPort: n.address}
	row.Outputs = sv.outputs[i]
	n.reason = &Reason{Code: ReasonServing, Message: fmt.Sprintf("Serving at %s until its dependents have ended.", n.address)}
	sv.nodeEvent(i, at, "node.serving", fmt.Sprintf("At %s, until its dependents have ended.", n.address), map[string]any{"address": n.address})
}

// restore loads which nodes serve, from their rows.
func (sv *serving) restore(ctx context.Context) error {
	var nodes []int
	for i := range sv.nodes {
		if r := sv.nodes[i].reason; r != nil && r.Code == ReasonServing {
			sv.progress.Serve(i)
			nodes = append(nodes, i)
		}
	}
	if err := sv.loadOutputs(ctx, nodes); err != nil {
		return err
	}
	for _, i := range nodes {
		sv.nodes[i].address, _ = sv.outputs[i][AddressPort].(string)
	}
	return nil
}

// news loads the addresses that other processes received.
func (sv *serving) news(ctx context.Context) error {
	var nodes []int32
	for i := range sv.nodes {
		if sv.operator(i).Serves && sv.progress.State(i).Active() && !sv.progress.Serving(i) && !sv.fansOut(i) {
			nodes = append(nodes, int32(i))
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	rows, err := sv.service.queries.ServingAttempts(ctx, sv.id, nodes)
	if err != nil {
		return fmt.Errorf("load addresses of attempts: %w", err)
	}
	for _, r := range rows {
		sv.apply(message{node: int(r.NodeIndex), attempt: int(r.Attempt), address: r.Address})
	}
	return nil
}

// dismiss ends the attempt of node i, which no node needs any more.
func (sv *serving) dismiss(i int, now time.Time) {
	reason := &Reason{Code: ReasonServing, Message: "All its dependents have ended, so it was asked to stop."}
	sv.stopAs(i, now, reason, reason.Message)
}

// ends turns the end of an attempt that served others into a success, regardless of its
// cause: its task is not expected to end by itself. It reports false for any other attempt,
// and for one that a user, or a failure, stopped.
func (sv *serving) ends(i int, e *ending) bool {
	n := &sv.nodes[i]
	if !sv.progress.Serving(i) || n.cancelled != nil || n.endCommand != nil || sv.progress.Halted(i) {
		return false
	}
	if !sv.progress.Dismissed(i) && e.Outcome != succeeded {
		text := e.Message
		if failure := e.failure(n.name, n.attempt); text == "" && failure != nil {
			text = failure.Message
		}
		e.Message = clean("It ended before its dependents. "+text, maxMessage)
	}
	e.Outcome, e.Class = succeeded, ""
	return true
}
