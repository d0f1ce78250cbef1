package replica

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/flowforge/flowforge/db"
)

// Reader runs queries on the replica if their context allows it, and otherwise on the primary. A read
// that fails on the replica is repeated on the primary. Writes use the primary.
type Reader struct{ r *Replica }

// Reader returns a Reader.
func (r *Replica) Reader() Reader { return Reader{r} }

var _ db.DBTX = Reader{} // the generated queries use it

// Exec implements db.DBTX.
func (d Reader) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return d.r.cfg.Primary.Exec(ctx, sql, args...) //nolint:wrapcheck // a pass-through
}

// CopyFrom implements db.DBTX.
func (d Reader) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	return d.r.cfg.Primary.CopyFrom(ctx, table, columns, rows) //nolint:wrapcheck // a pass-through
}

// Query implements db.DBTX. It reads all rows of the replica before it returns the first, because a
// recovery conflict can end a read at any row.
func (d Reader) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if d.r.uses(ctx) {
		rows, err := d.r.collect(ctx, sql, args)
		if err == nil {
			return rows, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		d.r.failed(ctx, err)
	}
	return d.r.cfg.Primary.Query(ctx, sql, args...) //nolint:wrapcheck // a pass-through
}

// QueryRow implements db.DBTX. A row that the replica does not have is looked up in the primary, so
// that an object that was just created is found.
func (d Reader) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if !d.r.uses(ctx) {
		return d.r.cfg.Primary.QueryRow(ctx, sql, args...)
	}
	return row{d, ctx, sql, args}
}

// row is the first row of a query that runs when the row is scanned.
type row struct {
	reader Reader
	ctx    context.Context //nolint:containedctx // pgx.Row has no context of its own
	sql    string
	args   []any
}

// Scan implements pgx.Row.
func (o row) Scan(dest ...any) error {
	r := o.reader.r
	rows, err := r.collect(o.ctx, o.sql, o.args)
	switch {
	case o.ctx.Err() != nil:
		return o.ctx.Err()
	case err != nil:
		r.failed(o.ctx, err)
	default:
		defer rows.Close()
		if rows.Next() {
			return rows.Scan(dest...)
		}
	}
	return r.cfg.Primary.QueryRow(o.ctx, o.sql, o.args...).Scan(dest...) //nolint:wrapcheck // a pass-through
}

// errNoConnection means that the pool of the replica has no connection.
var errNoConnection = errors.New("replica: no connection")

// collect runs a query on the replica and returns all its rows.
func (r *Replica) collect(ctx context.Context, sql string, args []any) (*rows, error) {
	ctx, cancel := r.responding(ctx)
	defer cancel()
	conn, err := r.cfg.Replica.Acquire(ctx)
	if err != nil {
		return nil, errors.Join(errNoConnection, err)
	}
	out := &rows{conn: conn, at: -1}
	found, err := conn.Query(ctx, sql, args...)
	if err != nil {
		conn.Release()
		return nil, err
	}
	for found.Next() {
		out.add(found.RawValues())
	}
	if err := found.Err(); err != nil {
		conn.Release()
		return nil, err
	}
	out.fields, out.tag = found.FieldDescriptions(), found.CommandTag()
	return out, nil
}
