package telemetry

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/flowforge/flowforge/data/telemetry/spool"
)

// Bounds of one insert, and of the waits after a failed one.
const (
	batchRecords = 100_000
	batchBytes   = 32 << 20
	minBackoff   = 200 * time.Millisecond
	maxBackoff   = 5 * time.Second
	flushTimeout = 30 * time.Second
	lastFlush    = 2 * time.Second // for the flush at the end of Run
	checkEvery   = 5 * time.Second // how often an idle connection is checked
)

// Run moves spooled records to ClickHouse until ctx ends, then once more for at most
// two seconds. Without ClickHouse it only waits.
func (s *Service) Run(ctx context.Context) error {
	if s.store == nil {
		<-ctx.Done()
		return nil
	}
	noted := make(chan struct{})
	go func() {
		defer close(noted)
		s.noter.run(ctx, s.recent)
	}()
	backoff := minBackoff
	for ctx.Err() == nil {
		err := s.flush(ctx)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			s.setState(StateDown, err)
			wait(ctx, backoff)
			backoff = min(2*backoff, maxBackoff)
			continue
		}
		s.setState(StateUp, nil)
		backoff = minBackoff
		s.idle(ctx)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
	defer cancel()
	if err := s.flush(last); err != nil {
		s.cfg.Log.Info("some logs and metrics stay in the spool until the next start", "records", s.spool.Stats().PendingRecords, "error", err)
	}
	<-noted
	s.noter.last(last)
	return nil
}

// idle waits for something to flush and then for more of it.
func (s *Service) idle(ctx context.Context) {
	check := time.NewTimer(checkEvery)
	defer check.Stop()
	select {
	case <-ctx.Done():
	case <-check.C:
	case <-s.wake:
		if s.spool.Stats().PendingRecords < batchRecords {
			wait(ctx, s.cfg.FlushInterval)
		}
	}
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// flush inserts all spooled records; with nothing to insert, it checks the connection.
// One flush runs at a time: a batch is open until it is committed.
func (s *Service) flush(ctx context.Context) error {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	if !s.store.migrated.Load() {
		migrating, cancel := context.WithTimeout(ctx, flushTimeout)
		err := s.store.migrate(migrating, s.cfg.RetentionDays)
		cancel()
		if err != nil {
			return err
		}
	}
	for inserted := false; ; inserted = true {
		batch, err := s.spool.Batch(batchRecords, batchBytes)
		if err != nil {
			return err
		}
		if batch == nil {
			if inserted {
				return nil
			}
			return s.check(ctx)
		}
		if err := s.insert(ctx, batch); err != nil {
			if isMissing(err) {
				s.store.migrated.Store(false)
			}
			return err
		}
		floor, err := s.spool.Commit(batch)
		if err != nil {
			return err
		}
		s.seenMu.Lock()
		s.seen.forget(floor)
		s.seenMu.Unlock()
	}
}

// insert stores one batch. It carries a deduplication token of its bounds, which
// survive a crash, so that a batch whose answer was lost is not stored twice.
func (s *Service) insert(ctx context.Context, batch *spool.Batch) error {
	rows := newRows(batch)
	if err := s.spool.Read(batch.Refs, func(f spool.Frame) error { return rows.add(f, s.cfg.Log.Error) }); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	token := fmt.Sprintf("%016x-%d-%d", s.spool.Writer(), batch.From, batch.To)
	writer := s.spool.Writer()
	if err := s.store.insertLines(ctx, token, writer, &rows.logs); err != nil {
		return err
	}
	if err := s.store.insert(ctx, "metrics", token, metricColumns, len(rows.points), func(b driver.Batch, i int) error {
		p := &rows.points[i]
		return b.Append(p.TenantID, p.ProjectID, p.ExecutionID, uint32(p.NodeIndex), p.Node, uint16(p.Attempt), p.Name, p.Kind, p.Seq, //nolint:gosec // checked at append
			p.Step, p.Value, p.Time, p.tags, writer, rows.pointAt[i])
	}); err != nil {
		return err
	}
	s.noter.add(rows.points)
	return s.store.insert(ctx, "execution_facts", token, factColumns, len(rows.facts), func(b driver.Batch, i int) error {
		return appendFact(b, &rows.facts[i])
	})
}

const (
	metricColumns = "tenant_id, project_id, execution_id, node_index, node, attempt, name, type, sequence, " +
		"step, value, timestamp, tags, writer, position"
	factColumns = "tenant_id, project_id, execution_id, workflow_id, workflow_name, version, status, submitted_by, created_at, started_at, finished_at, " +
		"duration_ms, total_cpu_ms, total_memory_mb_sec, total_tasks, succeeded_tasks, failed_tasks, skipped_tasks, cancelled_tasks"
)

func appendFact(b driver.Batch, f *Fact) error {
	var duration *int64
	if f.StartedAt != nil {
		duration = new(f.FinishedAt.Sub(*f.StartedAt).Milliseconds())
	}
	return b.Append(f.TenantID, f.ProjectID, f.ExecutionID, f.WorkflowID, f.WorkflowName, f.Version, f.Status, f.SubmittedBy, f.CreatedAt, f.StartedAt, f.FinishedAt,
		duration, f.CPUMillis, f.MemoryMiBSeconds, uint32(f.Total), uint32(f.Succeeded), uint32(f.Failed), //nolint:gosec // node counts
		uint32(f.Skipped), uint32(f.Cancelled)) //nolint:gosec // node counts
}

// insert sends n rows to table in one block.
func (s *store) insert(ctx context.Context, table, token, columns string, n int, row func(driver.Batch, int) error) error {
	if n == 0 {
		return nil
	}
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(insertSettings(table, token)))
	b, err := s.inserts.PrepareBatch(ctx, "INSERT INTO "+table+" ("+columns+")")
	if err != nil {
		return fmt.Errorf("insert into %s: %w", table, err)
	}
	defer b.Close()
	for i := range n {
		if err := row(b, i); err != nil {
			_ = b.Abort()
			return fmt.Errorf("insert into %s: %w", table, err)
		}
	}
	if err := b.Send(); err != nil {
		return fmt.Errorf("insert into %s: %w", table, err)
	}
	return nil
}

// insertSettings are the settings of an insert into table, which happens once for a token.
func insertSettings(table, token string) clickhouse.Settings {
	return clickhouse.Settings{
		"insert_deduplication_token":                         token + "-" + table,
		"deduplicate_blocks_in_dependent_materialized_views": 1,
		// The text index of new rows is built when their parts merge: until then, few
		// enough rows are scanned, and inserts take a quarter of the time.
		"materialize_skip_indexes_on_insert": 0,
		// A block has no duplicates, so ClickHouse need not look for them before it writes a part.
		"optimize_on_insert": 0,
	}
}
