// Package drift compares the profiles of two versions of a dataset. It is pure.
//
// Drift is the population stability index (PSI) over the parts that a column is divided into: the
// sum of (q-p)·ln(q/p), where p and q are the shares of a part in the earlier and in the later
// version. Missing values are a part of their own, and so are NaN, infinite numbers and values of
// another type. A column of numbers or times is divided at the deciles of the earlier version, and a
// column with few values has a part for each value. Numbers also have the Kolmogorov–Smirnov
// statistic: the largest difference of the two cumulative distributions.
package drift

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/data/artifact/preview"
)

// Thresholds of the PSI, as they are usual for this index.
const (
	LittleFrom = 0.1
	MovedFrom  = 0.25
)

// Verdict describes how much a column changed.
type Verdict string

// The verdicts.
const (
	Same    Verdict = "same"
	Little  Verdict = "little"
	Moved   Verdict = "moved"
	Added   Verdict = "added"
	Removed Verdict = "removed"
	Retyped Verdict = "retyped" // the column has another type
	Unknown Verdict = "unknown" // one of the versions has no values to compare
)

// Method is how a column was divided.
type Method string

// The methods.
const (
	Deciles Method = "deciles"
	Values  Method = "values"
)

// Column is the change of a column.
type Column struct {
	Name    string
	Verdict Verdict
	Method  Method   // "" without an index
	PSI     *float64 // nil: not compared
	// Chance is the index that unchanged data of these sizes exceeds once in a hundred times. A column
	// with a lower index has not changed, whatever the thresholds say.
	Chance float64
	KS     *float64 // of numbers and times
	Note   string   // what changed, in words
	Parts  []Part
}

// Part is a part of a column, with its shares of all rows in both versions.
type Part struct {
	Name        string
	Before, Now float64
}

// Report is how two versions differ.
type Report struct {
	RowsBefore, RowsNow int64
	Columns             []Column // in the order of the later version; removed columns last
}

// Count returns the number of columns with one of the verdicts.
func (r Report) Count(verdicts ...Verdict) int {
	n := 0
	for _, c := range r.Columns {
		if slices.Contains(verdicts, c.Verdict) {
			n++
		}
	}
	return n
}

// Find returns the change of a column; nil if neither version has it.
func (r Report) Find(name string) *Column {
	i := slices.IndexFunc(r.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Columns[i]
}

// Compare compares a profile with that of an earlier version.
func Compare(before, now preview.Profile) Report {
	r := Report{RowsBefore: before.Rows, RowsNow: now.Rows}
	old := map[string]preview.ColumnProfile{}
	for _, c := range before.Columns {
		old[c.Name] = c
	}
	for _, c := range now.Columns {
		b, known := old[c.Name]
		if known {
			r.Columns = append(r.Columns, column(b, c))
			delete(old, c.Name)
			continue
		}
		r.Columns = append(r.Columns, Column{Name: c.Name, Verdict: Added, Note: "The column is new: " + string(c.Type) + "."})
	}
	for _, c := range before.Columns {
		if _, gone := old[c.Name]; gone {
			r.Columns = append(r.Columns, Column{Name: c.Name, Verdict: Removed, Note: "The column was removed; it was " + string(c.Type) + "."})
		}
	}
	return r
}

func column(before, now preview.ColumnProfile) Column {
	c := Column{Name: now.Name}
	numbers := before.Type.Numeric() && now.Type.Numeric()
	if before.Type != now.Type && !numbers {
		c.Verdict, c.Note = Retyped, fmt.Sprintf("The type is %s instead of %s.", now.Type, before.Type)
		return c
	}
	if rows(before) == 0 || rows(now) == 0 {
		c.Verdict, c.Note = Unknown, "One of the versions has no values."
		return c
	}
	ordered := len(before.Quantiles) > 0 && len(now.Quantiles) > 0
	if few(before, now) || !ordered {
		c.Method, c.Parts = Values, byValue(before, now)
	} else {
		c.Method, c.Parts = Deciles, byDecile(before, now)
	}
	if ordered {
		ks := kolmogorovSmirnov(before.Quantiles, now.Quantiles)
		c.KS = &ks
	}
	c.judge(counted(before), counted(now))
	c.Note = note(before, now, c.Parts)
	return c
}

// few reports whether each value is a part. A column of numbers with few values, such as a label,
// has no deciles worth the name.
func few(before, now preview.ColumnProfile) bool {
	most := 20
	if !before.Type.Numeric() && !before.Type.Temporal() {
		most = preview.ProfileTop
	}
	return before.Complete && now.Complete && len(before.Top) <= most && len(now.Top) <= most
}

// rows is how many rows a column has.
func rows(c preview.ColumnProfile) int64 { return c.Count + c.Nulls + c.Other }

// counted is how many rows the shares of a column come from.
func counted(c preview.ColumnProfile) float64 {
	n := float64(rows(c))
	if c.Sampled > 0 && !c.Complete {
		n = min(n, float64(c.Sampled))
	}
	return n
}

// judge computes the index and what it means. Each part gets half a row in both versions, so that a
// part without rows has a finite weight.
func (c *Column) judge(rowsBefore, rowsNow float64) {
	n := float64(len(c.Parts))
	psi := 0.0
	for _, part := range c.Parts {
		p := (part.Before*rowsBefore + 0.5) / (rowsBefore + 0.5*n)
		q := (part.Now*rowsNow + 0.5) / (rowsNow + 0.5*n)
		psi += (q - p) * math.Log(q/p)
	}
	c.PSI = &psi
	c.Chance = chiSquare99(n-1) * (1/rowsBefore + 1/rowsNow)
	switch {
	case psi < LittleFrom || psi < c.Chance:
		c.Verdict = Same
	case psi < MovedFrom:
		c.Verdict = Little
	default:
		c.Verdict = Moved
	}
}

// chiSquare99 is the 99th percentile of the chi-square distribution (Wilson and Hilferty, 1931). The
// index of unchanged data is distributed like chi-square times 1/n + 1/m (Yurdakul, 2018).
func chiSquare99(degrees float64) float64 {
	if degrees < 1 {
		return 0
	}
	const normal99 = 2.3263
	t := 1 - 2/(9*degrees) + normal99*math.Sqrt(2/(9*degrees))
	return degrees * t * t * t
}

// share is the part of all rows.
func share(count int64, c preview.ColumnProfile) float64 {
	return float64(count) / float64(max(rows(c), 1))
}

// Names of parts.
const (
	missing = "missing"
	invalid = "invalid" // NaN, infinite numbers, and values of another type
)

// comparedValues is how many frequent values of each version are parts, when there are others.
const comparedValues = 20

// byValue makes a part of each frequent value, and one of all others.
func byValue(before, now preview.ColumnProfile) []Part {
	var parts []Part
	restBefore, restNow := 1.0, 1.0
	add := func(name string, b, n float64) {
		parts = append(parts, Part{name, b, n})
		restBefore, restNow = restBefore-b, restNow-n
	}
	most := comparedValues
	if before.Complete && now.Complete {
		most = preview.ProfileTop
	}
	seen := map[string]bool{}
	for _, side := range [][]preview.TopValue{now.Top, before.Top} {
		for _, v := range side[:min(len(side), most)] {
			if !seen[v.Value] {
				seen[v.Value] = true
				add(v.Value, valueShare(v.Value, before), valueShare(v.Value, now))
			}
		}
	}
	add(missing, share(before.Nulls, before), share(now.Nulls, now))
	add(invalid, share(before.Other, before), share(now.Other, now))
	if !before.Complete || !now.Complete {
		add("all others", max(restBefore, 0), max(restNow, 0))
	}
	return slices.DeleteFunc(parts, func(p Part) bool { return p.Before <= 0 && p.Now <= 0 })
}

// valueShare is the share of a value. A value that the profile does not name is no more frequent than
// the rarest one that it names.
func valueShare(value string, c preview.ColumnProfile) float64 {
	for _, v := range c.Top {
		if v.Value == value {
			return share(v.Count, c)
		}
	}
	if c.Complete || len(c.Top) == 0 {
		return 0
	}
	return share(min(c.Top[len(c.Top)-1].Count, c.Rest()), c)
}

// byDecile divides numbers at the deciles of the earlier version.
func byDecile(before, now preview.ColumnProfile) []Part {
	var edges []float64
	q := before.Quantiles
	for i := 1; i < 10; i++ {
		edge := q[i*(len(q)-1)/10]
		if edge > q[0] && (len(edges) == 0 || edge > edges[len(edges)-1]) {
			edges = append(edges, edge)
		}
	}
	var parts []Part
	valuesBefore, valuesNow := share(before.Count, before), share(now.Count, now)
	lowBefore, lowNow := 0.0, 0.0
	for i := range len(edges) + 1 {
		highBefore, highNow := 1.0, 1.0
		name := "all"
		switch {
		case len(edges) == 0:
		case i == 0:
			name = "less than " + figure(edges[0], now.Type)
		case i == len(edges):
			name = figure(edges[i-1], now.Type) + " or more"
		default:
			name = figure(edges[i-1], now.Type) + " to " + figure(edges[i], now.Type)
		}
		if i < len(edges) {
			highBefore, highNow = Below(q, edges[i]), Below(now.Quantiles, edges[i])
		}
		parts = append(parts, Part{name, (highBefore - lowBefore) * valuesBefore, (highNow - lowNow) * valuesNow})
		lowBefore, lowNow = highBefore, highNow
	}
	if before.Nulls+now.Nulls > 0 {
		parts = append(parts, Part{missing, share(before.Nulls, before), share(now.Nulls, now)})
	}
	if before.Other+now.Other > 0 {
		parts = append(parts, Part{invalid, share(before.Other, before), share(now.Other, now)})
	}
	return parts
}

// Below is the share of values less than x, from equally spaced quantiles.
func Below(quantiles []float64, x float64) float64 {
	at, _ := slices.BinarySearch(quantiles, x)
	return float64(at) / float64(len(quantiles))
}

// kolmogorovSmirnov is the largest difference of two cumulative distributions.
func kolmogorovSmirnov(a, b []float64) float64 {
	most := 0.0
	for _, x := range slices.Concat(a, b) {
		most = max(most, math.Abs(Below(a, x)-Below(b, x)))
	}
	return most
}

// note describes what changed: the mean of numbers, or the part that changed most.
func note(before, now preview.ColumnProfile, parts []Part) string {
	var notes []string
	if before.Mean != nil && now.Mean != nil {
		notes = append(notes, "mean "+number(*before.Mean)+" to "+number(*now.Mean))
	}
	most := slices.MaxFunc(parts, func(a, b Part) int {
		return cmp.Compare(math.Abs(a.Now-a.Before), math.Abs(b.Now-b.Before))
	})
	switch {
	case most.Before <= 0:
		notes = append(notes, most.Name+" is new: "+Percent(most.Now)+" of the rows")
	case most.Now <= 0:
		notes = append(notes, most.Name+" was removed; it was "+Percent(most.Before)+" of the rows")
	case math.Abs(most.Before-most.Now) >= 0.005:
		notes = append(notes, most.Name+": "+Percent(most.Before)+" to "+Percent(most.Now)+" of the rows")
	}
	return strings.Join(notes, "; ")
}

// Percent is a share for users.
func Percent(share float64) string {
	percent := share * 100
	switch {
	case percent == 0 || percent >= 99.95:
		return strconv.FormatFloat(percent, 'f', 0, 64) + " %"
	case percent < 0.1:
		return "less than 0.1 %"
	}
	return strconv.FormatFloat(percent, 'f', 1, 64) + " %"
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func figure(v float64, t preview.Type) string {
	if !t.Temporal() {
		return number(v)
	}
	at := time.Unix(int64(v), 0).UTC()
	if t == preview.Date {
		return at.Format(time.DateOnly)
	}
	return at.Format("2006-01-02 15:04")
}
