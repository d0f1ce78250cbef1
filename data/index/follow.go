package index

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/search"
)

// entry is an execution as the index has it.
type entry struct {
	row     db.IndexedExecutionsRow
	removed bool
	values  []value
}

// follow takes some changes, of a project if one is given, reads their executions and writes
// their entries. The changes come back if it fails. It returns how many it took.
func (s *Service) follow(ctx context.Context, project uuid.UUID) (int, error) {
	select {
	case s.pass <- struct{}{}:
		defer func() { <-s.pass }()
	case <-ctx.Done():
		return 0, ctx.Err() //nolint:wrapcheck // the context ended
	}
	conn, err := ready(s.cfg.Background)
	if err != nil {
		return 0, err
	}
	if current, err := s.isCurrent(ctx, project); current || err != nil {
		return 0, err
	}
	if err := s.adopt(ctx, conn); err != nil {
		return 0, fmt.Errorf("bring the index of executions up to date: %w", err)
	}
	// ClickHouse starts before the transaction, which would otherwise stay open meanwhile.
	if err := conn.Exec(ctx, "SELECT 1"); err != nil {
		return 0, fmt.Errorf("bring the index of executions up to date: %w", err)
	}
	changes, err := s.move(ctx, conn, func(q *db.Queries) ([]db.TakeChangesRow, error) {
		if project == uuid.Nil {
			return q.TakeChanges(ctx, batchChanges)
		}
		rows, err := q.TakeChangesIn(ctx, project, batchChanges)
		changes := make([]db.TakeChangesRow, len(rows))
		for i, r := range rows {
			changes[i] = db.TakeChangesRow(r)
		}
		return changes, err
	})
	if err != nil {
		if err = s.separate(ctx, conn, distinct(changes), err); err != nil {
			return 0, fmt.Errorf("bring the index of executions up to date: %w", err)
		}
	}
	return len(changes), nil
}

// isCurrent reports whether there is nothing to move: then a pass does not start ClickHouse, and a
// search does not wait for statements that only check the table.
func (s *Service) isCurrent(ctx context.Context, project uuid.UUID) (bool, error) {
	if project == uuid.Nil {
		if s.checked.IsZero() {
			return false, nil
		}
		found, err := s.queries.HasChanges(ctx)
		return !found, err
	}
	if s.mustCheck() {
		return false, nil
	}
	found, err := s.queries.HasChangesIn(ctx, project)
	return !found, err
}

// move writes the entries of the changes that take returns, and returns the changes.
func (s *Service) move(ctx context.Context, conn driver.Conn, take func(*db.Queries) ([]db.TakeChangesRow, error)) (changes []db.TakeChangesRow, err error) {
	ctx = bounded(ctx)
	err = db.Tx(ctx, s.cfg.Pool, func(_ pgx.Tx, q *db.Queries) error {
		var err error
		if changes, err = take(q); err != nil || len(changes) == 0 {
			return err
		}
		// Every change was committed before this moment, so the entry with the latest moment
		// contains all changes that were taken, whichever server writes last.
		version, err := q.ChangeClock(ctx)
		if err != nil {
			return err
		}
		entries, err := s.entries(ctx, q, conn, changes)
		if err != nil {
			return err
		}
		return s.write(ctx, conn, entries, uint64(version)) //nolint:gosec // microseconds since 1970
	})
	if err != nil { // the table may have been replaced while the server ran
		s.columns, s.checked = nil, time.Time{}
	}
	return changes, err
}

// distinct returns the executions of changes.
func distinct(changes []db.TakeChangesRow) []uuid.UUID {
	ids := make([]uuid.UUID, len(changes))
	for i, c := range changes {
		ids[i] = c.ExecutionID
	}
	slices.SortFunc(ids, compareIDs)
	return slices.Compact(ids)
}

// entries reads the executions of changes with their metrics.
func (s *Service) entries(ctx context.Context, q *db.Queries, conn driver.Conn, changes []db.TakeChangesRow) ([]entry, error) {
	places := map[uuid.UUID]db.TakeChangesRow{}
	var ids []uuid.UUID
	for _, c := range changes {
		if _, known := places[c.ExecutionID]; !known {
			places[c.ExecutionID] = c
			ids = append(ids, c.ExecutionID)
		}
	}
	rows, err := q.IndexedExecutions(ctx, ids)
	if err != nil {
		return nil, err
	}
	metrics, err := metricsOf(ctx, conn, ids)
	if err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(ids))
	for _, r := range rows {
		delete(places, r.ID)
		e := entry{row: r}
		e.values = append(flatten(search.Inputs, r.Inputs), flatten(search.Outputs, r.Outputs)...)
		e.values = append(append(e.values, metrics[r.ID]...), flatten(search.Metadata, r.Metadata)...)
		entries = append(entries, e)
	}
	for id, c := range places {
		entries = append(entries, entry{removed: true, row: db.IndexedExecutionsRow{ID: id, ProjectID: c.ProjectID, CreatedAt: c.CreatedAt}})
	}
	return entries, nil
}

// metricsOf returns the last, the least and the greatest value of the metrics of executions.
func metricsOf(ctx context.Context, conn driver.Conn, ids []uuid.UUID) (map[uuid.UUID][]value, error) {
	rows, err := conn.Query(ctx, fmt.Sprintf(`SELECT execution_id, toString(name), argMaxMerge(last_value), min(min_value), max(max_value)
		FROM metrics_1m WHERE execution_id IN (%s) AND length(name) <= %d GROUP BY execution_id, name ORDER BY execution_id, name LIMIT %d BY execution_id`,
		uuids(ids), maxName, maxValues))
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	defer func() { _ = rows.Close() }()
	metrics := map[uuid.UUID][]value{}
	for rows.Next() {
		var (
			id                uuid.UUID
			name              string
			last, least, most float64
		)
		if err := rows.Scan(&id, &name, &last, &least, &most); err != nil {
			return nil, fmt.Errorf("read metrics: %w", err)
		}
		if !indexable(name) {
			continue
		}
		for stat, number := range map[search.Stat]float64{search.Last: last, search.Least: least, search.Most: most} {
			if !math.IsNaN(number) && !math.IsInf(number, 0) {
				metrics[id] = append(metrics[id], value{key: key{search.Metrics, name, stat, search.Number}, number: number})
			}
		}
	}
	return metrics, rows.Err()
}

// uuids is a list of ids in SQL. They are texts, because a function is evaluated for each of them.
func uuids(ids []uuid.UUID) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = "'" + id.String() + "'"
	}
	return strings.Join(list, ", ")
}

// byKey selects columns of the executions with these ids and moments of creation.
func byKey(project string, columns []string, ids []uuid.UUID, created []time.Time) string {
	list := make([]string, len(created))
	for i, at := range created {
		list[i] = at.UTC().Format("'2006-01-02 15:04:05.000000'")
	}
	return fmt.Sprintf("SELECT execution_id, %s FROM execution_values FINAL WHERE project_id = toUUID('%s') AND created_at IN (%s) AND execution_id IN (%s)%s",
		strings.Join(columns, ", "), project, strings.Join(list, ", "), uuids(ids), settings)
}

const factColumns = "project_id, execution_id, created_at, version, removed, status, workflow, workflow_version, name, submitted_by, submitted_by_id, sweep, purpose, " +
	"error, note, tags, shas, priority, started_at, finished_at, duration, gpu_hours"

// write inserts entries with a version.
func (s *Service) write(ctx context.Context, conn driver.Conn, entries []entry, version uint64) error {
	slots, err := s.slots(ctx, conn, entries)
	if err != nil {
		return err
	}
	if err := s.carry(ctx, conn, slots, entries); err != nil {
		return err
	}
	columns := slots.columns()
	b, err := conn.PrepareBatch(ctx, "INSERT INTO execution_values ("+strings.Join(append([]string{factColumns}, columns...), ", ")+")")
	if err != nil {
		return fmt.Errorf("write entries: %w", err)
	}
	defer b.Close()
	for _, e := range entries {
		if err := b.Append(append(e.facts(version), slots.cells(e, columns)...)...); err != nil {
			_ = b.Abort()
			return fmt.Errorf("write entries: %w", err)
		}
	}
	if err := b.Send(); err != nil {
		return fmt.Errorf("write entries: %w", err)
	}
	return nil
}

func (e entry) facts(version uint64) []any {
	r := e.row
	removed := uint8(0)
	if e.removed {
		removed = 1
	}
	var duration *float64
	if r.StartedAt != nil && r.FinishedAt != nil {
		duration = new(r.FinishedAt.Sub(*r.StartedAt).Seconds())
	}
	return []any{
		r.ProjectID, r.ID, r.CreatedAt.UTC(), version, removed, r.Status, r.WorkflowName, r.Version, r.Name, r.SubmittedByName, r.SubmittedBy, r.Sweep, r.Purpose,
		r.Error, r.Note, some(r.Tags), some(r.Shas), r.Priority, utc(r.StartedAt), utc(r.FinishedAt), duration, r.GpuHours,
	}
}

func some(list []string) []string { return slices.Concat([]string{}, list) }

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}
