package sqlquery

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// maxFirstRow bounds the first row of a result.
const maxFirstRow = 1 << 20

// Row is the first row of a result.
type Row struct {
	Columns []string
	Values  []any // decoded JSON with numbers as json.Number
}

// First runs a statement and returns the first row of its result; false when the result has no rows.
// It reads the rest of the result without storing it, up to MaxRows.
func First(ctx context.Context, r Request) (Row, bool, error) {
	switch r.Kind {
	case Postgres:
		return firstOfPostgres(ctx, r)
	case ClickHouse:
		return firstOfClickHouse(ctx, r)
	}
	return Row{}, false, fmt.Errorf("a connection of kind %q cannot run SQL; use postgres or clickhouse", r.Kind)
}

// True reports whether the first value of the row is neither null, false, 0 nor empty.
func (r Row) True() bool {
	if len(r.Values) == 0 {
		return false
	}
	switch v := r.Values[0].(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case json.Number:
		f, err := v.Float64()
		return err != nil || f != 0
	}
	return true
}

// Object is the row as a JSON object. Of several columns with one name, it has the last.
func (r Row) Object() map[string]any {
	object := make(map[string]any, len(r.Columns))
	for i, name := range r.Columns {
		object[name] = r.Values[i]
	}
	return object
}

func firstOfPostgres(ctx context.Context, r Request) (row Row, found bool, err error) {
	conn, err := connectPostgres(ctx, r)
	if err != nil {
		return Row{}, false, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return Row{}, false, postgresError(r, err)
	}
	args, err := postgresArgs(r.Args)
	if err != nil {
		return Row{}, false, err
	}
	rows, err := tx.Query(ctx, r.Query, pgx.QueryResultFormats{pgx.TextFormatCode}, args)
	if err != nil {
		return Row{}, false, postgresError(r, err)
	}
	defer rows.Close()
	for n := int64(1); rows.Next(); n++ {
		if n > r.MaxRows {
			return Row{}, false, r.tooManyRows()
		}
		if n > 1 {
			continue
		}
		found = true
		for i, field := range rows.FieldDescriptions() {
			raw := rows.RawValues()[i]
			if len(raw) > maxFirstRow {
				return Row{}, false, fmt.Errorf("the column %s of the first row is larger than 1 MiB; select less", field.Name)
			}
			row.Columns = append(row.Columns, field.Name)
			row.Values = append(row.Values, valueOf(field.DataTypeOID, raw))
		}
	}
	return row, found, postgresError(r, rows.Err())
}

// valueOf decodes a value that PostgreSQL sent as text.
func valueOf(oid uint32, raw []byte) any {
	if raw == nil {
		return nil
	}
	text := string(raw)
	switch oid {
	case pgtype.BoolOID:
		return text == "t"
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID:
		if _, err := strconv.ParseFloat(text, 64); err == nil && json.Valid(raw) { // NaN and Infinity are texts
			return json.Number(text)
		}
	case pgtype.JSONOID, pgtype.JSONBOID:
		if v, err := decode(raw); err == nil {
			return v
		}
	}
	return text
}

func decode(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func firstOfClickHouse(ctx context.Context, r Request) (Row, bool, error) {
	r.ReadOnly = true
	c := newClickHouse(r)
	settings, err := c.settings("")
	if err != nil {
		return Row{}, false, err
	}
	settings.Del("query_id")
	settings.Set("default_format", "JSONCompactEachRowWithNames")
	settings.Set("output_format_json_quote_64bit_integers", "0")
	settings.Set("cancel_http_readonly_queries_on_client_close", "1")
	res, err := c.send(ctx, r.Query, settings)
	if err != nil {
		return Row{}, false, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Header.Get("X-ClickHouse-Exception-Code") != "" {
		return Row{}, false, c.refused(res)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxFirstRow)
	var row Row
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &row.Columns) != nil {
		if errors.Is(lines.Err(), bufio.ErrTooLong) {
			return Row{}, false, errors.New("the first row is larger than 1 MiB; select less")
		}
		return Row{}, false, errors.New("the statement returns no rows, or has a FORMAT; a sensor needs a SELECT without FORMAT")
	}
	if !lines.Scan() {
		if err := lines.Err(); err != nil {
			return Row{}, false, fmt.Errorf("the first row cannot be read: %w", err)
		}
		return Row{}, false, nil
	}
	v, err := decode(lines.Bytes())
	values, _ := v.([]any)
	if err != nil || len(values) != len(row.Columns) {
		return Row{}, false, errors.New("the first row is not valid JSON; remove FORMAT from the query")
	}
	row.Values = values
	n := int64(1)
	for lines.Scan() { // a setting in the query can replace the limit
		if n++; n > r.MaxRows {
			return Row{}, false, r.tooManyRows()
		}
	}
	if err := lines.Err(); err != nil {
		return Row{}, false, fmt.Errorf("the result cannot be read: %w", err)
	}
	return row, true, nil
}
