package table

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/handlers/content"
)

// exportPage is how many executions an export reads at once.
const exportPage = 500

// groupRows is how many rows a Parquet export holds in memory.
const groupRows = 50_000

// Formats of exports.
const (
	CSV     = "csv"
	Parquet = "parquet"
)

// DefaultColumns are the columns of tables that name none.
func DefaultColumns() []string {
	return []string{"workflow", "version", "name", "state", "user", "created", "started", "finished", "duration", "gpu_hours", "tags", "note", "error"}
}

// Export writes all executions that q selects, with their IDs, as CSV or Parquet. begin is called
// before the first byte, when the query is known to be valid.
func (s *Service) Export(ctx context.Context, q index.Query, format string, begin func() io.Writer) error {
	if len(q.Columns) == 0 {
		q.Columns = DefaultColumns()
	}
	q.Limit, q.After, q.Counted = exportPage, "", false
	r, err := s.Index.Find(ctx, q)
	if err != nil {
		return err
	}
	var out exporter = &csvExport{csv.NewWriter(begin())}
	if format == Parquet {
		out = newParquetExport(begin(), r.Columns)
	}
	if err := out.head(r.Columns); err != nil {
		return err
	}
	for {
		for _, row := range r.Rows {
			if err := out.row(row, r.Columns); err != nil {
				return fmt.Errorf("export executions: %w", err)
			}
		}
		if q.After = r.Next; q.After == "" {
			return out.end()
		}
		if err := out.flush(); err != nil {
			return fmt.Errorf("export executions: %w", err)
		}
		if r, err = s.Index.Find(ctx, q); err != nil {
			return err
		}
	}
}

// exporter writes one format.
type exporter interface {
	head(columns []index.Column) error
	row(r index.Row, columns []index.Column) error
	flush() error // after a page
	end() error
}

type csvExport struct{ *csv.Writer }

func (e *csvExport) head(columns []index.Column) error {
	names := []string{"execution_id"}
	for _, c := range columns {
		names = append(names, c.Path)
	}
	return e.Write(names)
}

// row writes as many cells as columns: an execution that was removed since has no values.
func (e *csvExport) row(r index.Row, columns []index.Column) error {
	cells := make([]string, 1+len(columns))
	cells[0] = r.ID.String()
	for i, v := range r.Values {
		cells[1+i] = cell(v)
	}
	return e.Write(cells)
}

// cell is a value that no spreadsheet interprets as a formula.
func cell(v any) string {
	if _, number := v.(float64); number {
		return plain(v)
	}
	return content.CSVText(plain(v))
}

func (e *csvExport) flush() error {
	e.Flush()
	return e.Error()
}

func (e *csvExport) end() error { return e.flush() }

// plain is a value as a text.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case []string:
		return strings.Join(v, ", ")
	}
	return fmt.Sprint(v)
}

type parquetExport struct {
	writer *parquet.GenericWriter[any]
	place  map[string]int // of a column in the file, which sorts them
}

func newParquetExport(w io.Writer, columns []index.Column) *parquetExport {
	group := parquet.Group{"execution_id": parquet.String()}
	for _, c := range columns {
		group[c.Path] = parquet.Optional(leaf(c))
	}
	schema := parquet.NewSchema("executions", group)
	e := &parquetExport{parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(groupRows)), map[string]int{}}
	for i, path := range schema.Columns() {
		e.place[strings.Join(path, ".")] = i
	}
	return e
}

// leaf is the type of a column in the file: names with numbers and texts are texts.
func leaf(c index.Column) parquet.Node {
	switch {
	case c.Mixed():
		return parquet.String()
	case c.Type == "number" || c.Type == "duration":
		return parquet.Leaf(parquet.DoubleType)
	case c.Type == "time":
		return parquet.Timestamp(parquet.Microsecond)
	}
	return parquet.String()
}

func (e *parquetExport) head([]index.Column) error { return nil }

func (e *parquetExport) row(r index.Row, columns []index.Column) error {
	row := make(parquet.Row, len(e.place))
	set := func(name string, v parquet.Value, definition int) {
		i := e.place[name]
		row[i] = v.Level(0, definition, i)
	}
	set("execution_id", parquet.ValueOf(r.ID.String()), 0)
	for i, c := range columns {
		var v any
		if i < len(r.Values) {
			v = r.Values[i]
		}
		switch v := v.(type) {
		case nil:
			set(c.Path, parquet.NullValue(), 0)
		case float64:
			if c.Mixed() {
				set(c.Path, parquet.ValueOf(plain(v)), 1)
			} else {
				set(c.Path, parquet.DoubleValue(v), 1)
			}
		case time.Time:
			set(c.Path, parquet.Int64Value(v.UnixMicro()), 1)
		default:
			set(c.Path, parquet.ValueOf(plain(v)), 1)
		}
	}
	_, err := e.writer.WriteRows([]parquet.Row{row})
	return err
}

// flush does nothing: groups of rows are written when they are complete.
func (e *parquetExport) flush() error { return nil }

func (e *parquetExport) end() error { return e.writer.Close() }
