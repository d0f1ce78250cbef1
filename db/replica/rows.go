package replica

import (
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// rows are rows that were read completely. They keep their connection until Close, because its map of
// types decodes them.
type rows struct {
	conn   *pgxpool.Conn // nil after Close
	fields []pgconn.FieldDescription
	tag    pgconn.CommandTag
	values [][][]byte
	at     int
	err    error
}

// add copies a row, which the connection overwrites with the next one.
func (r *rows) add(values [][]byte) {
	size := 0
	for _, v := range values {
		size += len(v)
	}
	row, bytes := make([][]byte, len(values)), make([]byte, 0, size)
	for i, v := range values {
		if v == nil {
			continue // NULL
		}
		start := len(bytes)
		bytes = append(bytes, v...)
		row[i] = bytes[start:len(bytes):len(bytes)]
	}
	r.values = append(r.values, row)
}

// Close implements pgx.Rows.
func (r *rows) Close() {
	if r.conn != nil {
		r.conn.Release()
		r.conn = nil
	}
}

// Err implements pgx.Rows.
func (r *rows) Err() error { return r.err }

// CommandTag implements pgx.Rows.
func (r *rows) CommandTag() pgconn.CommandTag { return r.tag }

// FieldDescriptions implements pgx.Rows.
func (r *rows) FieldDescriptions() []pgconn.FieldDescription { return r.fields }

// Next implements pgx.Rows.
func (r *rows) Next() bool {
	if r.conn == nil || r.err != nil {
		return false
	}
	if r.at++; r.at < len(r.values) {
		return true
	}
	r.Close()
	return false
}

// Scan implements pgx.Rows.
func (r *rows) Scan(dest ...any) error {
	if len(dest) == 1 {
		if s, ok := dest[0].(pgx.RowScanner); ok {
			return r.failing(s.ScanRow(r))
		}
	}
	if len(dest) != len(r.fields) {
		return r.failing(fmt.Errorf("scan %d columns into %d values", len(r.fields), len(dest)))
	}
	return r.failing(pgx.ScanRow(r.TypeMap(), r.fields, r.values[r.at], dest...))
}

// failing ends the rows with err, as those of pgx do.
func (r *rows) failing(err error) error {
	if err != nil {
		r.err = err
		r.Close()
	}
	return err
}

// Values implements pgx.Rows.
func (r *rows) Values() ([]any, error) {
	values := make([]any, len(r.fields))
	for i, f := range r.fields {
		if r.values[r.at][i] == nil {
			continue
		}
		t, ok := r.TypeMap().TypeForOID(f.DataTypeOID)
		if !ok {
			return nil, r.failing(fmt.Errorf("column %q has an unknown type", f.Name))
		}
		v, err := t.Codec.DecodeValue(r.TypeMap(), f.DataTypeOID, f.Format, r.values[r.at][i])
		if err != nil {
			return nil, r.failing(err)
		}
		values[i] = v
	}
	return values, nil
}

// RawValues implements pgx.Rows.
func (r *rows) RawValues() [][]byte { return r.values[r.at] }

// Conn implements pgx.Rows.
func (r *rows) Conn() *pgx.Conn {
	if r.conn == nil {
		return nil
	}
	return r.conn.Conn()
}

// TypeMap implements pgx.Rows.
func (r *rows) TypeMap() *pgtype.Map {
	if r.conn == nil {
		return nil
	}
	return r.conn.Conn().TypeMap()
}
