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

// applyBegun moves a queued node to RUNNING. Late and repeated reports change nothing.
func (l *loop) applyBegun(m message) {
	if !l.current(m) || l.progress.State(m.node) != dag.Queued {
		return
	}
	n := l.move(m.node, dag.Running)
	n.startedAt = &m.begun.At
	if n.reason != nil && slices.Contains(query.WaitCodes(), n.reason.Code) {
		n.reason = nil
	}
	row := *m.begun
	row.attemptKey = attemptKey{m.node, m.attempt}
	if timeout := l.operator(m.node).Timeout; timeout > 0 {
		deadline := m.begun.At.Add(timeout + l.driver.config.Timing.StopGrace + l.driver.config.Timing.DeadlineGrace)
		row.DeadlineAt = &deadline
	}
	l.batch.begun[row.attemptKey] = row
	l.nodeEvent(m.node, m.begun.At, query.EventNodeStarted, "", nil)
	l.serving.serve(m.node, m.begun.At)
}

// current reports whether m is about the current attempt of its node.
func (l *loop) current(m message) bool {
	return m.node >= 0 && m.node < len(l.nodes) && l.nodes[m.node].attempt == m.attempt
}

// applyEnding applies the end of an attempt. It reports false, and changes nothing, when it
// is not the node's current attempt or that attempt is not alive.
func (l *loop) applyEnding(ctx context.Context, m message) bool {
	if !l.current(m) || !l.progress.State(m.node).Active() {
		return false
	}
	i, e := m.node, *m.end
	if e.StartedAt == nil {
		e.StartedAt = l.nodes[i].startedAt
	}
	if e.Outcome == lost && l.progress.State(i) == dag.Queued && e.StartedAt == nil {
		e.Outcome = interrupted // it never began, so no retry is spent
	}
	l.streams.ends(i, &e)
	var values map[string]any
	switch {
	case l.serving.ends(i, &e):
		values = l.served(ctx, i, &e)
	case e.Outcome == succeeded:
		values = l.takeOutputs(ctx, i, &e)
	}
	room := l.preemption.wasPreempted(i, e)
	if room {
		e.Outcome = preempted
	}
	growth := l.growMemory(i, e)
	l.endAttempt(i, e)
	n := &l.nodes[i]
	failure := e.failure(n.name, n.attempt)
	l.breakers.note(i, e, failure)
	var again bool
	var why string
	if failure != nil {
		failure = afterEarlier(failure, n.failure)
		if again, why = l.shouldRetry(i, e, failure); again && l.tooLate(ctx, i, e) {
			again, why = false, "The retry policy's time limit has passed."
		}
		again = again && !n.stopSent // it was being stopped
	}
	switch {
	case failure == nil:
		l.succeed(i, e, values)
	case n.endCommand != nil:
		l.commands.done(n.endCommand.Seq)
		l.commands.endByCommand(i, *n.endCommand)
	case n.recalled != nil && n.cancelled == nil:
		l.streams.recalled(i, l.endTime(e), n.recalled)
	case room:
		l.preemption.yield(i, e)
	case n.stopSent && e.Outcome != timedOut, l.progress.Halted(i) && e.Outcome.outside(): // a timeout that came before the stop is the cause
		l.cancelNode(i, e)
	case e.Outcome == lost && l.countLosses(ctx, i) < maxLosses && !l.progress.Halted(i):
		l.touch(i)
		n.failure = failure
		l.repeat(i, e.FinishedAt, interruptedDelay, &query.Reason{Code: ReasonInterrupted, Message: failure.Message + " It runs again."})
	case (e.Outcome == interrupted || e.Outcome == cancelled) && n.attempt-n.retries <= maxInterruptions:
		l.repeat(i, e.FinishedAt, interruptedDelay, &query.Reason{Code: ReasonInterrupted, Message: interruption(e)})
	case again:
		l.touch(i)
		n.retries++
		n.failure = failure
		l.repeat(i, e.FinishedAt, l.delay(i), &query.Reason{
			Code:    ReasonBackoff,
			Message: retryText(n.attempt, n.retries, l.operator(i).Retry.Limit, growth) + failure.Message,
		})
	default:
		l.fail(i, e, concluded(failure, why))
		l.salvage(ctx, i, &e)
	}
	return true
}

// countLosses counts the earlier attempts of node i that were lost. The infrastructure
// caused such a loss; but a task that repeatedly crashes its machine has to stop.
func (l *loop) countLosses(ctx context.Context, i int) int {
	n, err := l.driver.queries.CountLosses(ctx, l.id, int32(i)) //nolint:gosec // at most workflow.MaxOperators
	if err != nil {
		l.driver.config.Logger.Warn("count lost attempts", "execution", l.id, "node", i, "error", err)
		return maxLosses
	}
	return int(n)
}

// endAttempt records the end of the attempt of node i and releases its capacity.
func (l *loop) endAttempt(i int, e ending) {
	n := &l.nodes[i]
	l.touch(i)
	row := endedRow{
		attemptKey: attemptKey{i, n.attempt}, StartedAt: e.StartedAt, FinishedAt: e.FinishedAt, Outcome: e.Outcome, Class: e.Class,
		ExitCode: e.ExitCode, Message: e.Message, CPUSeconds: &e.CPUSeconds, PeakRSSBytes: &e.PeakRSSBytes,
		Traceback: e.Traceback,
	}
	// One statement changes a row once: the end includes the begin of its batch.
	if b, ok := l.batch.begun[row.attemptKey]; ok {
		row.Host, row.PID = b.Host, b.PID
		delete(l.batch.begun, row.attemptKey)
	}
	l.batch.ended = append(l.batch.ended, row)
	l.admission.release(i, n.reserved)
	n.reserved, n.machine, n.devices, n.address = fair.Amount{}, "", nil, ""
	n.startedAt = e.StartedAt
}

func (l *loop) succeed(i int, e ending, values map[string]any) {
	n := l.move(i, dag.Succeeded)
	at := l.endTime(e)
	n.finishedAt, n.reason, n.failure = &at, nil, nil
	l.outputs[i] = values
	if len(values) > 0 {
		l.touch(i).Outputs = values
	}
	l.nodeEvent(i, at, query.EventNodeSucceeded, "", nil)
}

func (l *loop) cancelNode(i int, e ending) {
	n := l.move(i, dag.Cancelled)
	at := l.endTime(e)
	n.finishedAt, n.reason = &at, l.stopReason(i)
	l.nodeEvent(i, at, query.EventNodeCancelled, n.reason.Message, nil)
}

// fail ends node i as failed after an attempt.
func (l *loop) fail(i int, e ending, failure *query.Failure) {
	l.failNode(i, l.endTime(e), failure)
	l.deadLetters.add(i, l.endTime(e), failure)
}

// failNode ends node i as failed.
func (l *loop) failNode(i int, at time.Time, failure *query.Failure) {
	l.touch(i)
	l.progress.Fail(i, failure.IsError())
	l.changed = append(l.changed, i)
	n := &l.nodes[i]
	n.finishedAt, n.reason, n.failure, n.retryAt = &at, nil, failure, nil
	if l.failure == nil && l.counts(i) {
		l.failure, l.failedAt = failure, at
	}
	l.nodeEvent(i, at, query.EventNodeFailed, failure.Message, failure)
}

// endTime is the recorded end of the node: never before it began.
func (l *loop) endTime(e ending) time.Time {
	if e.StartedAt != nil && e.FinishedAt.Before(*e.StartedAt) {
		return *e.StartedAt
	}
	return e.FinishedAt
}

// repeat makes node i wait for its next attempt.
func (l *loop) repeat(i int, from time.Time, delay time.Duration, reason *query.Reason) {
	n := l.move(i, dag.Retrying)
	at := from.Add(delay).Truncate(time.Microsecond)
	n.retryAt, n.reason, n.stopSent = &at, reason, false
	l.timers.add(i, at)
	l.nodeEvent(i, from, query.EventNodeRetrying, reason.Message, map[string]any{"retry_at": at})
}

// delay is how long node i waits before its current retry.
func (l *loop) delay(i int) time.Duration {
	return backoff(l.operator(i).Retry, l.nodes[i].retries, rand.Float64()) //nolint:gosec // spreads retries, no secret
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
