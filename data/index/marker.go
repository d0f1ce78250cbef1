package index

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/search"
)

const (
	checkEvery = time.Minute // between two checks of the marker
	batchOlder = 1000        // executions that the job notes at once
)

// adopt makes sure that the table is the one that Postgres knows. One that is new, replaced or
// emptied gets its columns, and the job notes all executions again.
func (s *Service) adopt(ctx context.Context, conn driver.Conn) error {
	if !s.mustCheck() {
		return nil
	}
	known, err := s.known(ctx, s.queries, conn)
	if err != nil {
		return err
	}
	if !known {
		s.columns = nil
		if err := s.begin(ctx, conn); err != nil {
			return err
		}
	}
	s.checked = s.cfg.Now()
	return nil
}

// mustCheck reports whether the marker of the table was not checked within the last minute.
func (s *Service) mustCheck() bool {
	return s.checked.IsZero() || s.cfg.Now().Sub(s.checked) >= checkEvery
}

// known reports whether the marker of the table is that of Postgres.
func (s *Service) known(ctx context.Context, q *db.Queries, conn driver.Conn) (bool, error) {
	i, err := q.SearchIndex(ctx)
	if db.IsNoRows(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("marker of the index: %w", err)
	}
	var marker []uuid.UUID
	err = conn.QueryRow(ctx, "SELECT groupArray(execution_id) FROM execution_values FINAL WHERE project_id = toUUID('"+uuid.Nil.String()+"')").Scan(&marker)
	if err != nil {
		return false, fmt.Errorf("marker of the index: %w", err)
	}
	return slices.Contains(marker, i.Marker), nil
}

// begin prepares a table that Postgres does not know.
func (s *Service) begin(ctx context.Context, conn driver.Conn) error {
	return db.Tx(ctx, s.cfg.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := q.HoldSearchIndex(ctx); err != nil {
			return err
		}
		if known, err := s.known(ctx, q, conn); err != nil || known { // another server was faster
			return err
		}
		columns, err := q.SearchColumns(ctx)
		if err != nil {
			return err
		}
		counts := map[search.Type]int{}
		for _, c := range columns {
			counts[search.Type(c.Type)] = int(c.Columns)
		}
		if err := s.widen(ctx, conn, counts); err != nil {
			return err
		}
		marker := uuid.New()
		err = conn.Exec(ctx, fmt.Sprintf("INSERT INTO execution_values (project_id, execution_id, created_at) VALUES ('%s', '%s', '1970-01-01 00:00:00')", uuid.Nil, marker))
		if err != nil {
			return fmt.Errorf("mark the index: %w", err)
		}
		s.cfg.Log.Info("the index of executions is built from the beginning")
		if err := q.AdoptSearchIndex(ctx, marker); err != nil {
			return err
		}
		_, err = noteOlder(ctx, q)
		return err
	})
}

// noteOlder notes some of the executions from before the index, newest first, and returns how
// many.
func (s *Service) noteOlder(ctx context.Context) (n int, err error) {
	err = db.Tx(ctx, s.cfg.Pool, func(_ pgx.Tx, q *db.Queries) error {
		n, err = noteOlder(ctx, q)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("note the executions from before the index: %w", err)
	}
	return n, nil
}

func noteOlder(ctx context.Context, q *db.Queries) (int, error) {
	next, err := q.NextToNote(ctx)
	if db.IsNoRows(err) || err == nil && next == nil {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	noted, err := q.NoteOlder(ctx, *next, batchOlder)
	if err != nil {
		return 0, err
	}
	oldest := uuid.Nil // nothing is older
	if len(noted) > 0 {
		oldest = slices.MinFunc(noted, compareIDs)
	}
	return len(noted), q.ContinueNoting(ctx, oldest)
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
