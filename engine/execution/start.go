package execution

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

const (
	startTimeout          = 5 * time.Second
	clusterTimeout        = time.Minute // to create the pods of one chunk, within the cluster's rate limit
	startChunk            = 100         // attempts that a cluster receives at once
	firstUnreachableRetry = time.Second
	lastUnreachableRetry  = 5 * time.Second
	firstStoreRetry       = time.Second
)

// launches submits attempts to the launcher, and stops them.
type launches struct {
	feature
	noPart
	noWrite

	starts []int // attempts to start once the flush is committed
	stops  []int // attempts to stop once the flush is committed

	prepared map[int]launcher.Attempt // of starts, by node

	starter     *starter
	uncertain   []int // queued nodes whose attempt may not have been started
	unready     []int // nodes whose attempt has inputs that temporarily could not be read
	retryAt     time.Time
	retryDelay  time.Duration
	unsure      atomic.Bool // uncertain is not empty, or not known yet
	unreachable bool        // the cluster did not answer the latest submission
	settled     bool        // the loop is idle, and all queued attempts were started
}

// start submits the attempt of node i once the flush is committed.
func (la *launches) start(i int) { la.starts = append(la.starts, i) }

// requestStop ends the attempt of node i once the flush is committed.
func (la *launches) requestStop(i int) { la.stops = append(la.stops, i) }

// markUncertain records that the attempt of node i, which is QUEUED, may not have been started.
func (la *launches) markUncertain(i int) { la.uncertain = append(la.uncertain, i) }

// underWay reports whether attempts are still to be started or stopped.
func (la *launches) underWay() bool { return la.starter.busy() || len(la.uncertain) > 0 }

// retryDue reports whether uncertain starts are due for a retry.
func (la *launches) retryDue() bool {
	return len(la.uncertain) > 0 && !la.loop.driver.now().Before(la.retryAt)
}

// untilRetry is the maximum time to wait for that.
func (la *launches) untilRetry(most time.Duration) time.Duration {
	if len(la.uncertain) == 0 {
		return most
	}
	return max(min(most, la.retryAt.Sub(la.loop.driver.now())), 0)
}

func (la *launches) committed(ctx context.Context, _ map[int]*nodeRow) {
	if len(la.starts) > 0 {
		for _, i := range la.starts {
			if spec, ok := la.spec(ctx, i); ok {
				la.starter.start(i, spec)
			}
		}
		la.starts = nil
		clear(la.prepared)
		la.waitForStore()
		la.starter.wake()
	}
	if len(la.stops) > 0 {
		la.stopAttempts(ctx, la.stops)
		la.stops = nil
	}
}

// submit submits attempts of one execution to the launcher. It ends those that are refused
// permanently, writes why others wait, and returns an error when some may not have been
// started: then all except the refused ones are to be submitted again. unreachable means
// that the cluster does not respond.
func (s *Driver) submit(ctx context.Context, execution uuid.UUID, attempts []launcher.Attempt) (unreachable bool, err error) {
	timeout := startTimeout
	if s.config.Cluster {
		timeout = clusterTimeout
	}
	calling, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// A leader that was frozen between the commit and this point must not start an attempt
	// that its successor has started, ended, and removed in the meantime.
	if s.config.LauncherName != s.config.Instance {
		if err := s.holdsTerm(calling, s.queries); err != nil {
			return false, err
		}
	}
	err = s.config.Launcher.Start(calling, attempts)
	var partial *launcher.StartError
	if !errors.As(err, &partial) {
		partial = &launcher.StartError{Err: err}
	}
	for task, end := range partial.Refused {
		if id, ok := parseTaskID(task); ok {
			seen := s.supervisor.observedEnd(id, end)
			s.reportLost(ctx, id, seen.end)
		}
	}
	if partial.Err == nil {
		return false, nil
	}
	unreachable = errors.Is(partial.Err, launcher.ErrUnreachable) && len(partial.Waiting) == 0
	for _, w := range partial.Waiting {
		unreachable = unreachable || w.Code == launcher.WaitCluster
	}
	if unreachable || len(partial.Waiting) > 0 {
		s.writeWaitReasons(ctx, execution, attempts, partial, unreachable)
	}
	return unreachable, partial.Err
}

// writeWaitReasons writes why attempts are not in the cluster yet: all of them when it does not
// respond, otherwise those that it does not admit.
func (s *Driver) writeWaitReasons(ctx context.Context, execution uuid.UUID, attempts []launcher.Attempt, e *launcher.StartError, unreachable bool) {
	rows := make([]waitRow, 0, len(attempts))
	for _, a := range attempts {
		id, ok := parseTaskID(a.GetTaskId())
		if _, refused := e.Refused[a.GetTaskId()]; !ok || refused || a.GetPool() != "" {
			continue
		}
		reason := &query.Reason{Code: launcher.WaitCluster, Message: "The cluster is not responding; the task starts when it is available again."}
		w, waits := e.Waiting[a.GetTaskId()]
		if !waits && !unreachable {
			continue
		}
		if waits {
			reason = &query.Reason{Code: w.Code, Message: clean(w.Message, maxMessage)}
		}
		rows = append(rows, waitRow{id.attemptKey, reason})
	}
	if err := s.supervisor.setWaiting(ctx, execution, query.WaitCodes(), rows); err != nil && ctx.Err() == nil {
		s.config.Logger.Warn("write why attempts wait for the cluster", "execution", execution, "error", err)
	}
}

// startAgain starts the attempts of queued nodes that may not have been started. A cluster
// receives them in chunks, so that the loop handles other events in between, and one at a
// time while it does not respond. What was decided before is written first: an attempt may read
// files of attempts whose end is not written yet.
func (la *launches) startAgain(ctx context.Context) error {
	if len(la.uncertain) > 0 && la.loop.unwritten() {
		if err := la.loop.flush(ctx); err != nil {
			return err
		}
	}
	specs, rest := la.uncertainSpecs(ctx)
	if len(specs) == 0 {
		la.uncertain = rest
		if len(rest) == 0 {
			la.certain()
			return nil
		}
		la.retryAt = la.loop.driver.now().Add(firstStoreRetry)
		return nil
	}
	la.loop.driver.config.Crash("start.again")
	unreachable, err := la.loop.driver.submit(ctx, la.loop.id, specs)
	if err != nil {
		first, last := firstStartRetry, lastStartRetry
		if la.loop.driver.config.Cluster {
			first, last = firstUnreachableRetry, lastUnreachableRetry
		}
		la.retryDelay, la.unreachable = min(max(2*la.retryDelay, first), last), unreachable
		la.uncertain = slices.Concat(rest, nodesOf(specs)) // the others come first
		la.retryAt = la.loop.driver.now().Add(la.retryDelay)
		la.loop.driver.config.Logger.Warn("start attempts", "execution", la.loop.id, "count", len(specs), "error", err)
		return nil
	}
	if la.unreachable {
		la.clearUnreachable(ctx)
	}
	la.retryDelay, la.unreachable = 0, false
	if la.uncertain = rest; len(rest) == 0 {
		la.certain()
	}
	return nil
}

// uncertainSpecs returns the next attempts to submit of the nodes whose start is uncertain,
// and the nodes that remain for later. Attempts that were asked to stop in the meantime are not
// started in a cluster.
func (la *launches) uncertainSpecs(ctx context.Context) (specs []launcher.Attempt, rest []int) {
	most := len(la.uncertain)
	if la.loop.driver.config.Cluster {
		most = startChunk
		if la.unreachable {
			most = 1
		}
	}
	for _, i := range la.uncertain {
		switch {
		case la.loop.progress.State(i) != dag.Queued:
		case la.loop.driver.config.Cluster && la.loop.nodes[i].stopSent:
			la.loop.driver.neverStarted(attemptID{la.loop.id, attemptKey{i, la.loop.nodes[i].attempt}})
		case len(specs) == most:
			rest = append(rest, i)
		default:
			before := len(la.unready)
			if spec, ok := la.loop.specs.of(ctx, i); ok {
				specs = append(specs, spec)
			} else if len(la.unready) > before {
				la.unready = la.unready[:before]
				rest = append(rest, i)
			}
		}
	}
	return specs, rest
}

// neverStarted ends an attempt that was asked to stop before a launcher received it.
func (s *Driver) neverStarted(id attemptID) {
	s.live.post(id.execution, message{node: id.Node, attempt: id.Attempt, end: &ending{Outcome: cancelled, FinishedAt: s.now()}})
}

// notStarted records that nodes may not have been started.
func (la *launches) notStarted(nodes []int, unreachable bool) {
	la.unsure.Store(true)
	la.uncertain = append(la.uncertain, nodes...)
	delay := firstStartRetry
	if la.loop.driver.config.Cluster {
		la.unreachable, delay = la.unreachable || unreachable, firstUnreachableRetry
	}
	la.retryAt = la.loop.driver.now().Add(delay)
}

// nodesOf returns the nodes of attempts.
func nodesOf(attempts []launcher.Attempt) []int {
	nodes := make([]int, 0, len(attempts))
	for _, a := range attempts {
		if id, ok := parseTaskID(a.GetTaskId()); ok {
			nodes = append(nodes, id.Node)
		}
	}
	return nodes
}

// unreadySpec records that the inputs of node i cannot be read, and reports whether the
// problem is temporary. The end of ctx is: the next loop starts the attempt.
func (la *launches) unreadySpec(ctx context.Context, i int, err error) bool {
	if !isUnreadable(err) && !apperr.Is(err, apperr.Unavailable) && ctx.Err() == nil {
		return false
	}
	la.loop.driver.config.Logger.Warn("gather what an attempt needs", "execution", la.loop.id, "node", i, "error", err)
	la.unready = append(la.unready, i)
	return true
}

// waitForStore retries the start of the unready nodes after a moment.
func (la *launches) waitForStore() {
	if len(la.unready) == 0 {
		return
	}
	la.unsure.Store(true)
	la.uncertain, la.unready = append(la.uncertain, la.unready...), nil
	la.retryAt = la.loop.driver.now().Add(firstStoreRetry)
}

// clearUnreachable removes the reason that the cluster does not respond.
func (la *launches) clearUnreachable(ctx context.Context) {
	rows := make([]waitRow, 0, len(la.uncertain))
	for _, i := range la.uncertain {
		rows = append(rows, waitRow{attemptKey: attemptKey{i, la.loop.nodes[i].attempt}})
	}
	if err := la.loop.driver.supervisor.setWaiting(ctx, la.loop.id, []string{launcher.WaitCluster}, rows); err != nil {
		la.loop.driver.config.Logger.Warn("write that the cluster answers", "execution", la.loop.id, "error", err)
	}
}

func (la *launches) certain() {
	la.uncertain, la.retryDelay, la.unreachable = nil, 0, false
	la.unsure.Store(false)
}

// loadUpdates loads the begins of attempts that other processes received.
func (la *launches) loadUpdates(ctx context.Context) error {
	if la.loop.progress.Count(dag.Queued) == 0 {
		return nil
	}
	rows, err := la.loop.driver.queries.StartedWhileQueued(ctx, la.loop.id)
	if err != nil {
		return fmt.Errorf("load begins: %w", err)
	}
	for _, r := range rows {
		la.loop.ends.applyStarted(startedOf(r))
	}
	return nil
}

func startedOf(r db.StartedWhileQueuedRow) message {
	row := &startedRow{At: r.StartedAt.UTC(), Host: r.Host}
	if r.Pid != nil {
		row.PID = new(int(*r.Pid))
	}
	return message{node: int(r.NodeIndex), attempt: int(r.Attempt), begun: row}
}
