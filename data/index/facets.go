package index

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

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
	ctx = bounded(ctx)
	numeric, err := a.distributions(ctx, conn, &f, list)
	if err == nil {
		err = a.histograms(ctx, conn, numeric)
	}
	if err != nil {
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

// distributions counts states, workflows, people, tags and the texts of columns, and reads the least
// and the greatest number of columns, in one pass. It returns the columns that have numbers.
func (a resolvedQuery) distributions(ctx context.Context, conn driver.Conn, f *Facets, list []ColumnFacet) ([]*ColumnFacet, error) {
	expressions, into := []string{"toString(status)", "toString(workflow)", "toString(submitted_by)"}, []*[]Count{&f.States, &f.Workflows, &f.People}
	var (
		values, ranges []string
		numeric        []*ColumnFacet
	)
	for i := range list {
		numbers, texts := a.sql(list[i].Column)
		if texts != "" {
			expressions, into = append(expressions, "ifNull("+texts+", '')"), append(into, &list[i].Texts)
		}
		if numbers != "" {
			v := fmt.Sprintf("v%d", len(numeric))
			values, ranges = append(values, ", "+orNull(numbers, "Float64")+" AS "+v), append(ranges, "min("+v+")", "max("+v+")")
			numeric = append(numeric, &list[i])
		}
	}
	each, into := eachOf(append(expressions, "tags")), append(into, &f.Tags)
	from, args := a.from()
	rows, err := conn.Query(ctx, fmt.Sprintf(`SELECT facet, value, sum(n) AS n, any(ranges) FROM (
			SELECT %[1]s AS facet, if(facet = %[2]d, %[3]s, [[%[4]s][facet]]) AS list, count() AS n, CAST([%[5]s] AS Array(Nullable(Float64))) AS ranges
			FROM (SELECT %[6]s%[7]s) GROUP BY GROUPING SETS (%[8]s, ()))
		ARRAY JOIN list AS value GROUP BY facet, value HAVING value != '' OR facet = 0
		ORDER BY facet, n DESC, value LIMIT %[9]d BY facet%[10]s`,
		each.number, len(into), each.keys[len(into)-1], strings.Join(each.keys[:len(into)-1], ", "), strings.Join(ranges, ", "),
		each.columns+strings.Join(values, ""), from, each.sets, facetValues, settings), args...)
	if err != nil {
		return nil, fmt.Errorf("count the values of facets: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var (
			facet uint32
			c     Count
			n     uint64
			found []*float64
		)
		if err := rows.Scan(&facet, &c.Value, &n, &found); err != nil {
			return nil, fmt.Errorf("count the values of facets: %w", err)
		}
		if facet == 0 { // all executions
			numeric = withRanges(numeric, found)
			continue
		}
		c.N = int(n)
		*into[facet-1] = append(*into[facet-1], c)
	}
	return numeric, rows.Err()
}

// withRanges sets the least and the greatest number of facets, and returns those that have numbers.
func withRanges(facets []*ColumnFacet, found []*float64) []*ColumnFacet {
	var list []*ColumnFacet
	for i, f := range facets {
		least, most := found[2*i], found[2*i+1]
		if least == nil || most == nil {
			continue
		}
		f.Least, f.Most = *least, *most
		f.Logarithmic = f.Least > 0 && f.Most/f.Least >= decades
		list = append(list, f)
	}
	return list
}

// each are the parts of a statement that groups rows by each of some expressions in one pass.
type each struct {
	keys          []string // names of the expressions
	columns, sets string
	number        string // of the expression that a row is grouped by, from 1; 0: all rows
}

func eachOf(expressions []string) each {
	keys, columns, sets, others := make([]string, len(expressions)), make([]string, len(expressions)), make([]string, len(expressions)), make([]string, len(expressions))
	for i, expression := range expressions {
		keys[i] = fmt.Sprintf("k%d", i)
		columns[i], sets[i], others[i] = expression+" AS "+keys[i], "("+keys[i]+")", "grouping("+keys[i]+")"
	}
	return each{keys, strings.Join(columns, ", "), strings.Join(sets, ", "), "toUInt32(indexOf([" + strings.Join(others, ", ") + "], 0))"}
}

// histograms counts the numbers of columns in equal intervals from their least to their greatest.
func (a resolvedQuery) histograms(ctx context.Context, conn driver.Conn, facets []*ColumnFacet) error {
	if len(facets) == 0 {
		return nil
	}
	const none = math.MaxUint8 // the bucket of executions without a number
	buckets := make([]string, len(facets))
	for i, f := range facets {
		numbers, _ := a.sql(f.Column)
		buckets[i] = fmt.Sprintf("if(isNull(%s), %d, toUInt8(assumeNotNull(%s)))", numbers, none, f.bucket(numbers))
		f.Buckets = make([]int, facetBuckets)
	}
	each := eachOf(buckets)
	from, args := a.from()
	rows, err := conn.Query(ctx, fmt.Sprintf("SELECT %s AS facet, [%s][facet] AS value, count() AS n FROM (SELECT %s%s) GROUP BY GROUPING SETS (%s) HAVING value < %d%s",
		each.number, strings.Join(each.keys, ", "), each.columns, from, each.sets, facetBuckets, settings), args...)
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
		facets[facet-1].Buckets[bucket] = int(n)
	}
	return rows.Err()
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
