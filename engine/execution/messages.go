package execution

import (
	"context"
	"slices"
)

// message is an event from outside the loop: the begin or the end of an attempt, a
// cancellation, or, when empty, a request to check again.
type message struct {
	node        int
	attempt     int
	begun       *startedRow
	address     string // at which it serves
	end         *ending
	cancel      *string
	reports     bool  // reports are stored
	retry       []int // nodes whose start may have failed
	unreachable bool  // because the cluster does not respond
	done        chan<- receipt
}

// messageQueue contains the messages to a loop. The registry guards the messages.
type messageQueue struct {
	messages []message
	signal   chan struct{} // has a value when messages arrived since the loop last waited
}

func newMessageQueue() *messageQueue { return &messageQueue{signal: make(chan struct{}, 1)} }

// add adds a message, and wakes the loop.
func (mq *messageQueue) add(m message) {
	mq.messages = append(mq.messages, m)
	mq.wake()
}

// requeue returns messages to the queue, before those that arrived since, and wakes the loop.
func (mq *messageQueue) requeue(rest []message) {
	mq.messages = slices.Concat(rest, mq.messages)
	mq.wake()
}

func (mq *messageQueue) wake() {
	select {
	case mq.signal <- struct{}{}:
	default:
	}
}

// take empties the queue and returns its messages.
func (mq *messageQueue) take() []message {
	messages := mq.messages
	mq.messages = nil
	return messages
}

// takeMessages applies the messages in the inbox until the batch is full.
func (l *loop) takeMessages(ctx context.Context) error {
	messages := l.driver.live.take(l)
	for k, m := range messages {
		if l.batch.full() {
			l.driver.live.requeue(l, messages[k:])
			return nil
		}
		switch {
		case m.end != nil:
			accepted := l.ends.applyEnding(ctx, m)
			if m.done != nil {
				l.reports.await(m.done, accepted)
			}
		case m.begun != nil:
			l.ends.applyStarted(m)
		case m.address != "":
			l.serving.apply(m)
		case len(m.retry) > 0:
			l.launches.notStarted(m.retry, m.unreachable)
		case m.cancel != nil:
			l.conclusion.cancelled, l.conclusion.cancelReason = true, *m.cancel
		case m.reports:
			if err := l.loadUpdates(ctx); err != nil {
				return err
			}
		default:
			l.recheckAll()
		}
	}
	return nil
}

// recheckAll makes the components check again for locks, results, budgets and capacity.
func (l *loop) recheckAll() {
	if l.commands.paused {
		return
	}
	l.locks.recheck()
	l.breakers.requestWithheld()
	l.cache.lookUpAwaited()
	l.budgets.recheck()
	l.admission.recheck()
}
