package telemetry

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// await waits until ClickHouse has started. ClickHouse keeps running until end is called.
type await func(context.Context) (end func(), err error)

// open prepares connections whose statements wait for await, if there is one, before the limit of a
// connection begins.
func (a await) open(o *clickhouse.Options) (driver.Conn, error) {
	conn, err := clickhouse.Open(o)
	if err != nil || a == nil {
		return conn, err
	}
	return awaiting{conn, a}, nil
}

type awaiting struct {
	driver.Conn

	await await
}

// Select implements driver.Conn.
func (c awaiting) Select(ctx context.Context, dest any, query string, args ...any) error {
	end, err := c.await(ctx)
	if err != nil {
		return err
	}
	defer end()
	return c.Conn.Select(ctx, dest, query, args...)
}

// Query implements driver.Conn.
func (c awaiting) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	end, err := c.await(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return c.Conn.Query(ctx, query, args...)
}

// QueryRow implements driver.Conn.
func (c awaiting) QueryRow(ctx context.Context, query string, args ...any) driver.Row {
	end, err := c.await(ctx)
	if err != nil {
		return failedRow{err}
	}
	defer end()
	return c.Conn.QueryRow(ctx, query, args...)
}

// PrepareBatch implements driver.Conn.
func (c awaiting) PrepareBatch(ctx context.Context, query string, opts ...driver.PrepareBatchOption) (driver.Batch, error) {
	end, err := c.await(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return c.Conn.PrepareBatch(ctx, query, opts...)
}

// Exec implements driver.Conn.
func (c awaiting) Exec(ctx context.Context, query string, args ...any) error {
	end, err := c.await(ctx)
	if err != nil {
		return err
	}
	defer end()
	return c.Conn.Exec(ctx, query, args...)
}

// failedRow is the row of a query that did not run.
type failedRow struct{ err error }

func (r failedRow) Err() error           { return r.err }
func (r failedRow) Scan(...any) error    { return r.err }
func (r failedRow) ScanStruct(any) error { return r.err }
