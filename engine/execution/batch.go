package execution

import (
	"encoding/json"
	"time"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// batch collects what one flush writes, and what follows once it is committed.
// The JSON names are the columns of the record sets in FlushExecution.
type batch struct {
	nodes  map[int]*nodeRow
	events []eventRow
	claims []claimRow
	added  []int // nodes that the execution did not have before
	begun  map[attemptKey]begunRow
	ended  []endedRow

	want             []fair.Request      // became ready
	release          map[int]fair.Amount // capacity that ended attempts held
	artifacts        []artifact.New
	consumed         []attemptKey    // stored reports that were applied or are stale
	finished         bool            // the execution has ended
	locking          []int           // nodes that want their locks
	appliedCommands  []int64         // commands that were carried out
	deferredCommands []int64         // commands that wait for an attempt to end
	orders           []int64         // orders about nodes that were taken up
	yielding         []attemptKey    // attempts whose wish to make room was taken up
	breakers         []breakerNote   // how attempts of operators with a breaker came out
	deadLetters      []deadLetterRow // nodes that failed for good
	reopened         []int32         // nodes that failed and run again after all
	offers           bool            // capacity may have been set aside for this execution

	refusedSeries int // of metrics, because the project has as many as it may

	starts   []int // attempts to start after the commit
	stops    []int // attempts to stop after the commit
	preempts []int // attempts that are to make room after the commit
	waiters  []waiter
	origins  []originRow // what nodes go on from
}

// waiter is a sender of a report that waits for it to be durable.
type waiter struct {
	done     chan<- verdict
	accepted bool
}

// verdict answers the sender of a report. durable is false when the loop ended
// before it could write; the sender then stores the report itself.
type verdict struct {
	durable  bool
	accepted bool
}

type attemptKey struct {
	Node    int `json:"i"`
	Attempt int `json:"attempt"`
}

type nodeRow struct {
	Index       int        `json:"i"`
	FromState   dag.State  `json:"from_state"`
	FromAttempt int        `json:"from_attempt"`
	State       dag.State  `json:"state"`
	Pending     int        `json:"pending"`
	Attempt     int        `json:"attempt"`
	Retries     int        `json:"retries"`
	Reason      *Reason    `json:"reason,omitempty"`
	Error       *Failure   `json:"error,omitempty"`
	Outputs     any        `json:"outputs,omitempty"`
	Inputs      any        `json:"inputs,omitempty"`
	FirstChild  *int       `json:"first_child,omitempty"`
	ChildCount  *int       `json:"child_count,omitempty"`
	ReadyAt     *time.Time `json:"ready_at,omitempty"`
	StartedAt   *time.Time `json:"started_at,omitempty"`
	FinishedAt  *time.Time `json:"finished_at,omitempty"`
	RetryAt     *time.Time `json:"retry_at,omitempty"`
}

type eventRow struct {
	At      time.Time       `json:"at"`
	Kind    string          `json:"kind"`
	Node    *int            `json:"i,omitempty"`
	Attempt *int            `json:"attempt,omitempty"`
	Message string          `json:"message,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

type claimRow struct {
	attemptKey
	At          time.Time `json:"at"`
	CPU         int       `json:"cpu"`
	Memory      int       `json:"memory"`
	GPUs        int       `json:"gpus"`
	GPUType     string    `json:"gpu_type"`
	Pods        int       `json:"pods"`
	Executions  int       `json:"executions"`
	Machine     string    `json:"machine"`
	Devices     []int     `json:"devices,omitempty"`
	Preemptible bool      `json:"preemptible"`
	Priority    int       `json:"priority"`
	ExpiresAt   time.Time `json:"expires_at"`
}

type begunRow struct {
	attemptKey
	At         time.Time  `json:"at"`
	Host       string     `json:"host"`
	PID        *int       `json:"pid,omitempty"`
	DeadlineAt *time.Time `json:"deadline_at,omitempty"`
}

type endedRow struct {
	attemptKey
	StartedAt    *time.Time `json:"started_at,omitempty"`
	FinishedAt   time.Time  `json:"finished_at"`
	Outcome      outcome    `json:"outcome"`
	Class        string     `json:"class,omitempty"`
	ExitCode     *int       `json:"exit_code,omitempty"`
	Message      string     `json:"message"`
	Host         string     `json:"host,omitempty"`
	PID          *int       `json:"pid,omitempty"`
	CPUSeconds   *float64   `json:"cpu_seconds,omitempty"`
	PeakRSSBytes *int64     `json:"peak_rss_bytes,omitempty"`
}

func newBatch() *batch {
	return &batch{nodes: map[int]*nodeRow{}, begun: map[attemptKey]begunRow{}, release: map[int]fair.Amount{}}
}

// empty reports whether there is nothing to write.
func (b *batch) empty() bool {
	return len(b.nodes) == 0 && len(b.added) == 0 && len(b.events) == 0 && len(b.want) == 0 && len(b.release) == 0 &&
		len(b.begun) == 0 && len(b.ended) == 0 && len(b.consumed) == 0 && len(b.waiters) == 0 && len(b.orders) == 0 && len(b.locking) == 0 && len(b.appliedCommands) == 0 && len(b.deferredCommands) == 0 && len(b.yielding) == 0 && !b.finished && !b.offers
}

// onlyBegun reports whether the batch says no more than that attempts have begun.
func (b *batch) onlyBegun() bool {
	return len(b.begun) > 0 && len(b.added) == 0 && len(b.nodes) == len(b.begun) && len(b.events) == len(b.begun) && len(b.want) == 0 && len(b.release) == 0 &&
		len(b.ended) == 0 && len(b.consumed) == 0 && len(b.waiters) == 0 && len(b.orders) == 0 && len(b.locking) == 0 && len(b.appliedCommands) == 0 && len(b.deferredCommands) == 0 && len(b.yielding) == 0 && !b.finished && !b.offers
}

// full reports whether the batch should be written before it grows further.
func (b *batch) full() bool { return len(b.nodes) >= maxBatch }

// maxBatch bounds the nodes of one flush, so that readers see progress and one
// statement stays short.
const maxBatch = 2000

// answer tells everybody who waited whether the batch is durable.
func (b *batch) answer(durable bool) {
	for _, w := range b.waiters {
		w.done <- verdict{durable: durable, accepted: w.accepted}
	}
	b.waiters = nil
}
