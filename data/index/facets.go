package index

import (
	"context"
	"fmt"
	"math"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"github.com/flowforge/flowforge/engine/search"
)

const (
	facetValues  = 8  // that a facet has
	facetBuckets = 24 // of a histogram
	// MaxFacetColumns is the number of columns that have a facet, so that a request has bounded costs.
	MaxFacetColumns = 8
	facetsAtOnce    = 3
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
	work, ctx := errgroup.WithContext(bounded(ctx))
	work.SetLimit(facetsAtOnce)
	for expression, into := range map[string]*[]Count{
		"toString(status)": &f.States, "toString(workflow)": &f.Workflows, "toString(submitted_by)": &f.People, "toString(arrayJoin(tags))": &f.Tags,
	} {
		work.Go(func() error {
			var err error
			*into, err = a.counts(ctx, conn, expression, "", facetValues)
			return err
		})
	}
	list := a.facetColumns(&f)
	for i := range list {
		work.Go(func() error { return a.facet(ctx, conn, &list[i]) })
	}
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

// facet reads one column.
func (a resolvedQuery) facet(ctx context.Context, conn driver.Conn, f *ColumnFacet) error {
	numbers, texts := a.sql(f.Column)
	if numbers != "" {
		if err := a.histogram(ctx, conn, f, numbers); err != nil {
			return fmt.Errorf("distribution of %s: %w", f.Column.Path, err)
		}
	}
	if texts == "" {
		return nil
	}
	var err error
	f.Texts, err = a.counts(ctx, conn, texts, "", facetValues)
	return err
}

// histogram counts numbers in equal intervals from the least to the greatest.
func (a resolvedQuery) histogram(ctx context.Context, conn driver.Conn, f *ColumnFacet, numbers string) error {
	from, args := a.from()
	var least, most *float64
	if err := conn.QueryRow(ctx, "SELECT min("+orNull(numbers, "Float64")+"), max("+orNull(numbers, "Float64")+")"+from+settings, args...).Scan(&least, &most); err != nil {
		return err
	}
	if least == nil || most == nil {
		return nil
	}
	f.Least, f.Most = *least, *most
	f.Logarithmic = f.Least > 0 && f.Most/f.Least >= decades
	f.Buckets = make([]int, facetBuckets)
	scaled, low, high := numbers, f.Least, f.Most
	if f.Logarithmic {
		scaled, low, high = "log10("+numbers+")", math.Log10(low), math.Log10(high)
	}
	bucket := "0"
	if width := (high/2 - low/2) / facetBuckets; width > 0 { // halves, because the difference of two numbers can be infinite
		bucket = fmt.Sprintf("least(greatest(floor((%s / 2 - %s) / %s), 0), %d)", scaled, number(low/2), number(width), facetBuckets-1)
	}
	rows, err := conn.Query(ctx, "SELECT toUInt8(assumeNotNull("+bucket+")) AS bucket, count()"+from+" AND isNotNull("+numbers+") GROUP BY bucket"+settings, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var (
			at uint8
			n  uint64
		)
		if err := rows.Scan(&at, &n); err != nil {
			return err
		}
		if int(at) < len(f.Buckets) {
			f.Buckets[at] = int(n)
		}
	}
	return rows.Err()
}
