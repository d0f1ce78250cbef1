package execution

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// loop drives one execution. One goroutine uses it; others reach it through the
// registry alone, which guards inbox.
type loop struct {
	service *Service
	id      uuid.UUID
	epoch   int64
	row     db.Execution // as acquired; states live in progress
	version workflow.Version
	inputs  map[string]any

	nodes    []nodeState
	progress *dag.Run
	status   State
	failure  *Failure // the first node's that failed
	failedAt time.Time
	outputs  map[int]map[string]any // of nodes, as far as they are known here
	timers   timers

	changed      []int // nodes that dag.Next has not seen
	unattended   []int // ready nodes of which no attempt runs, which are to begin
	all          bool  // dag.Next is to look at every node
	readFailure  error // what could not be read and has to be
	cancelled    bool  // somebody asked for the end
	cancelReason string
	timedOut     bool                     // it ran longer than its definition allows
	refused      *Failure                 // why nothing of it can begin
	configMaps   map[configMapRead]string // what they had for inputs of attempts
	expected     map[string]Estimate      // how long operators took before

	components

	flushBy time.Time // when a deferred batch has to be written
	signal  chan struct{}
	drained <-chan struct{} // closes when every loop of this process has to end
	fenced  chan struct{}   // gets a value when the lease was found lost
	inbox   []message
}

// nodeState is what the loop knows of a node beside its state.
type nodeState struct {
	op         *workflow.Operator
	graph      string // in which op stands
	name       string
	level      int
	index      int            // of the item that it is, or -1
	item       any            // of a fan-out
	inputs     map[string]any // of the graph that it became
	children   children
	attempt    int
	retries    int
	stopSent   bool
	cancelled  *Reason         // it was cancelled alone
	memory     int             // MiB of each pod that its next attempt asks for at least, after one that ran out of it
	locked     bool            // it holds its locks
	kept       bool            // somebody keeps it from beginning
	endCommand *db.NodeCommand // says how it ends once its attempt has
	held       fair.Amount
	machine    string // with the GPUs devices, when it has any
	devices    []int
	preempted  *Reason // who needed the room, once its attempt was asked to make it
	address    string  // where its attempt serves others, once that is known
	recalled   *Reason // what became of what it reads, once its attempt was stopped because of that
	reason     *Reason
	failure    *Failure
	readyAt    *time.Time
	startedAt  *time.Time
	finishedAt *time.Time
	retryAt    *time.Time

	cacheState cacheState
	origin     *origin             // nil: it goes on from nothing
	changed    map[string]struct{} // in a resumed execution, inputs of the graph that it became that have another value
}

// message is something that happened outside: the begin or the end of an
// attempt, a cancellation, or, empty, a reason to look around.
type message struct {
	node    int
	attempt int
	begun   *begunRow
	address string // where it serves
	end     *ending
	cancel  *string
	reports bool  // stored reports wait
	retry   []int // nodes whose start failed, perhaps
	away    bool  // because the cluster does not answer
	done    chan<- receipt
}

func newLoop(s *Service, row db.Execution, version workflow.Version) *loop {
	l := &loop{
		service: s, id: row.ID, epoch: row.OwnerEpoch, row: row, version: version,
		inputs: stored.Object(row.Inputs), progress: dag.NewRun(version.Plan, version.Definition.Parallelism),
		status: State(row.Status), outputs: map[int]map[string]any{}, all: true,
		cancelled: row.CancelRequestedAt != nil, cancelReason: row.CancelReason,
		signal: make(chan struct{}, 1), drained: s.live.drainedSignal(), fenced: make(chan struct{}, 1),
	}
	l.components = newComponents(l)
	if l.status == Paused {
		l.commands.paused, l.status = true, Running
		if row.StartedAt == nil {
			l.status = Pending
		}
	}
	l.nodes = l.members("", version.Plan, "")
	l.progress.Pause(l.commands.paused || l.status == Pending)
	return l
}

func (l *loop) ring() {
	select {
	case l.signal <- struct{}{}:
	default:
	}
}

// fence tells the loop that its lease is lost; its writes fail anyway.
func (l *loop) fence() {
	select {
	case l.fenced <- struct{}{}:
	default:
	}
}

func (l *loop) operator(i int) *workflow.Operator { return l.nodes[i].op }

// run works until nothing can move, the execution has ended, or ctx ends.
func (l *loop) run(ctx context.Context) error {
	for {
		if err := l.step(ctx); err != nil || l.status.Ended() {
			return err
		}
		if l.busy() {
			continue
		}
		if rested, err := l.idle(ctx); rested || err != nil {
			return err
		}
	}
}

// step takes in what happened, decides, and writes.
func (l *loop) step(ctx context.Context) error {
	if len(l.launches.uncertain) > 0 && !l.service.now().Before(l.launches.retryAt) {
		if err := l.launches.startAgain(ctx); err != nil {
			return err
		}
	}
	if err := l.takeMessages(ctx); err != nil {
		return err
	}
	l.fireTimers(ctx)
	if l.cancelled && !l.progress.RootHalted() {
		l.changed = append(l.changed, l.progress.Halt(dag.Root, true)...)
	}
	if err := errors.Join(l.settle(ctx), l.readFailure); err != nil {
		return err
	}
	if !l.unwritten() {
		l.allCommitted(ctx, nil)
		return nil
	}
	if l.deferred() {
		return nil
	}
	return l.flush(ctx)
}

func (l *loop) busy() bool {
	return l.all || len(l.changed) > 0 || len(l.unattended) > 0 || len(l.cache.wanted) > 0 || l.unwritten() && !l.deferred()
}

// deferred reports whether the batch may wait a moment for more: news that
// attempts have begun moves nothing, and the end of a quick one is near.
func (l *loop) deferred() bool {
	if !l.onlyBegun() {
		l.flushBy = time.Time{}
		return false
	}
	if l.flushBy.IsZero() {
		l.flushBy = time.Now().Add(begunDelay)
	}
	return time.Now().Before(l.flushBy)
}

// begunDelay is how long the begin of an attempt may stay unwritten.
const begunDelay = 5 * time.Millisecond

// idle waits for something to happen. It reports true when the loop has given
// its lease up.
func (l *loop) idle(ctx context.Context) (bool, error) {
	linger := time.NewTimer(l.patience())
	defer linger.Stop()
	select {
	case <-l.signal:
		return false, nil
	case <-l.fenced:
		return false, errFenced
	case <-ctx.Done():
		return l.forceRelease(ctx)
	case <-l.drained:
		return l.forceRelease(ctx)
	case <-linger.C:
	}
	if l.unwritten() {
		return false, nil
	}
	if due, ok := l.timers.next(); ok && due.Before(l.service.now().Add(l.service.config.Timing.Linger)) {
		return false, nil
	}
	if l.launches.starter.busy() || len(l.launches.uncertain) > 0 {
		l.admission.askOnce(readyRecheck)
		return false, nil
	}
	l.launches.settled = true
	rested, err := l.releaseLease(ctx)
	l.launches.settled = l.launches.settled && rested
	return rested, err
}

// forceRelease rests although things might still move; whoever drives next goes on.
func (l *loop) forceRelease(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	for {
		if l.unwritten() {
			if err := l.flush(ctx); err != nil || l.status.Ended() {
				return true, err
			}
		}
		rested, err := l.releaseLease(ctx)
		if rested || err != nil {
			return rested, err
		}
		if err := l.step(ctx); err != nil || l.status.Ended() {
			return true, err
		}
	}
}

// patience is how long to wait for an event: until the next timer, at most the
// linger time.
func (l *loop) patience() time.Duration {
	if l.unwritten() {
		return max(time.Until(l.flushBy), 0)
	}
	linger := l.service.config.Timing.Linger
	if len(l.launches.uncertain) > 0 {
		linger = max(min(linger, l.launches.retryAt.Sub(l.service.now())), 0)
	}
	if due, ok := l.timers.next(); ok {
		return max(min(linger, due.Sub(l.service.now())), 0)
	}
	return linger
}

// takeMessages applies everything in the inbox.
func (l *loop) takeMessages(ctx context.Context) error {
	for _, m := range l.service.live.take(l) {
		switch {
		case m.end != nil:
			accepted := l.applyEnding(ctx, m)
			if m.done != nil {
				l.reports.part.waiters = append(l.reports.part.waiters, waiter{m.done, accepted})
			}
		case m.begun != nil:
			l.applyBegun(m)
		case m.address != "":
			l.serving.apply(m)
		case len(m.retry) > 0:
			l.launches.notStarted(m.retry, m.away)
		case m.cancel != nil:
			l.cancelled, l.cancelReason = true, *m.cancel
		case m.reports:
			if err := l.loadNews(ctx); err != nil {
				return err
			}
		default:
			l.askAgain()
		}
	}
	return nil
}

// askAgain lets admission look for offers to this execution.
func (l *loop) askAgain() {
	if l.commands.paused {
		return
	}
	l.locks.askAgain()
	l.breakers.askWithheld()
	l.cache.lookUpAwaited()
	l.budgets.askAgain()
	if l.progress.Count(dag.Ready) > 0 || l.status == Pending {
		l.admission.part.offers = true
	}
	for _, i := range l.admission.unqueued {
		if l.progress.State(i) == dag.Ready {
			l.ask(i)
		}
	}
	l.admission.unqueued = nil
}

// askOnce asks again for all that is ready when the last time is so long ago: a loop
// that cannot rest may have missed an offer, and who misses one is forgotten.
func (ad *admission) askOnce(every time.Duration) {
	now := ad.service.now()
	if now.Sub(ad.askedAt) < every || ad.progress.Count(dag.Ready) == 0 {
		return
	}
	ad.askedAt = now
	for i := range ad.nodes {
		if ad.progress.State(i) == dag.Ready {
			ad.ask(i)
		}
	}
}

// close ends the loop: whoever still waits for it learns that nothing was written.
func (l *loop) close() {
	l.launches.starter.close()
	l.reports.close()
	for _, m := range l.service.live.remove(l) {
		if m.done != nil {
			m.done <- receipt{}
		}
	}
	if l.status.Ended() {
		l.service.quota.Withdraw(l.id, nil)
	}
}
