package index

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"github.com/flowforge/flowforge/engine/search"
)

const (
	facetValues  = 8  // that a facet has
	facetBuckets = 24 // of a histogram
	// MaxFacetColumns is the number of columns that have a facet, so that a request has bounded costs.
	MaxFacetColumns = 8
	// decades is the ratio of the greatest to the least value from which a histogram is logarithmic.
	decades = 1000
)

// Facets count the values of the executions of a query, the most frequent first.
type Facets struct {
	States, Workflows, People, Tags []Count
	Columns                         []ColumnFacet // of the first columns of the query that have values
	More                            int           // columns without a facet because there are too many
}

// ColumnFacet has the distribution of the numbers of a column, and its most frequent texts.
type ColumnFacet struct {
	Column      Column
	Where       string // the column in a query
	Least, Most float64
	Logarithmic bool  // the intervals have equal widths in the logarithm
	Buckets     []int // executions in each of the equal intervals from Least to Most; nil without numbers
	Texts       []Count
}

// Facets returns the facets of a query.
func (s *Service) Facets(ctx context.Context, q Query) (Facets, error) {
	a, conn, err := s.resolve(ctx, q)
	if err != nil {
		return Facets{}, err
	}
	var f Facets
	list := a.facetColumns(&f)
	work, ctx := errgroup.WithContext(bounded(ctx))
	work.Go(func() (err error) {
		f.Tags, err = a.counts(ctx, conn, "toString(arrayJoin(tags))", "", facetValues)
		return err
	})
	work.Go(func() error { return a.texts(ctx, conn, &f, list) })
	work.Go(func() error { return a.histograms(ctx, conn, list) })
	if err := work.Wait(); err != nil {
		return Facets{}, failure(err)
	}
	for _, one := range list {
		if one.Buckets != nil || len(one.Texts) > 0 {
			f.Columns = append(f.Columns, one)
		}
	}
	return f, nil
}

// facetColumns are the columns of a query that have a facet of their own.
func (a resolvedQuery) facetColumns(f *Facets) []ColumnFacet {
	var list []ColumnFacet
	for _, c := range a.columns {
		if c.Part == search.Facts && !c.Numeric() {
			continue
		}
		if len(list) == MaxFacetColumns {
			f.More++
			continue
		}
		list = append(list, ColumnFacet{Column: c, Where: c.field.Quoted()})
	}
	return list
}

// texts counts states, workflows, people and the texts of columns in one pass.
func (a resolvedQuery) texts(ctx context.Context, conn driver.Conn, f *Facets, list []ColumnFacet) error {
	expressions, into := []string{"toString(status)", "toString(workflow)", "toString(submitted_by)"}, []*[]Count{&f.States, &f.Workflows, &f.People}
	for i := range list {
		if _, texts := a.sql(list[i].Column); texts != "" {
			expressions, into = append(expressions, "ifNull("+texts+", '')"), append(into, &list[i].Texts)
		}
	}
	from, args := a.from()
	rows, err := conn.Query(ctx, fmt.Sprintf("%s HAVING value != '' ORDER BY facet, n DESC, value LIMIT %d BY facet%s", countEach(expressions, from), facetValues, settings), args...)
	if err != nil {
		return fmt.Errorf("count the values of facets: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var (
			facet uint32
			c     Count
			n     uint64
		)
		if err := rows.Scan(&facet, &c.Value, &n); err != nil {
			return fmt.Errorf("count the values of facets: %w", err)
		}
		c.N = int(n)
		*into[facet] = append(*into[facet], c)
	}
	return rows.Err()
}

// countEach counts the values of expressions in one pass. Its rows are the number of an expression
// (facet), a value and the count (n).
func countEach(expressions []string, from string) string {
	keys, columns, sets, others := make([]string, len(expressions)), make([]string, len(expressions)), make([]string, len(expressions)), make([]string, len(expressions))
	for i, expression := range expressions {
		keys[i] = fmt.Sprintf("k%d", i)
		columns[i], sets[i], others[i] = expression+" AS "+keys[i], "("+keys[i]+")", "grouping("+keys[i]+")"
	}
	return fmt.Sprintf("SELECT toUInt32(indexOf([%s], 0) - 1) AS facet, [%s][facet + 1] AS value, count() AS n FROM (SELECT %s%s) GROUP BY GROUPING SETS (%s)",
		strings.Join(others, ", "), strings.Join(keys, ", "), strings.Join(columns, ", "), from, strings.Join(sets, ", "))
}

// histograms counts the numbers of columns in equal intervals from their least to their greatest,
// with one pass for the ranges and one for the counts.
func (a resolvedQuery) histograms(ctx context.Context, conn driver.Conn, list []ColumnFacet) error {
	facets, numbers, err := a.ranges(ctx, conn, list)
	if err != nil || len(facets) == 0 {
		return err
	}
	const none = math.MaxUint8 // the bucket of executions without a number
	buckets := make([]string, len(facets))
	for i, f := range facets {
		buckets[i] = fmt.Sprintf("if(isNull(%s), %d, toUInt8(assumeNotNull(%s)))", numbers[i], none, f.bucket(numbers[i]))
		f.Buckets = make([]int, facetBuckets)
	}
	from, args := a.from()
	rows, err := conn.Query(ctx, fmt.Sprintf("%s HAVING value < %d%s", countEach(buckets, from), facetBuckets, settings), args...)
	if err != nil {
		return fmt.Errorf("distributions of columns: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var (
			facet  uint32
			bucket uint8
			n      uint64
		)
		if err := rows.Scan(&facet, &bucket, &n); err != nil {
			return fmt.Errorf("distributions of columns: %w", err)
		}
		facets[facet].Buckets[bucket] = int(n)
	}
	return rows.Err()
}

// ranges reads the least and the greatest number of columns. It returns the columns that have
// numbers, with their expressions.
func (a resolvedQuery) ranges(ctx context.Context, conn driver.Conn, list []ColumnFacet) (facets []*ColumnFacet, numbers []string, err error) {
	var expressions []string
	for i := range list {
		if column, _ := a.sql(list[i].Column); column != "" {
			facets, numbers = append(facets, &list[i]), append(numbers, column)
			expressions = append(expressions, "min("+orNull(column, "Float64")+")", "max("+orNull(column, "Float64")+")")
		}
	}
	if len(facets) == 0 {
		return nil, nil, nil
	}
	found, into := make([]*float64, len(expressions)), make([]any, len(expressions))
	for i := range found {
		into[i] = &found[i]
	}
	from, args := a.from()
	if err := conn.QueryRow(ctx, "SELECT "+strings.Join(expressions, ", ")+from+settings, args...).Scan(into...); err != nil {
		return nil, nil, fmt.Errorf("ranges of columns: %w", err)
	}
	n := 0
	for i, f := range facets {
		least, most := found[2*i], found[2*i+1]
		if least == nil || most == nil {
			continue
		}
		f.Least, f.Most = *least, *most
		f.Logarithmic = f.Least > 0 && f.Most/f.Least >= decades
		facets[n], numbers[n] = f, numbers[i]
		n++
	}
	return facets[:n], numbers[:n], nil
}

// bucket is the interval of a number in SQL.
func (f *ColumnFacet) bucket(numbers string) string {
	scaled, low, high := numbers, f.Least, f.Most
	if f.Logarithmic {
		scaled, low, high = "log10("+numbers+")", math.Log10(low), math.Log10(high)
	}
	width := (high/2 - low/2) / facetBuckets // halves, because the difference of two numbers can be infinite
	if width <= 0 {
		return "0"
	}
	return fmt.Sprintf("least(greatest(floor((%s / 2 - %s) / %s), 0), %d)", scaled, number(low/2), number(width), facetBuckets-1)
}
