package execution

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/workflow"
)

// loop drives one execution. One goroutine uses it; others reach it only through the
// registry, which guards inbox.
type loop struct {
	driver  *Driver
	id      uuid.UUID
	epoch   int64
	row     db.Execution // as acquired; states live in progress
	version workflow.Version
	inputs  map[string]any

	nodes    []nodeState
	progress *dag.Run
	status   query.State
	failure  *query.Failure // the first node's that failed
	failedAt time.Time
	timers   timers

	changed        []int             // nodes that dag.Next has not seen
	withoutAttempt []int             // ready nodes without an attempt that are to begin
	all            bool              // dag.Next has to check every node
	readFailure    error             // a required read that failed
	constants      map[string]string // tags of the execution; see tagScope.constants
	cancelled      bool              // a user requested the end
	cancelReason   string
	timedOut       bool                      // it exceeded the timeout of its definition
	refused        *query.Failure            // why the execution cannot begin
	configMaps     map[configMapRead]string  // values for inputs of attempts
	expected       map[string]query.Estimate // earlier durations of operators

	components
	values  *nodeValues
	groups  *nodeGroups
	ends    *attemptEnds
	sensors *sensors
	specs   *attemptSpecs

	flushBy time.Time // when a deferred batch must be written
	signal  chan struct{}
	drained <-chan struct{} // closed when every loop of this process has to end
	fenced  chan struct{}   // receives a value when the lease was lost
	inbox   []message
}

func newLoop(s *Driver, row db.Execution, version workflow.Version) *loop {
	l := &loop{
		driver: s, id: row.ID, epoch: row.OwnerEpoch, row: row, version: version,
		inputs: stored.Object(row.Inputs), progress: dag.NewRun(version.Plan, version.Definition.Parallelism),
		status: query.State(row.Status), all: true,
		cancelled: row.CancelRequestedAt != nil, cancelReason: row.CancelReason,
		signal: make(chan struct{}, 1), drained: s.live.drainedSignal(), fenced: make(chan struct{}, 1),
	}
	l.components = newComponents(l)
	l.values = &nodeValues{loop: l, outputs: map[int]map[string]any{}}
	l.groups, l.ends, l.specs = &nodeGroups{l}, &attemptEnds{l}, &attemptSpecs{l}
	l.sensors = &sensors{l}
	if l.status == query.Paused {
		l.commands.paused, l.status = true, query.Running
		if row.StartedAt == nil {
			l.status = query.Pending
		}
	}
	l.nodes = l.groups.members("", version.Plan, "")
	l.progress.Pause(l.commands.paused || l.status == query.Pending)
	return l
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
		if released, err := l.idle(ctx); released || err != nil {
			return err
		}
	}
}

// step reads events, decides, and writes.
func (l *loop) step(ctx context.Context) error {
	if l.launches.retryDue() {
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
	return l.all || len(l.changed) > 0 || len(l.withoutAttempt) > 0 || len(l.cache.lookups) > 0 || l.unwritten() && !l.deferred()
}
