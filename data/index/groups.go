package index

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

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

// Groups returns the groups of a query by the value of a column, the largest first, and the number
// of all groups.
func (s *Service) Groups(ctx context.Context, q Query, by string) (columns []Column, groups []Group, total int, err error) {
	a, conn, err := s.resolve(ctx, q)
	if err != nil {
		return nil, nil, 0, err
	}
	c, err := s.GroupBy(ctx, by)
	if err != nil {
		return nil, nil, 0, err
	}
	numbers, texts := a.sql(c)
	if c.Type == tagsType { // an execution is in the group of each of its tags
		texts = "nullIf(arrayJoin(if(empty(tags), [''], tags)), '')"
	}
	expressions := []string{"count() AS size", "count() OVER () AS groups", "any(" + orNull(numbers, "Float64") + ")", "any(" + orNull(texts, "String") + ")"}
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
	rows, err := conn.Query(bounded(ctx), fmt.Sprintf("SELECT %s%s GROUP BY %s ORDER BY size DESC, %s LIMIT %d%s",
		strings.Join(expressions, ", "), from, strings.Join(append(keys, "1 = 1"), ", "), strings.Join(append(keys, "size"), ", "), maxGroups, settings), args...)
	if err != nil {
		return nil, nil, 0, failure(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		g, n, err := a.group(rows, c)
		if err != nil {
			return nil, nil, 0, failure(err)
		}
		groups, total = append(groups, g), n
	}
	if err := rows.Err(); err != nil {
		return nil, nil, 0, failure(err)
	}
	return a.columns, groups, total, nil
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

// GroupBy returns the column of a group parameter.
func (s *Service) GroupBy(ctx context.Context, name string) (Column, error) {
	var c Column
	err := s.withNames(ctx, func(p project) (err error) {
		c, err = p.groupColumn(name)
		return err
	})
	return c, err
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

func (a resolvedQuery) group(rows driver.Rows, by Column) (Group, int, error) {
	var (
		size, groups uint64
		number       *float64
		text         *string
	)
	stats, counts := make([]Stats, len(a.columns)), make([]uint64, len(a.columns))
	into := []any{&size, &groups, &number, &text}
	for i := range stats {
		into = append(into, &stats[i].Least, &stats[i].Most, &stats[i].Mean, &stats[i].Sum, &stats[i].Median, &counts[i])
	}
	if err := rows.Scan(into...); err != nil {
		return Group{}, 0, err
	}
	value := by.value(number, text)
	if by.Type == tagsType && text != nil {
		value = *text
	}
	g := Group{Value: value, Count: int(size), Stats: make([]*Stats, len(stats))}
	for i := range stats {
		if counts[i] > 0 {
			stats[i].Count = int(counts[i]) //nolint:gosec // a number of rows
			g.Stats[i] = &stats[i]
		}
	}
	return g, int(groups), nil
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
