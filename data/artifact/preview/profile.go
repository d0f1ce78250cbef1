package preview

import (
	"cmp"
	"context"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Bounds of profiles. Together they bound the memory of one profile to about 150 MB.
const (
	ProfileColumns = 1000 // columns that a profile describes
	ProfileSample  = 4096 // values of a column that its quantiles come from
	ProfileTop     = 50   // frequent values of a column

	quantilePoints = 401
	countersLeast  = 50
	countersMost   = 1000
	countersAll    = 200_000 // of all columns
	valueRunes     = 120
)

// Profile describes the columns of a table, over all rows that were read. It is stored, and profiles
// of two tables can be compared.
type Profile struct {
	Rows       int64           `json:"rows"` // that were read
	All        bool            `json:"all"`  // they are all rows
	AllColumns int             `json:"all_columns"`
	Columns    []ColumnProfile `json:"columns"` // at most ProfileColumns
}

// ColumnProfile describes the values of a column. Quantiles are of numbers and of times, which are
// seconds since 1970 in UTC: they are equally spaced from the smallest to the largest sampled value.
type ColumnProfile struct {
	Name      string     `json:"name"`
	Type      Type       `json:"type"`
	Count     int64      `json:"count"` // values of the type of the column
	Nulls     int64      `json:"nulls,omitempty"`
	Other     int64      `json:"other,omitempty"` // values that do not have the type, NaN and infinite numbers
	Distinct  int64      `json:"distinct"`
	Estimated bool       `json:"estimated,omitempty"` // Distinct is an estimate, with an error of about 2 %
	Min       string     `json:"min,omitempty"`
	Max       string     `json:"max,omitempty"`
	Mean      *float64   `json:"mean,omitempty"`
	Deviation *float64   `json:"standard_deviation,omitempty"`
	Quantiles []float64  `json:"quantiles,omitempty"`
	Sampled   int64      `json:"sampled,omitempty"`  // values that the quantiles come from
	Top       []TopValue `json:"top,omitempty"`      // the most frequent values first
	Complete  bool       `json:"complete,omitempty"` // Top has all values
	Error     int64      `json:"error,omitempty"`    // counts of Top are too low by at most this number
}

// TopValue is a frequent value.
type TopValue struct {
	Value string `json:"value"`
	Count int64  `json:"count"`
}

// Temporal reports whether values of t are times.
func (t Type) Temporal() bool { return t == Date || t == Datetime }

// Rest is the number of values that are not in Top.
func (c ColumnProfile) Rest() int64 {
	rest := c.Count
	for _, v := range c.Top {
		rest -= v.Count
	}
	return max(rest, 0)
}

// ReadProfile reads a table from beginning to end, at most for limit. format is "parquet", "csv" or
// "tsv". Equal files have equal profiles.
func ReadProfile(ctx context.Context, f File, format string, limit time.Duration) (p Profile, err error) {
	defer recovered(&err, "table")
	s, err := open(f, format)
	if err != nil {
		return Profile{}, err
	}
	columns := s.columns()
	p.AllColumns = len(columns)
	shown := make([]int, min(len(columns), ProfileColumns))
	sketches := make([]*sketch, len(shown))
	counters := min(max(countersAll/max(len(shown), 1), countersLeast), countersMost)
	for i := range shown {
		shown[i], sketches[i] = i, newSketch(columns[i], counters)
	}
	b := &budget{ctx: ctx, rows: math.MaxInt64, bytes: math.MaxInt64, until: time.Now().Add(limit)}
	_, p.All, err = s.scan(b, Position{}, shown, func(_ Position, row []any) bool {
		p.Rows++
		for i, v := range row {
			sketches[i].add(v)
		}
		return true
	})
	if err != nil {
		return Profile{}, err
	}
	if err := ctx.Err(); err != nil {
		return Profile{}, err //nolint:wrapcheck // the caller stopped it
	}
	for _, k := range sketches {
		p.Columns = append(p.Columns, k.profile())
	}
	return p, nil
}

// sketch gathers what a profile says about a column.
type sketch struct {
	out      ColumnProfile
	mean, m2 float64 // Welford's algorithm
	min, max any

	random   *rand.Rand
	sample   []float64 // a reservoir
	counters int
	values   map[uint64]*TopValue // Misra and Gries
	lowered  int64
	seed     maphash.Seed
	distinct cardinality
}

func newSketch(c Column, counters int) *sketch {
	return &sketch{
		out: ColumnProfile{Name: withoutNUL(c.Name), Type: c.Type}, random: rand.New(rand.NewPCG(1, 2)), //nolint:gosec // a sample, which is the same each time
		counters: counters, values: map[uint64]*TopValue{}, seed: maphash.MakeSeed(),
	}
}

func (k *sketch) add(v any) {
	if v == nil {
		k.out.Nulls++
		return
	}
	switch {
	case k.out.Type.Numeric():
		if rankOf(v) != rankNumber || math.IsInf(number(v), 0) {
			k.out.Other++
			return
		}
		k.number(number(v))
	case k.out.Type.Temporal():
		t, ok := v.(time.Time)
		if !ok {
			k.out.Other++
			return
		}
		k.keep(float64(t.Unix()) + float64(t.Nanosecond())/1e9)
	}
	k.out.Count++
	if k.min == nil || compareValues(v, k.min, false) < 0 {
		k.min = sortKey(v)
	}
	if k.max == nil || compareValues(v, k.max, true) < 0 {
		k.max = sortKey(v)
	}
	k.frequent(v)
}

// number adds to the mean and the deviation.
func (k *sketch) number(n float64) {
	delta := n - k.mean
	k.mean += delta / float64(k.out.Count+1)
	k.m2 += delta * (n - k.mean)
	k.keep(n)
}

// keep puts n into the sample, of which every value is equally likely a member.
func (k *sketch) keep(n float64) {
	if len(k.sample) < ProfileSample {
		k.sample = append(k.sample, n)
		return
	}
	if at := k.random.Int64N(k.out.Count + 1); at < ProfileSample {
		k.sample[at] = n
	}
}

// frequent counts a value. When all counters are in use, a new value lowers every counter by one, so
// that a count is too low by at most k.lowered.
func (k *sketch) frequent(v any) {
	text := Text(v)
	key := maphash.String(k.seed, text)
	k.distinct.add(text)
	if c, known := k.values[key]; known {
		c.Count++
		return
	}
	if len(k.values) < k.counters {
		k.values[key] = &TopValue{shortened(text), 1}
		return
	}
	k.lowered++
	for key, c := range k.values {
		if c.Count--; c.Count == 0 {
			delete(k.values, key)
		}
	}
}

// withoutNUL removes what PostgreSQL does not store.
func withoutNUL(text string) string { return strings.ReplaceAll(text, "\x00", "") }

func shortened(text string) string {
	text = withoutNUL(text)
	n := 0
	for i := range text {
		if n++; n > valueRunes {
			return text[:i] + "…"
		}
	}
	return text
}

func (k *sketch) profile() ColumnProfile {
	out := k.out
	if out.Count > 0 {
		out.Min, out.Max = shortened(Text(k.min)), shortened(Text(k.max))
	}
	if out.Type.Numeric() && out.Count > 0 {
		deviation := math.Sqrt(k.m2 / float64(out.Count))
		if !math.IsInf(k.mean, 0) && !math.IsNaN(k.mean) && !math.IsInf(deviation, 0) && !math.IsNaN(deviation) {
			out.Mean, out.Deviation = &k.mean, &deviation
		}
	}
	out.Sampled = int64(len(k.sample))
	out.Quantiles = quantilesOf(k.sample)
	out.Error = k.lowered
	out.Distinct, out.Estimated = int64(len(k.values)), false
	if k.lowered > 0 {
		out.Distinct, out.Estimated = max(k.distinct.estimate(), int64(k.counters)), true
	}
	for _, v := range k.values {
		out.Top = append(out.Top, *v)
	}
	slices.SortFunc(out.Top, func(a, b TopValue) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) })
	out.Complete = k.lowered == 0 && len(out.Top) <= ProfileTop
	out.Top = out.Top[:min(len(out.Top), ProfileTop)]
	if !out.Complete && len(out.Top) > 0 && out.Top[0].Count <= 1 { // all values differ
		out.Top = nil
	}
	return out
}

// quantilesOf returns equally spaced quantiles, or all values when there are few.
func quantilesOf(sample []float64) []float64 {
	slices.Sort(sample)
	if len(sample) <= quantilePoints {
		return sample
	}
	out := make([]float64, quantilePoints)
	for i := range out {
		out[i] = sample[i*(len(sample)-1)/(quantilePoints-1)]
	}
	return out
}
