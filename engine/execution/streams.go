package execution

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flowforge/flowforge/data/channel"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// ReasonStream is the code of a node that waits because the writer of its stream did not
// succeed.
const ReasonStream = "STREAM"

// classStream is the class of an attempt that its runner ended because of the attempt's
// stream.
const classStream = "stream"

// streams are the outputs that other nodes read while they are written.
type streams struct {
	feature
	noPart
}

// used reports whether any output of the execution may be read while it is written.
func (st *streams) used() bool {
	reads := func(p *dag.Plan) bool {
		return slices.ContainsFunc(p.Edges, func(e dag.Edge) bool { return e.Streams })
	}
	for _, p := range st.loop.version.Plans {
		if reads(p) {
			return true
		}
	}
	return reads(st.loop.version.Plan)
}

// write deletes the pieces of streams at the end of the execution; the complete files
// remain.
func (st *streams) write(ctx context.Context, q *db.Queries) error {
	if !st.loop.batch.finished || !st.used() {
		return nil
	}
	if err := q.ForgetStreams(ctx, st.loop.id); err != nil {
		return fmt.Errorf("delete streams: %w", err)
	}
	return nil
}

// writerOf returns the node that writes input in of node i while i reads it; false when the
// input is complete before i begins.
func (st *streams) writerOf(i int, in workflow.Input) (int, bool) {
	if in.Source.Kind != workflow.SourceFuture {
		return dag.NoNode, false
	}
	d, ok := st.loop.values.sibling(i, in.Source.Future.Operator)
	if !ok || !st.loop.progress.Reads(i, d) || st.loop.progress.State(d) == dag.Succeeded {
		return dag.NoNode, false
	}
	return d, true
}

// streamOf returns the file of an input whose writer, node d, has not ended.
func (st *streams) streamOf(in workflow.Input, d int) *flowforgev1.InputFile {
	return &flowforgev1.InputFile{
		Input: in.Name, Pointer: "/" + escapePointer(in.Name), Filename: in.Source.Future.Output, Channel: string(channel.Streaming),
		Stream: &flowforgev1.StreamSource{TaskId: query.TaskID(st.loop.id, d, st.loop.nodes[d].attempt), Output: in.Source.Future.Output},
	}
}

// outputsOf returns the outputs of op for the runner of node i: it has to know whether an
// output is a stream only when other nodes read it.
func (st *streams) outputsOf(i int, op *workflow.Operator) []*flowforgev1.OutputSpec {
	specs := outputSpecs(op)
	for _, o := range specs {
		if o.Storage == channel.HintStreaming && !st.loop.progress.Read(i) {
			o.Storage = ""
		}
	}
	return specs
}

// whole removes the nodes whose outputs node i reads as streams.
func (st *streams) whole(i int, nodes []int) []int {
	rest := nodes[:0]
	for _, d := range nodes {
		if !st.loop.progress.Reads(i, d) || st.loop.progress.State(d) == dag.Succeeded {
			rest = append(rest, d)
		}
	}
	return rest
}

// noStream explains why input in of node i is not a stream although its output requests one;
// "" when the output requests none, or it was one.
func (st *streams) noStream(i int, in workflow.Input) string {
	g, ok := st.loop.version.Definition.Graph(st.loop.nodes[i].graph)
	if !ok || st.loop.nodes[i].index >= 0 {
		return ""
	}
	streams, why := g.Streams(st.loop.operator(i), in)
	switch {
	case !streams:
		return ""
	case why != "":
		return "not while it is written: " + why
	}
	return "its writer had ended"
}

// recall restarts a node whose writer has ended without success: its attempt, if one is
// alive, is stopped first. It begins again with the writer, or ends with it, and spends no
// retry.
func (st *streams) recall(a dag.Action, now time.Time) {
	i, n := a.Node, &st.loop.nodes[a.Node]
	if !st.loop.progress.State(i).Active() {
		if st.loop.progress.State(i) == dag.Ready {
			st.loop.driver.quota.Withdraw(st.loop.id, []int{i})
		}
		st.recalled(i, now, st.recallReason(a.Cause))
		return
	}
	if n.recalled != nil {
		return
	}
	st.loop.batch.touch(i)
	n.recalled = st.recallReason(a.Cause)
	if !n.stopSent {
		n.stopSent = true
		st.loop.launches.requestStop(i)
	}
	n.reason = &query.Reason{Code: ReasonStopping, Message: n.recalled.Message}
	st.loop.batch.nodeEvent(i, now, query.EventNodeStopping, n.recalled.Message, nil)
}

// restoreRecall continues the recall of node i that an earlier loop began: its writer may
// already run again, so no other event triggers it.
func (st *streams) restoreRecall(i int) {
	n := &st.loop.nodes[i]
	if n.reason == nil || n.reason.Code != ReasonStopping || !st.loop.progress.State(i).Active() || !st.loop.progress.ReadsAny(i) {
		return
	}
	n.recalled, n.stopSent = &query.Reason{Code: ReasonStream, Message: n.reason.Message}, true
	st.loop.launches.requestStop(i)
}

// recalled moves node i, which has no live attempt, back to waiting for its writer.
func (st *streams) recalled(i int, at time.Time, reason *query.Reason) {
	n := st.loop.move(i, dag.Pending)
	n.reason, n.retryAt, n.recalled, n.stopSent, n.preempted = reason, nil, nil, false, nil
	st.loop.batch.nodeEvent(i, at, query.EventNodeRecalled, reason.Message, nil)
}

// recallReason describes what happened to the writer of a node.
func (st *streams) recallReason(writer int) *query.Reason {
	n := &st.loop.nodes[writer]
	text := "was restarted"
	switch st.loop.progress.State(writer) {
	case dag.Failed:
		text = "failed"
		if n.failure != nil {
			text = "failed: " + n.failure.Message
		}
	case dag.Cancelled:
		text = "was cancelled"
	case dag.Skipped:
		text = "was skipped"
	case dag.Pending, dag.Ready, dag.Queued, dag.Running, dag.Retrying, dag.Succeeded:
		if n.failure != nil {
			text = "is being retried: " + n.failure.Message
		}
	}
	return &query.Reason{Code: ReasonStream, Message: ended(clean(fmt.Sprintf("It read the output of %s, which %s", n.name, text), maxMessage))}
}

// ends checks the end of an attempt that reads streams: a recalled attempt gets its reason,
// and no attempt succeeds before its writers. The runner normally delays the end until then.
func (st *streams) ends(i int, e *ending) {
	if r := st.loop.nodes[i].recalled; r != nil && e.Outcome.outside() {
		e.Message = r.Message
		if e.Outcome == interrupted { // the runner noticed it in the stream before the command to stop arrived
			e.Outcome = cancelled
		}
	}
	if e.Outcome != succeeded {
		return
	}
	for _, d := range st.loop.progress.DependenciesOf(st.loop.home(i)) {
		if st.loop.progress.Reads(i, d) && st.loop.progress.State(d) != dag.Succeeded {
			e.Outcome, e.Class = interrupted, classStream
			e.Message = fmt.Sprintf("It ended before %s, whose output it reads.", st.loop.nodes[d].name)
			return
		}
	}
}

// interruption explains why an interrupted attempt runs again.
func interruption(e ending) string {
	if e.Class == classStream && e.Message != "" {
		return ended(e.Message) + " It runs again."
	}
	return "The attempt was interrupted and runs again."
}

// streamEdge is the edge of an input that is read while node d writes it; arrival is its
// arrival in the last attempt that reported one.
func (st *streams) streamEdge(in workflow.Input, d int, arrival *Arrival) Edge {
	c := channel.Choose(channel.Facts{Streams: true, Filename: in.Source.Future.Output})
	e := Edge{Input: in.Name, Pointer: "/" + escapePointer(in.Name), From: st.loop.nodes[d].op.Name + "." + in.Source.Future.Output, Choice: c}
	if arrival != nil && arrival.Channel == channel.Streaming {
		e.Came, e.Size = arrival, arrival.Size
	}
	return e
}
