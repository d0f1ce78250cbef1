package execution

import (
	"context"
	"errors"

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
	row     db.Execution // as acquired; states live in progress
	version workflow.Version
	inputs  map[string]any

	nodes       []nodeState
	progress    *dag.Run
	status      query.State
	timers      timers
	unseen      unseenNodes
	readFailure error // a required read that failed

	components
	conclusion *conclusion
	ends       *attemptEnds
	groups     *nodeGroups
	inbox      *messageQueue
	lease      *lease
	ready      *readyNodes
	sensors    *sensors
	specs      *attemptSpecs
	values     *nodeValues
}

func newLoop(s *Driver, row db.Execution, version workflow.Version) *loop {
	l := &loop{
		driver: s, id: row.ID, row: row, version: version,
		inputs: stored.Object(row.Inputs), progress: dag.NewRun(version.Plan, version.Definition.Parallelism),
		status: query.State(row.Status), unseen: unseenNodes{all: true},
	}
	l.components = newComponents(l)
	l.conclusion, l.ends, l.groups, l.inbox = newConclusion(l), &attemptEnds{l}, &nodeGroups{l}, newMessageQueue()
	l.lease, l.ready, l.sensors, l.specs = newLease(l), &readyNodes{loop: l}, &sensors{l}, &attemptSpecs{l}
	l.values = &nodeValues{loop: l, outputs: map[int]map[string]any{}}
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
	l.conclusion.haltIfCancelled()
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

// undecided reports whether settle has work.
func (l *loop) undecided() bool {
	return l.unseen.any() || l.ready.any() || len(l.cache.lookups) > 0
}

func (l *loop) busy() bool { return l.undecided() || l.unwritten() && !l.deferred() }
