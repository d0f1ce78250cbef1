package index

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/search"
)

// maxGroups is the number of groups that Groups returns, those with the most executions.
const maxGroups = 50

// Group are the executions of a query that have one value in common.
type Group struct {
	Value any // nil: they have none
	Count int
	Stats []*Stats // in the order of the query's columns; nil for columns without numbers
}

// Stats sum up the numbers of a column.
type Stats struct {
	Count                  int
	Least, Most, Mean, Sum float64
	Median                 float64
}

// Grouped are the executions of a query in groups.
type Grouped struct {
	Result // without rows; the total is always known
	By     Column
	Groups []Group // the largest, at most maxGroups
	All    int     // number of all groups
}

// Groups returns the groups of a query by the value of a column, the largest first. If only the column
// is wrong, the result has the columns of the query.
func (s *Service) Groups(ctx context.Context, q Query, by string) (Grouped, error) {
	a, conn, err := s.resolve(ctx, q)
	if err != nil {
		return Grouped{}, err
	}
	grouped := Grouped{Result: a.result()}
	c, err := a.groupColumn(by)
	if err != nil {
		return grouped, err
	}
	grouped.By = c
	work, ctx := errgroup.WithContext(bounded(ctx))
	work.Go(func() error { return a.groups(ctx, conn, &grouped) })
	if c.Type == tagsType { // an execution can be in several groups
		work.Go(func() (err error) {
			grouped.Total, err = a.count(ctx, conn)
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return Grouped{}, failure(err)
	}
	return grouped, nil
}

// groups reads the groups, their number and, unless an execution can be in several groups, the number
// of executions.
func (a resolvedQuery) groups(ctx context.Context, conn driver.Conn, into *Grouped) error {
	numbers, texts := a.sql(into.By)
	if into.By.Type == tagsType { // an execution is in the group of each of its tags
		texts = "nullIf(arrayJoin(if(empty(tags), [''], tags)), '')"
	}
	expressions := []string{
		"count() AS size", "count() OVER () AS groups", "sum(count()) OVER () AS executions",
		"any(" + orNull(numbers, "Float64") + ")", "any(" + orNull(texts, "String") + ")",
	}
	for _, column := range a.columns {
		expressions = append(expressions, a.stats(column)...)
	}
	from, args := a.from()
	keys := make([]string, 0, 2)
	for _, k := range []string{numbers, texts} {
		if k != "" {
			keys = append(keys, k)
		}
	}
	rows, err := conn.Query(ctx, fmt.Sprintf("SELECT %s%s GROUP BY %s ORDER BY size DESC, %s LIMIT %d%s",
		strings.Join(expressions, ", "), from, strings.Join(append(keys, "1 = 1"), ", "), strings.Join(append(keys, "size"), ", "), maxGroups, settings), args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := a.group(rows, into); err != nil {
			return err
		}
	}
	return rows.Err()
}

const tagsType = "tags"

// groupColumn returns the column that groups executions.
func (p project) groupColumn(name string) (Column, error) {
	c, err := p.column(name, "group")
	if err == nil && (c.Type == "time" || c.Path == "id") {
		message := "Executions cannot be grouped by " + c.Path + ": each has its own."
		err = apperr.InvalidFields(message, []apperr.Field{{Path: "group", Message: message}})
	}
	return c, err
}

// Of is the condition of the executions in a group.
func (g Group) Of(by Column) search.Expr {
	compare := search.Compare{Field: by.field, Op: search.Equal}
	switch v := g.Value.(type) {
	case float64:
		kind := search.Number
		if by.field.Is(search.Span) {
			kind = search.Span
		}
		compare.Values = []search.Value{{Type: kind, Number: v}}
	case string:
		compare.Values = []search.Value{{Type: search.String, Text: v}}
	default:
		return search.Not{Of: search.Compare{Field: by.field, Op: search.Has}}
	}
	return compare
}

// Where is Of as a query writes it.
func (g Group) Where(by Column) string {
	switch v := g.Value.(type) {
	case float64:
		format, unit := byte('g'), ""
		if by.field.Is(search.Span) {
			format, unit = 'f', "s" // durations have no exponents
		}
		return by.field.Quoted() + " = " + strconv.FormatFloat(v, format, -1, 64) + unit
	case string:
		if by.Path == "state" {
			v = strings.ToLower(v)
		}
		return by.field.Quoted() + " = " + search.QuoteText(v)
	}
	return "not has:" + by.field.Quoted()
}

// Key names a group in an address.
func (g Group) Key() string {
	switch v := g.Value.(type) {
	case float64:
		return "n" + strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return "t" + v
	}
	return "-"
}

// stats are the expressions of a column's Stats.
func (a resolvedQuery) stats(c Column) []string {
	numbers, _ := a.sql(c)
	if !c.Numeric() {
		numbers = ""
	}
	x := orNull(numbers, "Float64")
	list := make([]string, 0, 6)
	for _, function := range []string{"min", "max", "avg", "sum", "median"} {
		list = append(list, "toFloat64(ifNull("+function+"("+x+"), 0))")
	}
	return append(list, "count("+x+")")
}

// group reads a row of groups.
func (a resolvedQuery) group(rows driver.Rows, into *Grouped) error {
	var (
		size, groups, executions uint64
		number                   *float64
		text                     *string
	)
	stats, counts := make([]Stats, len(a.columns)), make([]uint64, len(a.columns))
	fields := []any{&size, &groups, &executions, &number, &text}
	for i := range stats {
		fields = append(fields, &stats[i].Least, &stats[i].Most, &stats[i].Mean, &stats[i].Sum, &stats[i].Median, &counts[i])
	}
	if err := rows.Scan(fields...); err != nil {
		return err
	}
	value := into.By.value(number, text)
	if into.By.Type == tagsType {
		if text != nil {
			value = *text
		}
	} else {
		into.Total = int(executions)
	}
	g := Group{Value: value, Count: int(size), Stats: make([]*Stats, len(stats))}
	for i := range stats {
		if counts[i] > 0 {
			stats[i].Count = int(counts[i]) //nolint:gosec // a number of rows
			g.Stats[i] = &stats[i]
		}
	}
	into.Groups, into.All = append(into.Groups, g), int(groups)
	return nil
}

// Count is a value with the number of executions that have it.
type Count struct {
	Value string
	N     int
}

// counts returns the most frequent values of an expression that contain a text.
func (a resolvedQuery) counts(ctx context.Context, conn driver.Conn, expression, containing string, limit int) ([]Count, error) {
	from, args := a.from()
	having := ""
	if containing != "" {
		having, args = " HAVING positionCaseInsensitiveUTF8(value, ?) > 0", append(args, containing)
	}
	rows, err := conn.Query(bounded(ctx), fmt.Sprintf("SELECT ifNull(%s, '') AS value, count() AS n%s GROUP BY value%s ORDER BY n DESC, value LIMIT %d%s", expression, from, having, limit, settings), args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []Count
	for rows.Next() {
		var (
			c Count
			n uint64
		)
		if err := rows.Scan(&c.Value, &n); err != nil {
			return nil, err
		}
		c.N = int(n)
		if c.Value != "" {
			list = append(list, c)
		}
	}
	return list, rows.Err()
}

// Values returns the most frequent texts of a field that contain a text, for completion.
func (s *Service) Values(ctx context.Context, f search.Field, containing string, limit int) ([]Count, error) {
	a, conn, err := s.resolve(ctx, Query{})
	if err != nil {
		return nil, err
	}
	list, err := a.values(ctx, conn, f, containing, limit)
	if err != nil {
		return nil, failure(err)
	}
	return list, nil
}
