package index

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/search"
)

const (
	defaultPage = 50
	maxPage     = 500
	maxColumns  = 100
)

// Query selects executions of the caller's project. Zero fields select all, newest first.
type Query struct {
	Where   string
	And     search.And // further conditions
	Sort    string     // a name; with "-" before it, the greatest first
	Columns []string   // names whose values Rows have, with their layout (ParseColumn)
	After   string     // a Result's Next
	Limit   int        // 0: 50
	Counted bool       // requests Result.Total
	Lenient bool       // leaves out columns and an order that cannot be resolved: Result.Missing
}

// Result is one page of executions.
type Result struct {
	Columns []Column
	Missing []Missing // with Query.Lenient
	Sort    string    // Query.Sort with the full name
	Rows    []Row
	Next    string // "" on the last page
	// LogsFrom is the earliest launch that a query of logs looks at; zero without a condition on logs.
	LogsFrom time.Time
	Behind   int // executions whose latest values the index does not have yet
	Total    int // of all pages, with Query.Counted
}

// Row is an execution with its values in the order of the columns.
type Row struct {
	ID     uuid.UUID
	Values []any // nil, float64, string, time.Time or []string

	at      time.Time
	sortedN *float64
	sortedT *string
}

// resolvedQuery is a Query whose names are resolved.
type resolvedQuery struct {
	project
	projectID string
	where     search.Expr
	columns   []Column
	sort      *Column
	desc      bool
	missing   []Missing
	behind    int
	logsFrom  time.Time // of a query of logs: the earliest launch that it looks at
}

// catchUp brings the index of a project up to date and returns how many executions it is behind.
// It answers even if no change can be moved: the index itself may be readable.
func (s *Service) catchUp(ctx context.Context, conn driver.Conn, project uuid.UUID) (behind int, err error) {
	taken, failed := s.follow(ctx, project)
	if err := ctx.Err(); err != nil {
		return 0, err //nolint:wrapcheck // the context ended
	}
	if failed != nil {
		if conn.Ping(ctx) != nil {
			return 0, unavailable(failed)
		}
		s.cfg.Log.Warn("the index of executions is behind", "error", failed)
	}
	i, err := s.queries.SearchIndex(ctx)
	if failed == nil && err == nil && taken < batchChanges && i.NextID == nil {
		return 0, nil
	}
	n, err := s.queries.CountChanges(ctx, project)
	if err != nil {
		return 0, fmt.Errorf("count the changes of executions: %w", err)
	}
	return int(n), nil
}

// resolve resolves the names of a query and brings the index up to date.
func (s *Service) resolve(ctx context.Context, q Query) (resolvedQuery, driver.Conn, error) {
	subject, err := reader(ctx)
	if err != nil {
		return resolvedQuery{}, nil, err
	}
	conn, err := ready(s.cfg.Conn)
	if err != nil {
		return resolvedQuery{}, nil, unavailable(err)
	}
	behind, err := s.catchUp(ctx, conn, subject.ProjectID)
	if err != nil {
		return resolvedQuery{}, nil, err
	}
	var a resolvedQuery
	err = s.withNames(ctx, func(p project) error {
		a = resolvedQuery{project: p, projectID: p.id.String(), behind: behind}
		return a.resolve(q)
	})
	if q.Lenient && apperr.Is(err, apperr.Invalid) {
		missing := a.project.missing(q)
		a = resolvedQuery{project: a.project, projectID: a.projectID, behind: behind, missing: missing}
		err = a.resolve(q.Without(missing))
	}
	return a, conn, err
}

// resolve reads the condition and finds the names of a query.
func (a *resolvedQuery) resolve(q Query) error {
	where, err := a.parse(q.Where)
	if err != nil {
		return err
	}
	a.where = append(search.And{where}, q.And...)
	if search.UsesLogs(a.where) {
		a.boundLogs()
	}
	if len(q.Columns) > maxColumns {
		message := fmt.Sprintf("A table can have at most %d columns.", maxColumns)
		return apperr.InvalidFields(message, []apperr.Field{{Path: "columns", Message: message}})
	}
	for _, entry := range q.Columns {
		name, layout, err := ParseColumn(entry)
		if err != nil {
			return err
		}
		if layout.Chart {
			continue // pages draw it
		}
		c, err := a.project.column(name, "columns")
		if err != nil {
			return err
		}
		c.Layout = layout
		a.columns = append(a.columns, c)
	}
	if err := arrange(a.columns); err != nil {
		return err
	}
	name, desc := strings.CutPrefix(q.Sort, "-")
	if a.desc = desc; name != "" {
		c, err := a.project.column(name, "sort")
		if err != nil {
			return err
		}
		a.sort = &c
	}
	return nil
}

// from is the table and the condition of a query with its arguments.
func (a resolvedQuery) from() (string, []any) {
	c := compiler{columns: a.project.columns, projectID: a.projectID, logsFrom: a.logsFrom}
	condition := c.where(a.where)
	if !search.Selects(a.where, "purpose", "workflow", "name", "id") {
		condition = "purpose != 'OPTIONS' AND " + condition
	}
	return " FROM execution_values FINAL WHERE project_id = toUUID('" + a.projectID + "') AND " + condition, c.args
}

const settings = " SETTINGS do_not_merge_across_partitions_select_final = 1"

// Find returns the executions that q selects. It returns Invalid for a query that cannot be read
// (Problem finds the place), and Unavailable while ClickHouse does not respond.
func (s *Service) Find(ctx context.Context, q Query) (Result, error) {
	a, conn, err := s.resolve(ctx, q)
	if err != nil {
		return Result{}, err
	}
	limit := min(q.Limit, maxPage)
	if limit == 0 {
		limit = defaultPage
	}
	result := a.result()
	work, ctx := errgroup.WithContext(bounded(ctx))
	withTotal := q.Counted && q.After == "" && !a.logsFrom.IsZero()
	if q.Counted && !withTotal {
		work.Go(func() (err error) {
			result.Total, err = a.count(ctx, conn)
			return err
		})
	}
	work.Go(func() error {
		rows, total, err := a.page(ctx, conn, q.After, limit+1, withTotal)
		if err != nil {
			return err
		}
		if result.Rows = rows; withTotal {
			result.Total = total
		}
		if len(result.Rows) > limit {
			result.Rows = result.Rows[:limit]
			result.Next = a.cursor(result.Rows[limit-1])
		}
		return a.fill(ctx, conn, result.Rows)
	})
	if err := work.Wait(); err != nil {
		return Result{}, failure(err)
	}
	return result, nil
}

// result is a Result without rows.
func (a resolvedQuery) result() Result {
	return Result{Columns: a.columns, Missing: a.missing, Sort: a.order(), Behind: a.behind, LogsFrom: a.logsFrom}
}

// count returns the number of executions.
func (a resolvedQuery) count(ctx context.Context, conn driver.Conn) (int, error) {
	from, args := a.from()
	var n uint64
	err := conn.QueryRow(ctx, "SELECT count()"+from+settings, args...).Scan(&n)
	return int(n), err
}

// mark is the place of a row in the order of a query.
type mark struct {
	Sort   string    `json:"s,omitempty"`
	Number *float64  `json:"n,omitempty"`
	Text   *string   `json:"t,omitempty"`
	At     int64     `json:"a"` // microseconds
	ID     uuid.UUID `json:"i"`
}

// order is the order of a query with the full name of its column.
func (a resolvedQuery) order() string {
	switch {
	case a.sort == nil:
		return ""
	case a.desc:
		return "-" + a.sort.Path
	}
	return a.sort.Path
}

func (a resolvedQuery) cursor(r Row) string {
	raw, _ := json.Marshal(mark{a.order(), r.sortedN, r.sortedT, r.at.UnixMicro(), r.ID}) //nolint:errchkjson // numbers of the index are finite
	return base64.RawURLEncoding.EncodeToString(raw)
}

// page returns the IDs of a page in order. The first page can also have the number of all rows, which
// is faster than a statement of its own if the condition is expensive.
func (a resolvedQuery) page(ctx context.Context, conn driver.Conn, after string, limit int, counted bool) (list []Row, total int, err error) {
	from, args := a.from()
	numbers, texts := "", ""
	if a.sort != nil {
		numbers, texts = a.sql(*a.sort)
	}
	if texts != "" { // the page mark contains the text
		texts = fmt.Sprintf("substringUTF8(%s, 1, %d)", texts, maxText)
	}
	direction := " ASC"
	if a.desc || a.sort == nil {
		direction = " DESC"
	}
	var order []string
	key := orderKey{numbers: numbers, texts: texts, desc: a.desc}
	for _, column := range []string{numbers, texts} {
		if column != "" {
			order = append(order, column+direction+" NULLS LAST")
		}
	}
	if after != "" {
		raw, err := base64.RawURLEncoding.DecodeString(after)
		var m mark
		if err != nil || json.Unmarshal(raw, &m) != nil || m.Sort != a.order() {
			return nil, 0, apperr.InvalidFields("The page token is not valid.", []apperr.Field{{Path: "page", Message: "Use the token from the previous page, with the same order."}})
		}
		condition, more := key.after(m)
		from, args = from+" AND "+condition, append(args, more...)
	}
	order = append(order, "created_at DESC", "execution_id DESC")
	count := "toUInt64(0)"
	if counted {
		count = "count() OVER ()"
	}
	query := fmt.Sprintf("SELECT execution_id, created_at, %s, %s, %s%s ORDER BY %s LIMIT %d%s",
		orNull(numbers, "Float64"), orNull(texts, "String"), count, from, strings.Join(order, ", "), limit, settings)
	rows, err := conn.Query(ctx, query, args...)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var (
			r Row
			n uint64
		)
		if err := rows.Scan(&r.ID, &r.at, &r.sortedN, &r.sortedT, &n); err != nil {
			return nil, 0, err
		}
		list, total = append(list, r), int(n)
	}
	return list, total, rows.Err()
}

// orNull is an expression as a type that can be absent.
func orNull(expression, kind string) string {
	if expression == "" {
		return "CAST(NULL AS Nullable(" + kind + "))"
	}
	return "CAST(" + expression + " AS Nullable(" + kind + "))"
}

// orderKey is the order of a page: numbers, then texts, both with absent values last, then the
// newest.
type orderKey struct {
	numbers, texts string
	desc           bool
}

// after returns the condition of the rows behind m.
func (k orderKey) after(m mark) (string, []any) {
	tail := fmt.Sprintf("(created_at, execution_id) < (fromUnixTimestamp64Micro(%d, 'UTC'), toUUID('%s'))", m.At, m.ID)
	var args []any
	beyond := ">"
	if k.desc {
		beyond = "<"
	}
	wrap := func(column, literal string, absent bool, arg ...any) {
		if column == "" {
			return
		}
		if absent {
			tail = "(isNull(" + column + ") AND " + tail + ")"
			return
		}
		tail = fmt.Sprintf("(isNull(%[1]s) OR ifNull(%[1]s %[2]s %[3]s, 0) OR (ifNull(%[1]s = %[3]s, 0) AND %[4]s))", column, beyond, literal, tail)
		args = slices.Concat(arg, arg, args)
	}
	if m.Text != nil {
		wrap(k.texts, "?", false, *m.Text)
	} else {
		wrap(k.texts, "", true)
	}
	if m.Number != nil {
		wrap(k.numbers, number(*m.Number), false)
	} else {
		wrap(k.numbers, "", true)
	}
	return tail, args
}
