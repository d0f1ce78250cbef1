package telemetry

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/platform/sharing"
)

// others reads the last positions of the writers of other servers in one table. Its readers share what it
// reads: one query covers all executions that are followed, so a thousand open pages cost as much as one.
type others struct {
	s     *Service
	table string
	reads *sharing.Reads[uint64, map[uuid.UUID]marks] // by the generation of the hub
	// query reads the positions of executions. The result has an element for each of them.
	query func(context.Context, []uuid.UUID) (map[uuid.UUID]marks, error)
}

// newOthers returns the positions in a table. Readers share them for a duration.
func newOthers(s *Service, table string, keep time.Duration, now func() time.Time) *others {
	o := &others{s: s, table: table, reads: sharing.New[uint64, map[uuid.UUID]marks](keep, now)}
	o.query = o.positions
	return o
}

// of returns the positions in an execution, which are at most as old as readers share them. ok: the
// execution is followed.
func (o *others) of(ctx context.Context, execution uuid.UUID) (m marks, ok bool, err error) {
	generation, followed := o.s.hub.generationOf(execution)
	if !followed {
		return nil, false, nil
	}
	found, err := o.reads.Get(ctx, generation, func(ctx context.Context) (map[uuid.UUID]marks, error) {
		return o.query(ctx, o.s.hub.executions())
	})
	m, ok = found[execution]
	return m, ok, err
}

// now returns the positions in an execution as of now.
func (o *others) now(ctx context.Context, execution uuid.UUID) (marks, error) {
	found, err := o.query(ctx, []uuid.UUID{execution})
	return found[execution], err
}

// positionsAtOnce limits the executions of one query, whose text has their IDs.
const positionsAtOnce = 1000

// positions reads the positions in executions.
func (o *others) positions(ctx context.Context, executions []uuid.UUID) (map[uuid.UUID]marks, error) {
	if o.s.store == nil || !o.s.store.migrated.Load() {
		return nil, errNotReady
	}
	found := make(map[uuid.UUID]marks, len(executions))
	for _, id := range executions {
		found[id] = marks{}
	}
	for some := range slices.Chunk(executions, positionsAtOnce) {
		if err := o.read(ctx, some, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (o *others) read(ctx context.Context, executions []uuid.UUID, found map[uuid.UUID]marks) error {
	rows, err := o.s.store.conn.Query(ctx, "SELECT execution_id, writer, max(position) FROM "+o.table+" WHERE execution_id IN (?) AND writer != ? GROUP BY execution_id, writer",
		executions, o.s.spool.Writer())
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err returns the error
	for rows.Next() {
		var (
			id         uuid.UUID
			writer, at uint64
		)
		if err := rows.Scan(&id, &writer, &at); err != nil {
			return err
		}
		found[id][writer] = at
	}
	return rows.Err()
}

// others returns the last positions of the other writers of the execution. now: as of now, otherwise
// tails share them.
func (t *tail) others(ctx context.Context, now bool) (marks, error) {
	if !now {
		if m, ok, err := t.s.otherLines.of(ctx, t.filter.ExecutionID); ok || err != nil {
			return m, err
		}
	}
	return t.s.otherLines.now(ctx, t.filter.ExecutionID)
}

// stretch is a part of the lines of a writer that tails with one filter read: after < position <= upTo.
type stretch struct {
	execution, project  uuid.UUID
	nodes               string
	writer, after, upTo uint64
}

// stored returns the first lines of a writer in ClickHouse that the tail has not read, up to a position.
// Tails of the same lines share them.
func (t *tail) stored(ctx context.Context, writer, upTo uint64) ([]LogLine, error) {
	read := func(ctx context.Context) ([]LogLine, error) {
		where, args := t.filter.where()
		where += " AND writer = ? AND position > ? AND position <= ? ORDER BY position LIMIT ?"
		return t.s.query(ctx, t.filter, where, append(args, writer, t.marks[writer], upTo, tailPage))
	}
	nodes, only := t.filter.onlyNodes()
	if !only || t.s.hub.followers(t.filter.ExecutionID) < 2 {
		return read(ctx)
	}
	key := stretch{execution: t.filter.ExecutionID, nodes: nodes, writer: writer, after: t.marks[writer], upTo: upTo}
	if t.filter.project != nil {
		key.project = *t.filter.project
	}
	lines, err := t.s.stretches.Get(ctx, key, read)
	return slices.Clone(lines), err // the tail marks its lines
}
