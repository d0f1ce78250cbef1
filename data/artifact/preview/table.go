package preview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Type is the type of a column, named as in the type registry.
type Type string

// The types of columns. A list is shown as text.
const (
	Integer  Type = "Integer"
	Float    Type = "Float"
	Boolean  Type = "Boolean"
	String   Type = "String"
	Date     Type = "Date"
	Datetime Type = "Datetime"
	Time     Type = "Time"
	Binary   Type = "Binary"
	List     Type = "List"
)

// Numeric reports whether values of t are numbers.
func (t Type) Numeric() bool { return t == Integer || t == Float }

// Column is a column of a table.
type Column struct {
	Name string
	Type Type
}

// Position is the place of a row: its number, and in a CSV file also the byte where it begins.
type Position struct{ Row, Byte int64 }

// String is the position in an address.
func (p Position) String() string {
	if p.Byte > 0 {
		return fmt.Sprintf("%d.%d", p.Row, p.Byte)
	}
	return strconv.FormatInt(p.Row, 10)
}

// ParsePosition reads what String returned; "" is the first row.
func ParsePosition(text string) (Position, error) {
	if text == "" {
		return Position{}, nil
	}
	row, at, _ := strings.Cut(text, ".")
	var p Position
	var err error
	if p.Row, err = strconv.ParseInt(row, 10, 64); err == nil && at != "" {
		p.Byte, err = strconv.ParseInt(at, 10, 64)
	}
	if err != nil || p.Row < 0 || p.Byte < 0 {
		return Position{}, bad("%q is not a page of this table. Use next_page from the previous response.", text)
	}
	return p, nil
}

// Query selects what is shown of a table.
type Query struct {
	From       Position // with Sort, only the row counts: the rank
	Limit      int      // rows
	FromColumn int      // the first column shown
	Columns    int      // maximum number of columns shown
	Sort       string   // name of a column, with a leading "-" for descending; "" keeps the order of the file
	Filters    []Filter // all must match
	Statistics bool
}

// Bounds of one reading.
const (
	MaxRows    = 500
	MaxColumns = 100

	maxTableColumns = 10_000
	scanRows        = 1_000_000
	scanBytes       = 256 << 20
	scanTime        = 3 * time.Second
	maxRank         = 20_000
)

// Table is a part of a table. Values are nil, bool, int64, float64, string or time.Time.
type Table struct {
	Columns    []Column // all
	Shown      []int    // indexes of the columns of Rows
	Rows       [][]any
	At         []Position // of Rows
	Total      int64      // rows of the file; -1: unknown without reading the file
	Next       *Position  // where the next page begins; nil at the end
	Scanned    int64      // rows that the filter or the order looked at
	Complete   bool       // the filter or the order looked at all rows
	Statistics *Statistics
}

// source is a file with rows.
type source interface {
	columns() []Column
	total() int64
	// scan visits rows from a position, with the values of cols, until visit returns false, the
	// budget is spent or the rows end. It returns the position after the last visited row, and
	// whether the rows have ended.
	scan(b *budget, from Position, cols []int, visit func(Position, []any) bool) (Position, bool, error)
}

// Read reads a part of a table. format is "parquet", "csv" or "tsv".
func Read(ctx context.Context, f File, format string, q Query) (t Table, err error) {
	defer recovered(&err, "table")
	s, err := open(f, format)
	if err != nil {
		return Table{}, err
	}
	return read(ctx, s, q)
}

// open opens a file of rows.
func open(f File, format string) (source, error) {
	switch format {
	case "parquet":
		return openParquet(f)
	case "tsv":
		return openCSV(f, '\t')
	default:
		return openCSV(f, ',')
	}
}

func read(ctx context.Context, s source, q Query) (Table, error) {
	t := Table{Columns: s.columns(), Total: s.total(), Complete: true}
	if len(t.Columns) > maxTableColumns {
		return t, bad("The table has %d columns; a preview shows tables of up to %d columns.", len(t.Columns), maxTableColumns)
	}
	q.Limit, q.Columns = min(max(q.Limit, 1), MaxRows), min(max(q.Columns, 1), MaxColumns)
	first := min(max(q.FromColumn, 0), max(len(t.Columns)-1, 0))
	for i := first; i < min(first+q.Columns, len(t.Columns)); i++ {
		t.Shown = append(t.Shown, i)
	}
	plan, err := planOf(t.Columns, q)
	if err != nil {
		return t, err
	}
	switch {
	case plan.sort >= 0:
		err = sorted(ctx, s, q, plan, &t)
	case len(plan.filters) > 0:
		err = filtered(ctx, s, q, plan, &t)
	default:
		err = plain(ctx, s, q, &t)
	}
	if err != nil || !q.Statistics {
		return t, err
	}
	t.Statistics, err = statisticsOf(ctx, s, t.Shown)
	return t, err
}

// plan is a query with the indexes of columns.
type plan struct {
	filters []columnFilter
	sort    int // index in read; -1: none
	desc    bool
	read    []int // columns that the filters and the order need
}

func planOf(columns []Column, q Query) (plan, error) {
	p := plan{sort: -1}
	need := func(name string) (int, error) {
		i := slices.IndexFunc(columns, func(c Column) bool { return c.Name == name })
		if i < 0 {
			return 0, bad("The table has no column %q.", name)
		}
		if at := slices.Index(p.read, i); at >= 0 {
			return at, nil
		}
		p.read = append(p.read, i)
		return len(p.read) - 1, nil
	}
	for _, f := range q.Filters {
		at, err := need(f.Column)
		if err != nil {
			return p, err
		}
		compiled, err := f.compile(at, columns[p.read[at]].Type)
		if err != nil {
			return p, err
		}
		p.filters = append(p.filters, compiled)
	}
	if q.Sort != "" {
		name, desc := strings.CutPrefix(q.Sort, "-")
		at, err := need(name)
		if err != nil {
			return p, err
		}
		p.sort, p.desc = at, desc
	}
	return p, nil
}

func (p plan) match(row []any) bool {
	for _, f := range p.filters {
		if !f.match(row[f.at]) {
			return false
		}
	}
	return true
}

func scanBudget(ctx context.Context) *budget {
	return &budget{ctx: ctx, rows: scanRows, bytes: scanBytes, until: time.Now().Add(scanTime)}
}

// plain reads rows in the order of the file.
func plain(ctx context.Context, s source, q Query, t *Table) error {
	b := scanBudget(ctx)
	next, ended, err := s.scan(b, q.From, t.Shown, func(at Position, row []any) bool {
		t.At, t.Rows = append(t.At, at), append(t.Rows, slices.Clone(row))
		return len(t.Rows) < q.Limit
	})
	if !ended {
		t.Next = &next
	}
	return err
}

// filtered reads rows that match, from a position on. A page that the bounds cut short continues
// where the reading stopped, so that all matches can be reached.
func filtered(ctx context.Context, s source, q Query, p plan, t *Table) error {
	next, ended, err := s.scan(scanBudget(ctx), q.From, p.read, func(at Position, row []any) bool {
		t.Scanned++
		if p.match(row) {
			t.At = append(t.At, at)
		}
		return len(t.At) < q.Limit
	})
	if err != nil {
		return err
	}
	if t.Complete = ended; !ended {
		t.Next = &next
	}
	return fetch(ctx, s, t)
}

// ranked is a row with the value that orders it.
type ranked struct {
	at  Position
	key any
}

// sorted orders the rows that fit the bounds and keeps those up to the end of the page.
func sorted(ctx context.Context, s source, q Query, p plan, t *Table) error {
	keep := int(q.From.Row) + q.Limit + 1
	if q.From.Row > maxRank {
		return bad("A sorted table shows only its first %d rows. Use a filter to see other rows.", maxRank)
	}
	var best []ranked
	order := func(a, b ranked) int {
		c := compareValues(a.key, b.key, p.desc)
		return cmp.Or(c, cmp.Compare(a.at.Row, b.at.Row))
	}
	cut := func() {
		slices.SortFunc(best, order)
		best = best[:min(keep, len(best))]
	}
	_, ended, err := s.scan(scanBudget(ctx), Position{}, p.read, func(at Position, row []any) bool {
		t.Scanned++
		if p.match(row) {
			best = append(best, ranked{at, sortKey(row[p.sort])})
			if len(best) >= 4*keep+1024 {
				cut()
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	cut()
	t.Complete = ended
	from, to := min(int(q.From.Row), len(best)), min(int(q.From.Row)+q.Limit, len(best))
	if to < len(best) {
		t.Next = &Position{Row: int64(to)}
	}
	for _, r := range best[from:to] {
		t.At = append(t.At, r.at)
	}
	return fetch(ctx, s, t)
}

// sortKeyBytes is how much of a text orders it.
const sortKeyBytes = 256

func sortKey(v any) any {
	if text, ok := v.(string); ok && len(text) > sortKeyBytes {
		return strings.Clone(text[:sortKeyBytes])
	}
	return v
}

// fetch reads the shown values of the rows at t.At, in the order of the file.
func fetch(ctx context.Context, s source, t *Table) error {
	t.Rows = make([][]any, len(t.At))
	order := make([]int, len(t.At))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(t.At[a].Row, t.At[b].Row) })
	b := scanBudget(ctx)
	b.bytes *= 4 // of one row of many pages
	if p, ok := s.(*parquetFile); ok {
		return p.fetch(b, t, order)
	}
	for _, i := range order {
		_, _, err := s.scan(b, t.At[i], t.Shown, func(_ Position, row []any) bool {
			t.Rows[i] = slices.Clone(row)
			return false
		})
		if err != nil {
			return err
		}
		if t.Rows[i] == nil {
			return errTooSlow
		}
	}
	return nil
}

var errTooSlow = bad("These rows could not be read within %s.", scanTime)
