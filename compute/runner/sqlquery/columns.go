package sqlquery

import (
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/parquet-go/parquet-go"
)

// column is a column of a result: its type in the file, and how its values are read from text.
type column struct {
	name string
	node parquet.Node
	read func(text string) (parquet.Value, error)
}

// maxDecimal is the maximum number of digits that a decimal of 64 bits holds.
const maxDecimal = 18

func postgresColumns(fields []pgconn.FieldDescription) ([]column, error) {
	columns := make([]column, len(fields))
	seen := map[string]bool{}
	for i, f := range fields {
		if seen[f.Name] {
			return nil, fmt.Errorf("two columns of the result are called %q; name them with AS", f.Name)
		}
		seen[f.Name] = true
		node, read := postgresType(f)
		columns[i] = column{f.Name, node, read}
	}
	return columns, nil
}

// postgresType returns the type in the file. Types without a counterpart become their text.
func postgresType(f pgconn.FieldDescription) (parquet.Node, func(string) (parquet.Value, error)) {
	switch f.DataTypeOID {
	case pgtype.BoolOID:
		return parquet.Leaf(parquet.BooleanType), func(s string) (parquet.Value, error) { return parquet.BooleanValue(s == "t"), nil }
	case pgtype.Int2OID:
		return parquet.Int(16), readInt32
	case pgtype.Int4OID:
		return parquet.Int(32), readInt32
	case pgtype.Int8OID:
		return parquet.Int(64), readInt64
	case pgtype.Float4OID:
		return parquet.Leaf(parquet.FloatType), func(s string) (parquet.Value, error) {
			v, err := strconv.ParseFloat(s, 32)
			return parquet.FloatValue(float32(v)), err
		}
	case pgtype.Float8OID:
		return parquet.Leaf(parquet.DoubleType), func(s string) (parquet.Value, error) {
			v, err := strconv.ParseFloat(s, 64)
			return parquet.DoubleValue(v), err
		}
	case pgtype.NumericOID:
		if precision, scale := decimalOf(f.TypeModifier); precision > 0 && precision <= maxDecimal && scale >= 0 && scale <= precision {
			return parquet.Decimal(scale, precision, parquet.Int64Type), func(s string) (parquet.Value, error) { return readDecimal(s, scale) }
		}
	case pgtype.DateOID:
		return parquet.Date(), func(s string) (parquet.Value, error) {
			v, err := readTime("2006-01-02", s)
			return parquet.Int32Value(int32(v.Unix() / secondsOfDay)), err //nolint:gosec // days of a date
		}
	case pgtype.TimestampOID:
		return parquet.TimestampAdjusted(parquet.Microsecond, false), readTimestamp("2006-01-02 15:04:05.999999")
	case pgtype.TimestamptzOID:
		return parquet.Timestamp(parquet.Microsecond), readTimestamp("2006-01-02 15:04:05.999999-07")
	case pgtype.UUIDOID:
		return parquet.UUID(), func(s string) (parquet.Value, error) {
			id, err := uuid.Parse(s)
			return parquet.FixedLenByteArrayValue(id[:]), err
		}
	case pgtype.ByteaOID:
		return parquet.Leaf(parquet.ByteArrayType), func(s string) (parquet.Value, error) {
			data, err := hex.DecodeString(strings.TrimPrefix(s, `\x`))
			return parquet.ByteArrayValue(data), err
		}
	case pgtype.JSONOID, pgtype.JSONBOID:
		return parquet.JSON(), readText
	}
	return parquet.String(), readText
}

const secondsOfDay = 24 * 60 * 60

func readText(s string) (parquet.Value, error) { return parquet.ByteArrayValue([]byte(s)), nil }

func readInt32(s string) (parquet.Value, error) {
	v, err := strconv.ParseInt(s, 10, 32)
	return parquet.Int32Value(int32(v)), err
}

func readInt64(s string) (parquet.Value, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	return parquet.Int64Value(v), err
}

// decimalOf returns the precision and scale of numeric(precision, scale); 0 for numeric alone.
func decimalOf(modifier int32) (precision, scale int) {
	const header = 4
	if modifier < header {
		return 0, 0
	}
	m := modifier - header
	return int(m >> 16 & 0xffff), int(m & 0xffff)
}

// readDecimal reads a number with exactly scale digits after the point.
func readDecimal(s string, scale int) (parquet.Value, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	if len(fraction) != scale {
		return parquet.Value{}, fmt.Errorf("%q cannot be stored as a decimal number; cast it to text", s)
	}
	return readInt64(whole + fraction)
}

func readTimestamp(layout string) func(string) (parquet.Value, error) {
	return func(s string) (parquet.Value, error) {
		v, err := readTime(layout, s)
		return parquet.Int64Value(v.UnixMicro()), err
	}
}

func readTime(layout, s string) (time.Time, error) {
	v, err := time.Parse(layout, s)
	if err != nil { // infinity, and years outside 1 to 9999
		return time.Time{}, fmt.Errorf("%q cannot be stored as a time; cast it to text", s)
	}
	return v, nil
}

// ordered is a group that keeps the order of its fields.
type ordered struct {
	parquet.Group
	names []string
}

// Fields returns the fields in the order of the columns.
func (o ordered) Fields() []parquet.Field {
	byName := map[string]parquet.Field{}
	for _, f := range o.Group.Fields() {
		byName[f.Name()] = f
	}
	fields := make([]parquet.Field, len(o.names))
	for i, name := range o.names {
		fields[i] = byName[name]
	}
	return fields
}

// groupRows is how many rows a group of the file has at most; groupBytes is how much text of rows may
// be in memory.
const (
	groupRows  = 50_000
	groupBytes = 32 << 20
)

// file is the Parquet file of a result.
type file struct {
	request Request
	columns []column
	out     *os.File
	writer  *parquet.GenericWriter[any]
	row     parquet.Row
	rows    int64
	pending int // bytes of text since the last group was written
	written int64
}

// Write counts the bytes of the file and rejects more than the request allows.
func (f *file) Write(p []byte) (int, error) {
	if f.written += int64(len(p)); f.written > f.request.MaxBytes {
		return 0, f.request.tooManyBytes()
	}
	return f.out.Write(p)
}

func newFile(r Request, columns []column) (*file, error) {
	group, names := parquet.Group{}, make([]string, len(columns))
	for i, c := range columns {
		group[c.name], names[i] = parquet.Optional(c.node), c.name
	}
	out, err := os.Create(r.Path)
	if err != nil {
		return nil, err
	}
	f := &file{request: r, columns: columns, out: out, row: make(parquet.Row, len(columns))}
	schema := parquet.NewSchema("result", ordered{group, names})
	f.writer = parquet.NewGenericWriter[any](f, schema, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(groupRows))
	return f, nil
}

// add writes one row; nil is null.
func (f *file) add(values [][]byte) error {
	if f.rows++; f.rows > f.request.MaxRows {
		return f.request.tooManyRows()
	}
	for i, raw := range values {
		if raw == nil {
			f.row[i] = parquet.NullValue().Level(0, 0, i)
			continue
		}
		v, err := f.columns[i].read(string(raw))
		if err != nil {
			return fmt.Errorf("column %s, row %d: %w", f.columns[i].name, f.rows, err)
		}
		f.row[i] = v.Level(0, 1, i)
		f.pending += len(raw)
	}
	if _, err := f.writer.WriteRows([]parquet.Row{f.row}); err != nil {
		return err
	}
	if f.pending < groupBytes {
		return nil
	}
	f.pending = 0
	return f.writer.Flush()
}

func (f *file) finish() (Result, error) {
	if err := f.writer.Close(); err != nil {
		return Result{}, err
	}
	return Result{Rows: f.rows, Columns: len(f.columns), Bytes: f.written}, f.out.Close()
}

// close releases the file of a result that was not finished.
func (f *file) close() { _ = f.out.Close() }
