package execution

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/flowforge/flowforge/db"
)

// flushTx is the transaction of a flush, which begins with its first statement. The transition is
// usually the only statement; then it runs without BEGIN and COMMIT, which saves two of three
// round trips to PostgreSQL.
type flushTx struct {
	conn       *pgxpool.Conn
	tx         pgx.Tx                  // nil: it has not begun
	transition func(*db.Queries) error // runs before the next statement, or alone; nil: none waits
}

var _ db.DBTX = (*flushTx)(nil)

// runFlush runs f in a transaction, which commits when f returns nil and rolls back otherwise.
func runFlush(ctx context.Context, pool *pgxpool.Pool, f func(*flushTx) error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("acquire a connection: %w", err)
	}
	defer conn.Release()
	t := &flushTx{conn: conn}
	if err := f(t); err != nil {
		return errors.Join(err, t.rollback(ctx))
	}
	if t.tx != nil {
		return t.tx.Commit(ctx)
	}
	if t.transition != nil {
		return t.transition(db.New(conn))
	}
	return nil
}

// last runs the transition now if the transaction has begun, and otherwise when the next
// statement or the end of the transaction follows.
func (t *flushTx) last(transition func(*db.Queries) error) error {
	if t.tx != nil {
		return transition(db.New(t.tx))
	}
	t.transition = transition
	return nil
}

// begin begins the transaction, and runs the transition if it waits.
func (t *flushTx) begin(ctx context.Context) (err error) {
	if t.tx == nil {
		if t.tx, err = t.conn.Begin(ctx); err != nil {
			return fmt.Errorf("begin: %w", err)
		}
	}
	if transition := t.transition; transition != nil {
		t.transition = nil
		return transition(db.New(t.tx))
	}
	return nil
}

func (t *flushTx) rollback(ctx context.Context) error {
	if t.tx == nil {
		return nil
	}
	return t.tx.Rollback(ctx)
}

// enqueue inserts a job.
func (t *flushTx) enqueue(ctx context.Context, enqueuer *river.Client[pgx.Tx], args river.JobArgs) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	_, err := enqueuer.InsertTx(ctx, t.tx, args, nil)
	return err
}

// Exec runs a statement in the transaction.
func (t *flushTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := t.begin(ctx); err != nil {
		return pgconn.CommandTag{}, err
	}
	return t.tx.Exec(ctx, sql, args...)
}

// Query runs a query in the transaction.
func (t *flushTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	return t.tx.Query(ctx, sql, args...)
}

// QueryRow runs a query of one row in the transaction.
func (t *flushTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := t.begin(ctx); err != nil {
		return failedRow{err}
	}
	return t.tx.QueryRow(ctx, sql, args...)
}

// CopyFrom copies rows into a table in the transaction.
func (t *flushTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	if err := t.begin(ctx); err != nil {
		return 0, err
	}
	return t.tx.CopyFrom(ctx, table, columns, rows)
}

// failedRow is the row of a query that could not run.
type failedRow struct{ err error }

// Scan returns the error of the query.
func (r failedRow) Scan(...any) error { return r.err }
