package execution

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

const (
	interruptedDelay = time.Second // before an interrupted attempt is repeated
	maxInterruptions = 50          // of one node, before it fails
	maxLosses        = 3           // attempts of one node that are lost with their machine and spend no retry
)

// attemptEnds applies the begins and ends of attempts to their nodes, and decides about retries.
type attemptEnds struct{ loop *loop }

// applyStarted moves a queued node to RUNNING. Late and repeated reports change nothing.
func (es *attemptEnds) applyStarted(m message) {
	if !es.current(m) || es.loop.progress.State(m.node) != dag.Queued {
		return
	}
	n := es.loop.move(m.node, dag.Running)
	n.startedAt = &m.begun.At
	if n.reason != nil && slices.Contains(query.WaitCodes(), n.reason.Code) {
		n.reason = nil
	}
	row := *m.begun
	row.attemptKey = attemptKey{m.node, m.attempt}
	if timeout := es.loop.operator(m.node).Timeout; timeout > 0 {
		deadline := m.begun.At.Add(timeout + es.loop.driver.config.Timing.StopGrace + es.loop.driver.config.Timing.DeadlineGrace)
		row.DeadlineAt = &deadline
	}
	es.loop.batch.started[row.attemptKey] = row
	es.loop.batch.nodeEvent(m.node, m.begun.At, query.EventNodeStarted, "", nil)
	es.loop.serving.serve(m.node, m.begun.At)
}

// current reports whether m is about the current attempt of its node.
func (es *attemptEnds) current(m message) bool {
	return m.node >= 0 && m.node < len(es.loop.nodes) && es.loop.nodes[m.node].attempt == m.attempt
}

// applyEnding applies the end of an attempt. It reports false, and changes nothing, when it
// is not the node's current attempt or that attempt is not alive.
func (es *attemptEnds) applyEnding(ctx context.Context, m message) bool {
	if !es.current(m) || !es.loop.progress.State(m.node).Active() {
		return false
	}
	i, e := m.node, *m.end
	es.loop.batch.bytes += e.size()
	if e.StartedAt == nil {
		e.StartedAt = es.loop.nodes[i].startedAt
	}
	if e.Outcome == lost && es.loop.progress.State(i) == dag.Queued && e.StartedAt == nil {
		e.Outcome = interrupted // it never began, so no retry is spent
	}
	es.loop.streams.ends(i, &e)
	var values map[string]any
	switch {
	case es.loop.serving.ends(i, &e):
		values = es.loop.artifacts.served(ctx, i, &e)
	case e.Outcome == succeeded:
		values = es.loop.artifacts.take(ctx, i, &e)
	}
	room := es.loop.preemption.wasPreempted(i, e)
	if room {
		e.Outcome = preempted
	}
	growth := es.growMemory(i, e)
	es.endAttempt(i, e)
	n := &es.loop.nodes[i]
	failure := e.failure(n.name, n.attempt)
	var again bool
	var why string
	if e.Outcome == notYet {
		es.loop.breakers.note(i, e, nil) // the other system answered
	} else {
		es.loop.breakers.note(i, e, failure)
	}
	if e.Outcome == notYet || e.Outcome == succeeded && es.loop.sensors.sensor(i) != nil {
		es.loop.sensors.answered(i, e)
	}
	if failure != nil && e.Outcome != notYet {
		failure = afterEarlier(failure, n.failure)
		if again, why = es.shouldRetry(i, e, failure); again && es.tooLate(ctx, i, e) {
			again, why = false, "The retry policy's time limit has passed."
		}
		again = again && !n.stopSent // it was being stopped
	}
	switch {
	case failure == nil:
		es.succeed(i, e, values)
	case n.endCommand != nil:
		es.loop.commands.done(n.endCommand.Seq)
		es.loop.commands.endByCommand(i, *n.endCommand)
	case n.recalled != nil && n.cancelled == nil:
		es.loop.streams.recalled(i, es.endTime(e), n.recalled)
	case room:
		es.loop.preemption.yield(i, e)
	case es.loop.sensors.late(i, e, again):
		es.loop.sensors.expire(i, es.loop.driver.now())
	case e.Outcome == notYet && !n.stopSent && !es.loop.progress.Halted(i):
		es.loop.sensors.again(i, e)
	case n.stopSent && e.Outcome != timedOut, es.loop.progress.Halted(i) && (e.Outcome.outside() || e.Outcome == notYet): // a timeout that came before the stop is the cause
		es.cancelNode(i, e)
	case e.Outcome == lost && es.countLosses(ctx, i) < maxLosses && !es.loop.progress.Halted(i):
		es.loop.batch.touch(i)
		n.failure = failure
		es.repeat(i, e.FinishedAt, interruptedDelay, &query.Reason{Code: ReasonInterrupted, Message: failure.Message + " It runs again."})
	case (e.Outcome == interrupted || e.Outcome == cancelled) && n.attempt-n.retries-n.polled() <= maxInterruptions:
		es.repeat(i, e.FinishedAt, interruptedDelay, &query.Reason{Code: ReasonInterrupted, Message: interruption(e)})
	case again:
		es.loop.batch.touch(i)
		n.retries++
		n.failure = failure
		es.repeat(i, e.FinishedAt, es.delay(i), &query.Reason{
			Code:    ReasonBackoff,
			Message: retryText(n.attempt, n.retries, es.loop.operator(i).Retry.Limit, growth) + failure.Message,
		})
	default:
		es.fail(i, e, concluded(failure, why))
		es.loop.artifacts.storeFailedOutputs(ctx, i, &e)
	}
	return true
}

// countLosses counts the earlier attempts of node i that were lost. The infrastructure
// caused such a loss; but a task that repeatedly crashes its machine has to stop.
func (es *attemptEnds) countLosses(ctx context.Context, i int) int {
	n, err := es.loop.driver.queries.CountLosses(ctx, es.loop.id, int32(i)) //nolint:gosec // at most workflow.MaxOperators
	if err != nil {
		es.loop.cannotRead(&readError{err})
		return maxLosses
	}
	return int(n)
}

// endAttempt records the end of the attempt of node i and releases its capacity.
func (es *attemptEnds) endAttempt(i int, e ending) {
	n := &es.loop.nodes[i]
	es.loop.batch.touch(i)
	row := endedRow{
		attemptKey: attemptKey{i, n.attempt}, StartedAt: e.StartedAt, FinishedAt: e.FinishedAt, Outcome: e.Outcome, Class: e.Class,
		ExitCode: e.ExitCode, Message: e.Message, CPUSeconds: &e.CPUSeconds, PeakRSSBytes: &e.PeakRSSBytes,
		Traceback: e.Traceback,
	}
	// One statement changes a row once: the end includes the begin of its batch.
	if b, ok := es.loop.batch.started[row.attemptKey]; ok {
		row.Host, row.PID = b.Host, b.PID
		delete(es.loop.batch.started, row.attemptKey)
	}
	es.loop.batch.ended = append(es.loop.batch.ended, row)
	es.loop.admission.release(i, n.reserved)
	n.reserved, n.machine, n.devices, n.address = fair.Amount{}, "", nil, ""
	n.startedAt = e.StartedAt
}

func (es *attemptEnds) succeed(i int, e ending, values map[string]any) {
	n := es.loop.move(i, dag.Succeeded)
	at := es.endTime(e)
	n.finishedAt, n.reason, n.failure = &at, nil, nil
	es.loop.values.outputs[i] = values
	if len(values) > 0 {
		es.loop.batch.touch(i).Outputs = values
	}
	es.loop.batch.nodeEvent(i, at, query.EventNodeSucceeded, "", nil)
}

func (es *attemptEnds) cancelNode(i int, e ending) {
	n := es.loop.move(i, dag.Cancelled)
	at := es.endTime(e)
	n.finishedAt, n.reason = &at, es.loop.conclusion.stopReason(i)
	es.loop.batch.nodeEvent(i, at, query.EventNodeCancelled, n.reason.Message, nil)
}

// fail ends node i as failed after an attempt.
func (es *attemptEnds) fail(i int, e ending, failure *query.Failure) {
	es.failNode(i, es.endTime(e), failure)
	es.loop.deadLetters.add(i, es.endTime(e), failure)
}

// failNode ends node i as failed.
func (es *attemptEnds) failNode(i int, at time.Time, failure *query.Failure) {
	es.loop.batch.touch(i)
	es.loop.progress.Fail(i, failure.IsError())
	es.loop.unseen.add(i)
	n := &es.loop.nodes[i]
	n.finishedAt, n.reason, n.failure, n.retryAt = &at, nil, failure, nil
	es.loop.conclusion.noteFailure(i, failure, at)
	es.loop.batch.nodeEvent(i, at, query.EventNodeFailed, failure.Message, failure)
}

// endTime is the recorded end of the node: never before it began.
func (es *attemptEnds) endTime(e ending) time.Time {
	if e.StartedAt != nil && e.FinishedAt.Before(*e.StartedAt) {
		return *e.StartedAt
	}
	return e.FinishedAt
}

// repeat makes node i wait for its next attempt.
func (es *attemptEnds) repeat(i int, from time.Time, delay time.Duration, reason *query.Reason) {
	n := es.loop.move(i, dag.Retrying)
	at := from.Add(delay).Truncate(time.Microsecond)
	n.retryAt, n.reason, n.stopSent = &at, reason, false
	es.loop.timers.add(i, at)
	es.loop.batch.nodeEvent(i, from, query.EventNodeRetrying, reason.Message, map[string]any{"retry_at": at})
}

// delay is how long node i waits before its current retry.
func (es *attemptEnds) delay(i int) time.Duration {
	return backoff(es.loop.operator(i).Retry, es.loop.nodes[i].retries, rand.Float64()) //nolint:gosec // spreads retries, no secret
}

// backoff is the delay before the n-th retry: InitialDelay × Factor^(n-1), at most MaxDelay,
// spread by ± Jitter. random is from 0 to 1.
func backoff(r workflow.Retry, n int, random float64) time.Duration {
	delay := float64(r.InitialDelay) * math.Pow(max(r.Factor, 1), float64(n-1))
	if r.MaxDelay > 0 {
		delay = min(delay, float64(r.MaxDelay))
	}
	delay *= 1 + r.Jitter*(2*random-1)
	return time.Duration(min(delay, float64(maxBackoff)))
}

// maxBackoff limits the delay of any policy.
const maxBackoff = 24 * time.Hour
