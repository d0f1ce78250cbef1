package space

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
)

// DimensionKind is the kind of a Dimension.
type DimensionKind string

// The kinds of dimensions.
const (
	Category DimensionKind = "category" // the index of one of Count values without an order
	Whole    DimensionKind = "whole"    // a whole number from Low to High
	Real     DimensionKind = "real"     // a number from Low to High
)

// Dimension is a parameter as numbers, for programs that learn.
type Dimension struct {
	Kind      DimensionKind
	Count     int
	Low, High float64
	Log       bool
}

// Dimensions returns the parameters as numbers. Steps of a range are numbered; a normal distribution
// is the share of it below a value.
func (c Checked) Dimensions() []Dimension {
	out := make([]Dimension, len(c.parameters))
	for i, p := range c.parameters {
		switch {
		case p.Kind == Values:
			out[i] = Dimension{Kind: Category, Count: len(p.Values)}
		case p.divided():
			out[i] = Dimension{Kind: Whole, High: float64(p.finiteCount() - 1)}
		case p.Kind == Normal:
			out[i] = Dimension{Kind: Real, High: 1}
		case p.integer:
			out[i] = Dimension{Kind: Whole, Low: *p.From, High: *p.To, Log: p.logarithmic()}
		default:
			out[i] = Dimension{Kind: Real, Low: *p.From, High: *p.To, Log: p.logarithmic()}
		}
	}
	return out
}

// divided reports whether a range has steps.
func (p Parameter) divided() bool { return p.Step != nil || p.Steps > 0 }

// FromNumbers returns the combination at a point of the dimensions.
func (c Checked) FromNumbers(x []float64) Combination {
	out := Combination{}
	for i, p := range c.parameters {
		switch {
		case p.Kind == Values || p.divided():
			out[p.Path] = p.nth(min(max(int(x[i]), 0), p.finiteCount()-1))
		case p.Kind == Normal:
			out[p.Path] = p.quantile(x[i])
		default:
			out[p.Path] = p.rounded(x[i])
		}
	}
	return out
}

// ToNumbers returns the point of a combination, false if it is not in the space: it was drawn from
// another one.
func (c Checked) ToNumbers(values Combination) ([]float64, bool) {
	out := make([]float64, len(c.parameters))
	for i, p := range c.parameters {
		v, ok := values[p.Path]
		if !ok {
			return nil, false
		}
		if p.Kind == Values || p.divided() {
			at, ok := c.numbers[i][key(v)]
			if !ok {
				return nil, false
			}
			out[i] = float64(at)
			continue
		}
		n, isNumber := v.(json.Number)
		x, err := n.Float64()
		if !isNumber || err != nil || p.From != nil && x < *p.From || p.To != nil && x > *p.To {
			return nil, false
		}
		if p.Kind == Normal {
			x = p.share(x)
		}
		out[i] = x
	}
	return out, true
}

// numbersOf returns the index of each value of the parameters that have a list or steps.
func numbersOf(parameters []Parameter) []map[string]int {
	out := make([]map[string]int, len(parameters))
	for i, p := range parameters {
		if p.Kind != Values && !p.divided() {
			continue
		}
		out[i] = map[string]int{}
		for j, v := range p.all() {
			if _, ok := out[i][key(v)]; !ok {
				out[i][key(v)] = j
			}
		}
	}
	return out
}

// all returns the values of a parameter that has a list or steps.
func (p Parameter) all() []any {
	if p.Kind == Values {
		return p.Values
	}
	var out []any
	if p.integer && p.Steps > 0 {
		for _, n := range p.integers() {
			out = append(out, p.number(n))
		}
		return out
	}
	for i := range p.finiteCount() {
		out = append(out, p.nth(i))
	}
	return out
}

// key is the same for equal values. Numbers are compared by value, because the database writes them
// in its own way.
func key(v any) string {
	if n, ok := v.(json.Number); ok {
		return Canonical(n).String()
	}
	return Text(v)
}

// Canonical returns the same text for equal numbers. Whole numbers stay exact, however large they are.
func Canonical(n json.Number) json.Number {
	x, err := n.Float64()
	if err != nil {
		return n
	}
	if math.Abs(x) >= mostExact {
		if exact, ok := new(big.Rat).SetString(n.String()); ok && exact.IsInt() {
			return json.Number(exact.Num().String())
		}
	}
	return json.Number(strconv.FormatFloat(x+0, 'g', -1, 64)) // -0 is 0
}

// share is the part of the normal distribution between its bounds that is below x.
func (p Parameter) share(x float64) float64 {
	low, high := p.cut()
	if p.flat(low, high) {
		return math.Min(math.Max((x-*p.From)/(*p.To-*p.From), 0), 1)
	}
	return math.Min(math.Max((cumulative((x-*p.Mean) / *p.Deviation)-low)/(high-low), 0), 1)
}
