package preview

import (
	"cmp"
	"context"
	"hash/maphash"
	"math"
	"slices"
	"time"
)

// Bounds of statistics.
const (
	StatisticsRows  = 100_000
	statisticsBytes = 64 << 20
	statisticsTime  = 700 * time.Millisecond

	MaxDistinct = 1000
	bins        = 20
	topValues   = 8
)

// Statistics describe the columns shown, over the first rows of a table.
type Statistics struct {
	Rows    int64 // that were read
	All     bool  // they are all rows of the table
	Columns []Summary
}

// Summary describes the values of one column.
type Summary struct {
	Count    int64 // values that are not null
	Nulls    int64
	Other    int64 // values that do not have the type of the column
	Distinct int   // at most MaxDistinct
	More     bool  // there are more than MaxDistinct distinct values
	Min, Max any   // nil without values
	Mean     float64
	Bins     []Bin   // of numbers
	Top      []Value // of other types: the most frequent values, when all are counted
}

// Bin is a part of a histogram: values from From on, less than To; the last also contains To.
type Bin struct {
	From, To float64
	Count    int64
}

// Value is a value with its number of occurrences.
type Value struct {
	Value any
	Count int64
}

// collector gathers the values of one column.
type collector struct {
	numeric bool
	seed    maphash.Seed
	out     Summary
	sum     float64
	numbers []float64
	seen    map[uint64]int // index in values
	values  []Value
}

func statisticsOf(ctx context.Context, s source, shown []int) (*Statistics, error) {
	columns := s.columns()
	all := make([]*collector, len(shown))
	for i, c := range shown {
		all[i] = &collector{numeric: columns[c].Type.Numeric(), seed: maphash.MakeSeed(), seen: map[uint64]int{}}
	}
	out := &Statistics{}
	b := &budget{ctx: ctx, rows: StatisticsRows, bytes: statisticsBytes, until: time.Now().Add(statisticsTime)}
	_, ended, err := s.scan(b, Position{}, shown, func(_ Position, row []any) bool {
		out.Rows++
		for i, v := range row {
			all[i].add(v)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	out.All = ended
	for _, c := range all {
		out.Columns = append(out.Columns, c.summary())
	}
	return out, nil
}

func (c *collector) add(v any) {
	if v == nil {
		c.out.Nulls++
		return
	}
	c.out.Count++
	c.distinct(v)
	if c.numeric {
		if rankOf(v) != rankNumber {
			c.out.Other++
			return
		}
		n := number(v)
		c.sum += n
		c.numbers = append(c.numbers, n)
	}
	if c.out.Min == nil || compareValues(v, c.out.Min, false) < 0 {
		c.out.Min = sortKey(v)
	}
	if c.out.Max == nil || compareValues(v, c.out.Max, true) < 0 {
		c.out.Max = sortKey(v)
	}
}

// distinct counts v while there are at most MaxDistinct values.
func (c *collector) distinct(v any) {
	if c.out.More {
		return
	}
	key := maphash.String(c.seed, Text(v))
	at, known := c.seen[key]
	switch {
	case known:
		c.values[at].Count++
	case len(c.values) == MaxDistinct:
		c.out.More, c.values, c.seen = true, nil, nil
		c.out.Distinct = MaxDistinct
	default:
		c.seen[key] = len(c.values)
		c.values = append(c.values, Value{sortKey(v), 1})
		c.out.Distinct = len(c.values)
	}
}

func (c *collector) summary() Summary {
	if c.numeric && len(c.numbers) > 0 {
		c.out.Mean = c.sum / float64(len(c.numbers))
		c.out.Bins = histogram(c.numbers)
	}
	if !c.numeric && !c.out.More {
		slices.SortStableFunc(c.values, func(a, b Value) int { return cmp.Compare(b.Count, a.Count) })
		c.out.Top = c.values[:min(topValues, len(c.values))]
	}
	return c.out
}

// histogram counts finite numbers in bins of equal width.
func histogram(numbers []float64) []Bin {
	low, high := math.Inf(1), math.Inf(-1)
	for _, n := range numbers {
		if !math.IsInf(n, 0) {
			low, high = min(low, n), max(high, n)
		}
	}
	if low > high || math.IsInf(high-low, 0) {
		return nil
	}
	if low == high {
		return []Bin{{From: low, To: high, Count: int64(len(numbers))}}
	}
	out := make([]Bin, bins)
	width := (high - low) / bins
	for i := range out {
		out[i].From, out[i].To = low+float64(i)*width, low+float64(i+1)*width
	}
	out[bins-1].To = high
	for _, n := range numbers {
		if !math.IsInf(n, 0) {
			out[min(max(int((n-low)/width), 0), bins-1)].Count++
		}
	}
	return out
}
