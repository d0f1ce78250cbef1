package execution

import (
	"context"
	"encoding/json"
	"time"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// batch is the transition of a flush: what it writes of nodes and attempts, and their
// events. The JSON names are the columns of the record sets in FlushExecution.
type batch struct {
	feature
	batchPart

	flush *flushTx // the transaction of the flush that is being written
}

type batchPart struct {
	nodes    map[int]*nodeRow
	events   []eventRow
	claims   []claimRow
	added    []int // nodes that the execution did not have before
	started  map[attemptKey]startedRow
	ended    []endedRow
	bytes    int  // of the outputs of the attempts that ended
	finished bool // the execution has ended
}

func (b *batch) pending() bool {
	return len(b.nodes)+len(b.events)+len(b.claims)+len(b.added)+len(b.started)+len(b.ended)+b.bytes > 0 || b.finished
}

func (b *batch) write(ctx context.Context, q *db.Queries) error {
	return b.writeTransition(ctx, q)
}

func (b *batch) reset() {
	b.batchPart = batchPart{nodes: map[int]*nodeRow{}, started: map[attemptKey]startedRow{}}
}

func (b *batch) committed(_ context.Context, nodes map[int]*nodeRow) {
	b.loop.driver.countNodes(nodes)
}

// touch returns the row of node i in the batch, and creates it from the current state when
// the batch has none. Call it before changing the node.
func (b *batch) touch(i int) *nodeRow {
	row, ok := b.nodes[i]
	if !ok {
		row = &nodeRow{Index: i, FromState: b.loop.progress.State(i), FromAttempt: b.loop.nodes[i].attempt}
		b.nodes[i] = row
	}
	return row
}

func (b *batch) event(e eventRow) { b.events = append(b.events, e) }

// nodeEvent records an event of node i.
func (b *batch) nodeEvent(i int, at time.Time, kind query.EventKind, text string, data any) {
	e := eventRow{At: at, Kind: kind, Node: &i, Message: clean(text, maxMessage)}
	if attempt := b.loop.nodes[i].attempt; attempt > 0 {
		e.Attempt = &attempt
	}
	if data != nil {
		e.Data = mustJSON(data)
	}
	b.event(e)
}

type attemptKey struct {
	Node    int `json:"i"`
	Attempt int `json:"attempt"`
}

type nodeRow struct {
	Index       int            `json:"i"`
	FromState   dag.State      `json:"from_state"`
	FromAttempt int            `json:"from_attempt"`
	State       dag.State      `json:"state"`
	Pending     int            `json:"pending"`
	Attempt     int            `json:"attempt"`
	Retries     int            `json:"retries"`
	Reason      *query.Reason  `json:"reason,omitempty"`
	Error       *query.Failure `json:"error,omitempty"`
	Outputs     any            `json:"outputs,omitempty"`
	Inputs      any            `json:"inputs,omitempty"`
	FirstChild  *int           `json:"first_child,omitempty"`
	ChildCount  *int           `json:"child_count,omitempty"`
	ReadyAt     *time.Time     `json:"ready_at,omitempty"`
	StartedAt   *time.Time     `json:"started_at,omitempty"`
	FinishedAt  *time.Time     `json:"finished_at,omitempty"`
	RetryAt     *time.Time     `json:"retry_at,omitempty"`
	Polling     *query.Polling `json:"polling,omitempty"`
}

type eventRow struct {
	At      time.Time       `json:"at"`
	Kind    query.EventKind `json:"kind"`
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

type startedRow struct {
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

	Traceback json.RawMessage `json:"traceback,omitempty"`
}

// onlyBegins reports whether the batch contains only begins of attempts.
func (p *batchPart) onlyBegins() bool {
	return len(p.started) > 0 && len(p.nodes) == len(p.started) && len(p.events) == len(p.started) && len(p.added)+len(p.ended)+len(p.claims) == 0 && !p.finished
}

// full reports whether the batch is to be written before it grows further.
func (p *batchPart) full() bool { return len(p.nodes) >= maxBatch || p.bytes >= maxBatchBytes }

const (
	// maxBatch limits the nodes of one flush, so that readers see progress and a statement stays
	// short.
	maxBatch = 2000
	// maxBatchBytes limits the outputs of one flush. PostgreSQL accepts JSON of up to 256 MiB.
	maxBatchBytes = 32 << 20
)
