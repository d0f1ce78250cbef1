package space

import (
	"encoding/json"
	"math"
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
			if out[i], ok = p.numberOf(v); !ok {
				return nil, false
			}
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

// numberOf returns the index of a value.
func (p Parameter) numberOf(v any) (float64, bool) {
	for i := range p.finiteCount() {
		if same(p.nth(i), v) {
			return float64(i), true
		}
	}
	return 0, false
}

// same compares numbers by value, because the database writes them in its own way.
func same(a, b any) bool {
	m, first := a.(json.Number)
	n, second := b.(json.Number)
	if first && second {
		x, _ := m.Float64()
		y, _ := n.Float64()
		return x == y
	}
	return Text(a) == Text(b)
}

// share is the part of the normal distribution between its bounds that is below x.
func (p Parameter) share(x float64) float64 {
	low, high := p.cut()
	if p.flat(low, high) {
		return math.Min(math.Max((x-*p.From)/(*p.To-*p.From), 0), 1)
	}
	return math.Min(math.Max((cumulative((x-*p.Mean) / *p.Deviation)-low)/(high-low), 0), 1)
}
