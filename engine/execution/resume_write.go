package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// EveryOperator is the key of resources for all operators that run tasks. Resources of a
// single operator take precedence.
const EveryOperator = "*"

// overrideOf returns the override of an operator.
func overrideOf(overrides map[string]ResourceOverride, operator string) (ResourceOverride, bool) {
	all, some := overrides[EveryOperator]
	own, ok := overrides[operator]
	return ResourceOverride{
		CPUMillis: cmp.Or(own.CPUMillis, all.CPUMillis), MemoryMiB: cmp.Or(own.MemoryMiB, all.MemoryMiB), GPUs: cmp.Or(own.GPUs, all.GPUs),
	}, some || ok
}

// apply replaces the amount of a definition by the amounts of r, which are per pod.
func (r ResourceOverride) apply(a fair.Amount) fair.Amount {
	pods := max(a.Pods, 1)
	set := func(to *int, by *int) {
		if by != nil {
			*to = pods * *by
		}
	}
	set(&a.CPUMillis, r.CPUMillis)
	set(&a.MemoryMiB, r.MemoryMiB)
	if set(&a.GPUs, r.GPUs); a.GPUs == 0 {
		a.GPUType = ""
	}
	return a
}

// resumeOf is the execution that r resumes; nil for none.
func (r LaunchRequest) resumeOf() *uuid.UUID {
	if r.resume == nil {
		return nil
	}
	return &r.resume.row.ID
}

// extras distinguishes requests besides their workflow, priority and inputs.
func (r LaunchRequest) extras() string {
	text := ""
	if !r.Cache.isZero() {
		text += "\n" + string(mustJSON(r.Cache))
	}
	if !r.TTL.IsZero() {
		text += "\nttl " + string(mustJSON(r.TTL))
	}
	if r.resume != nil {
		text += fmt.Sprintf("\n%s\n%s", r.resume.row.ID, mustJSON(r.resume.stored()))
	}
	return text
}

func (x *resumption) stored() resumed {
	return resumed{From: x.request.From, Resources: x.request.Resources}
}

// launchMessage is the message of an execution's first event.
func (l *launch) launchMessage() string {
	x := l.request.resume
	if x == nil {
		return fmt.Sprintf("Launched by %s.", cmp.Or(l.request.By, l.subject.Name))
	}
	runs := 0
	for _, d := range x.nodes {
		if d.RunReason != dag.Reused {
			runs++
		}
	}
	where := "its first failures"
	if x.request.From != "" {
		where = x.request.From
	}
	return fmt.Sprintf("Resumed by %s from %s of execution %s: %d of %d nodes run.", l.subject.Name, where, x.row.ID, runs, len(x.nodes))
}

// insertExtras writes what only some launches have: reused results, the cache options, and
// labels.
func (s *LaunchService) insertExtras(ctx context.Context, q *db.Queries, l *launch) error {
	if labels := s.labels(ctx, l); labels != nil {
		if err := q.MarkLabels(ctx, mustJSON(labels), l.id); err != nil {
			return fmt.Errorf("record the labels: %w", err)
		}
	}
	if !l.request.Cache.isZero() {
		if err := q.MarkCache(ctx, mustJSON(l.request.Cache), l.id); err != nil {
			return fmt.Errorf("record the use of the cache: %w", err)
		}
	}
	if !l.request.TTL.IsZero() {
		if err := q.MarkTTL(ctx, mustJSON(l.request.TTL), l.id); err != nil {
			return fmt.Errorf("record how long it is kept: %w", err)
		}
	}
	if l.request.resume == nil {
		return nil
	}
	if err := s.insertReused(ctx, q, l); err != nil {
		return err
	}
	return settleResumed(ctx, q, l)
}

// settleResumed settles the dead letters of nodes that run again.
func settleResumed(ctx context.Context, q *db.Queries, l *launch) error {
	x := l.request.resume
	var roots []string
	for k, d := range x.nodes {
		if d.RunReason != dag.Reused {
			roots = append(roots, x.reusePlan.new.Definition.Operators[k].Name)
		}
	}
	n, err := q.SettleResumedLetters(ctx, db.SettleResumedLettersParams{
		SettledAt: l.now, SettledBy: l.subject.Name, RequeuedAs: l.id, ExecutionID: x.row.ID, But: x.request.deadLetter, Roots: roots,
	})
	if err != nil {
		return fmt.Errorf("settle dead letters: %w", err)
	}
	if n == 0 {
		return nil
	}
	return audit.Record(ctx, q, audit.Entry{
		Action: "dead_letter.requeued", Kind: "execution", ID: x.row.ID.String(), Name: x.row.WorkflowName + " " + x.row.Version,
		TenantID: x.row.TenantID, ProjectID: x.row.ProjectID,
		Old: map[string]any{"open": n}, New: map[string]any{"outcome": "requeued", "execution": l.id},
	})
}

// insertReused sets the new nodes as the resume decided.
func (s *LaunchService) insertReused(ctx context.Context, q *db.Queries, l *launch) error {
	x := l.request.resume
	run := dag.NewRun(x.reusePlan.new.Plan, 0)
	taken := db.TakeNodesParams{At: l.now, FromExecution: x.row.ID, ExecutionID: l.id}
	for k, d := range x.nodes {
		if d.RunReason != dag.Reused {
			continue
		}
		past := x.past[x.reusePlan.new.Definition.Operators[k].Name]
		preset(run, k, past)
		taken.Indexes = append(taken.Indexes, int32(k))
		taken.Origins = append(taken.Origins, past.row.NodeIndex)
	}
	moved, err := q.TakeNodes(ctx, taken)
	if err != nil {
		return fmt.Errorf("reuse nodes: %w", err)
	}
	if int(moved) != len(taken.Indexes) {
		return fmt.Errorf("reuse nodes: %d of %d were found", moved, len(taken.Indexes))
	}
	if err := insertOpen(ctx, q, l, run); err != nil {
		return err
	}
	count := func(state dag.State) int32 { return int32(run.Count(state)) } //nolint:gosec // at most workflow.MaxOperators
	err = q.MarkResumed(ctx, db.MarkResumedParams{
		Origin: x.row.ID, Request: mustJSON(x.stored()), ID: l.id, Pending: count(dag.Pending), Succeeded: count(dag.Succeeded),
		Failed: count(dag.Failed), Skipped: count(dag.Skipped), LevelsDone: int32(run.LevelsDone()), //nolint:gosec // at most workflow.MaxOperators
	})
	if err != nil {
		return fmt.Errorf("record the resume: %w", err)
	}
	return nil
}

// preset gives node k of a run its earlier end.
func preset(run *dag.Run, k int, past *pastNode) {
	switch {
	case past.omitted():
		run.Omit(k)
	case past.state() == dag.Failed:
		run.Fail(k, past.failure.IsError())
	default:
		run.Set(k, past.state())
	}
}

// insertOpen writes the dependencies and the origins of the nodes that run.
func insertOpen(ctx context.Context, q *db.Queries, l *launch, run *dag.Run) error {
	x := l.request.resume
	open := db.OpenDependenciesParams{FromExecution: x.row.ID, ExecutionID: l.id}
	var saved checkpointRows
	for k, d := range x.nodes {
		if d.RunReason == dag.Reused {
			continue
		}
		from := int32(-1)
		if past := x.past[x.reusePlan.new.Definition.Operators[k].Name]; past != nil && continuesFrom(past) {
			from = past.row.NodeIndex
			saved.add(k, x.row.ID, int(from))
		}
		open.Indexes = append(open.Indexes, int32(k))
		open.Open = append(open.Open, int32(run.Pending(k))) //nolint:gosec // at most workflow.MaxOperators
		open.Origins = append(open.Origins, from)
	}
	if err := q.OpenDependencies(ctx, open); err != nil {
		return fmt.Errorf("write nodes that run: %w", err)
	}
	return saved.write(ctx, q, l.id)
}

// continuesFrom reports whether a node that runs again uses what its origin left: of a group
// the results of its children, of an unfinished task its checkpoints.
func continuesFrom(past *pastNode) bool {
	return past.row.FirstChild != nil || past.state() == dag.Failed || past.state() == dag.Cancelled
}

// checkpointRows are nodes that run again, with the locations of their checkpoints.
type checkpointRows struct {
	indexes    []int32
	executions []uuid.UUID
	origins    []int32
}

func (c *checkpointRows) add(i int, execution uuid.UUID, origin int) {
	c.indexes = append(c.indexes, int32(i)) //nolint:gosec // at most maxNodes
	c.executions = append(c.executions, execution)
	c.origins = append(c.origins, int32(origin)) //nolint:gosec // at most maxNodes
}

func (c *checkpointRows) write(ctx context.Context, q *db.Queries, id uuid.UUID) error {
	if len(c.indexes) == 0 {
		return nil
	}
	err := q.TakeCheckpoints(ctx, id, c.indexes, c.executions, c.origins)
	if err != nil {
		return fmt.Errorf("reuse checkpoints: %w", err)
	}
	err = q.TakeCheckpointFolders(ctx, id, c.indexes, c.executions, c.origins)
	if err != nil {
		return fmt.Errorf("reuse folders of checkpoints: %w", err)
	}
	return nil
}

// originRow is the row of a flush with the origin of node i and its cache lookup.
type originRow struct {
	Index     int             `json:"i"`
	Execution *uuid.UUID      `json:"execution,omitempty"`
	Origin    *int            `json:"origin,omitempty"`
	Use       string          `json:"use,omitempty"`
	Cache     json.RawMessage `json:"cache,omitempty"`
}

// carryOverFrom records the origin of node i.
func (og *origins) carryOverFrom(i int, o origin) {
	og.loop.nodes[i].origin = &o
	og.part.rows = append(og.part.rows, originRow{Index: i, Execution: &o.execution, Origin: &o.index, Use: o.use})
}

// write runs after all rows of nodes of the batch exist. A row may occur twice, once for its
// origin and once for the cache.
func (og *origins) write(ctx context.Context, q *db.Queries) error {
	if len(og.part.rows) == 0 {
		return nil
	}
	rows := map[int]originRow{}
	var saved checkpointRows
	for _, r := range og.part.rows {
		before, ok := rows[r.Index]
		if ok && r.Execution == nil {
			before.Cache = r.Cache
			r = before
		}
		rows[r.Index] = r
		if r.Use == useBefore {
			saved.add(r.Index, *r.Execution, *r.Origin)
		}
	}
	list := make([]originRow, 0, len(rows))
	for _, r := range rows {
		list = append(list, r)
	}
	if err := q.FlushOrigins(ctx, og.loop.id, indexes(list, func(r originRow) int { return r.Index }), mustJSON(list)); err != nil {
		return fmt.Errorf("record origins: %w", err)
	}
	return saved.write(ctx, q, og.loop.id)
}
