package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
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
func (s *Supervisor) takeServing(ctx context.Context, rows []servesRow) error {
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
	if !sv.loop.ends.current(m) || !sv.loop.operator(m.node).Serves || !sv.loop.progress.State(m.node).Active() {
		return
	}
	if n := &sv.loop.nodes[m.node]; n.address == "" {
		n.address = m.address
	}
	sv.serve(m.node, sv.loop.driver.now())
}

// serve lets the dependents of node i begin once its command runs and its address is known.
// A local process serves as soon as it runs.
func (sv *serving) serve(i int, at time.Time) {
	n := &sv.loop.nodes[i]
	if !n.op.Serves || sv.loop.groups.fansOut(i) || sv.loop.progress.State(i) != dag.Running || sv.loop.progress.Serving(i) {
		return
	}
	if n.address == "" && !sv.loop.driver.config.Cluster {
		n.address = thisMachine
	}
	if n.address == "" {
		return
	}
	row := sv.loop.batch.touch(i)
	sv.loop.progress.Serve(i)
	sv.loop.unseen.add(i)
	sv.loop.values.outputs[i] = map[string]any{AddressPort: n.address}
	row.Outputs = sv.loop.values.outputs[i]
	n.reason = &query.Reason{Code: ReasonServing, Message: fmt.Sprintf("Serving at %s until its dependents have ended.", n.address)}
	sv.loop.batch.nodeEvent(i, at, query.EventNodeServing, fmt.Sprintf("At %s, until its dependents have ended.", n.address), map[string]any{"address": n.address})
}

// restore loads which nodes serve, from their rows.
func (sv *serving) restore(ctx context.Context) error {
	var nodes []int
	for i := range sv.loop.nodes {
		if r := sv.loop.nodes[i].reason; r != nil && r.Code == ReasonServing {
			sv.loop.progress.Serve(i)
			nodes = append(nodes, i)
		}
	}
	if err := sv.loop.values.loadOutputs(ctx, nodes); err != nil {
		return err
	}
	for _, i := range nodes {
		sv.loop.nodes[i].address, _ = sv.loop.values.outputs[i][AddressPort].(string)
	}
	return nil
}

// loadUpdates loads the addresses that other processes received.
func (sv *serving) loadUpdates(ctx context.Context) error {
	var nodes []int32
	for i := range sv.loop.nodes {
		if sv.loop.operator(i).Serves && sv.loop.progress.State(i).Active() && !sv.loop.progress.Serving(i) && !sv.loop.groups.fansOut(i) {
			nodes = append(nodes, int32(i))
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	rows, err := sv.loop.driver.queries.ServingAttempts(ctx, sv.loop.id, nodes)
	if err != nil {
		return fmt.Errorf("load addresses of attempts: %w", err)
	}
	for _, r := range rows {
		sv.apply(message{node: int(r.NodeIndex), attempt: int(r.Attempt), address: r.Address})
	}
	return nil
}

// dismiss ends the attempt of node i, because no node uses it.
func (sv *serving) dismiss(i int, now time.Time) {
	reason := &query.Reason{Code: ReasonServing, Message: "All its dependents have ended, so it was asked to stop."}
	sv.loop.stopAs(i, now, reason, reason.Message)
}

// ends turns the end of an attempt that served others into a success, regardless of its
// cause: its task is not expected to end by itself. It reports false for any other attempt,
// and for one that a user, or a failure, stopped.
func (sv *serving) ends(i int, e *ending) bool {
	n := &sv.loop.nodes[i]
	if !sv.loop.progress.Serving(i) || n.cancelled != nil || n.endCommand != nil || sv.loop.progress.Halted(i) {
		return false
	}
	if !sv.loop.progress.Dismissed(i) && e.Outcome != succeeded {
		text := e.Message
		if failure := e.failure(n.name, n.attempt); text == "" && failure != nil {
			text = failure.Message
		}
		e.Message = clean("It ended before its dependents. "+text, maxMessage)
	}
	e.Outcome, e.Class = succeeded, ""
	return true
}
