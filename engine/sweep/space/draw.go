package space

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Combination is a value for every parameter, by its path.
type Combination map[string]any

// Digits is the number of significant digits of drawn numbers.
const Digits = 6

// Grid returns combination i of the grid, 0 ≤ i < Combinations: the last parameter changes first.
func (c Checked) Grid(i int) Combination {
	out := Combination{}
	for _, p := range slices.Backward(c.parameters) {
		n := p.finiteCount()
		out[p.Path] = p.nth(i % n)
		i /= n
	}
	return out
}

// At returns the combination at a point of the unit cube: one coordinate, 0 ≤ u < 1, for each
// parameter. Equally spread points give values that are spread as the parameters say.
func (c Checked) At(u []float64) Combination {
	out := Combination{}
	for i, p := range c.parameters {
		out[p.Path] = p.at(u[i])
	}
	return out
}

// at is the inverse of the cumulative distribution of the parameter.
func (p Parameter) at(u float64) any {
	if n := p.finiteCount(); n > 0 {
		return p.nth(min(int(u*float64(n)), n-1))
	}
	switch {
	case p.Kind == Normal:
		return p.quantile(u)
	case p.logarithmic():
		low, high := p.ends()
		return p.rounded(math.Exp(math.Log(low) + u*(math.Log(high)-math.Log(low))))
	}
	low, high := p.ends()
	return p.rounded(low + u*(high-low))
}

// ends returns the bounds of continuous values. Each whole number has the same share of the scale
// as the numbers that are rounded to it.
func (p Parameter) ends() (low, high float64) {
	if p.integer {
		return *p.From - 0.5*roundable(p, *p.From), *p.To + 0.5
	}
	return *p.From, *p.To
}

// roundable is 1 unless the half below n would leave a logarithmic scale.
func roundable(p Parameter, n float64) float64 {
	if p.logarithmic() && n <= 0.5 {
		return 0
	}
	return 1
}

// nth returns the value i of a parameter with finitely many.
func (p Parameter) nth(i int) any {
	switch {
	case p.Kind == Values:
		return p.Values[i]
	case p.Kind == Int, p.Step == nil && p.Steps == 0:
		return p.number(float64(int(*p.From) + i)) // at most mostExact
	case p.Step != nil:
		return p.rounded(*p.From + float64(i)**p.Step)
	case p.integer:
		return p.number(p.integers()[i])
	case i == 0:
		return p.number(*p.From)
	case i == p.Steps-1:
		return p.number(*p.To)
	}
	return p.rounded(p.division(i))
}

// division returns the number i of a range that is divided into Steps.
func (p Parameter) division(i int) float64 {
	share := float64(i) / float64(p.Steps-1)
	if p.Scale == Log {
		return math.Exp(math.Log(*p.From) + share*(math.Log(*p.To)-math.Log(*p.From)))
	}
	return *p.From + share*(*p.To-*p.From)
}

// integers returns the whole numbers of a range of Steps, each once.
func (p Parameter) integers() []float64 {
	var out []float64
	for i := range p.Steps {
		n := math.Min(math.Max(math.Round(p.division(i)), *p.From), *p.To)
		if len(out) == 0 || out[len(out)-1] != n {
			out = append(out, n)
		}
	}
	return out
}

// quantile of the normal distribution, cut off at the bounds.
func (p Parameter) quantile(u float64) any {
	low, high := p.cut()
	if p.flat(low, high) {
		return p.rounded(*p.From + u*(*p.To-*p.From))
	}
	u = math.Min(math.Max(low+u*(high-low), 1e-12), 1-1e-12)
	return p.rounded(*p.Mean + *p.Deviation*math.Sqrt2*math.Erfinv(2*u-1))
}

// flat reports whether the bounds are so near to each other that the distribution between them is
// uniform, and its shares too near to compute with.
func (p Parameter) flat(low, high float64) bool {
	return p.From != nil && p.To != nil && high-low < 1e-6
}

// cut returns the shares of the normal distribution below its bounds.
func (p Parameter) cut() (low, high float64) {
	high = 1
	if p.From != nil {
		low = cumulative((*p.From - *p.Mean) / *p.Deviation)
	}
	if p.To != nil {
		high = cumulative((*p.To - *p.Mean) / *p.Deviation)
	}
	return low, high
}

func cumulative(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// rounded returns a number with Digits significant digits, within the bounds. They begin at the first
// digit that differs between values, so that those of a narrow range stay apart.
func (p Parameter) rounded(x float64) json.Number {
	if p.integer {
		x = math.Round(x)
	} else {
		x = toDigits(x, p.unit(x))
	}
	if p.From != nil {
		x = math.Max(x, *p.From)
	}
	if p.To != nil {
		x = math.Min(x, *p.To)
	}
	return p.number(x)
}

// unit is a number of the size by which values near x differ.
func (p Parameter) unit(x float64) float64 {
	switch {
	case p.Step != nil:
		return *p.Step
	case p.Kind == Normal:
		return math.Min(math.Abs(x), *p.Deviation)
	case p.From == nil || p.To == nil:
		return math.Abs(x)
	}
	span := *p.To - *p.From
	if p.Steps > 1 {
		span /= float64(p.Steps - 1)
	}
	if p.Steps > 1 && !p.logarithmic() {
		return span
	}
	return math.Min(math.Abs(x), span)
}

// toDigits rounds x to Digits digits from the first one of unit.
func toDigits(x, unit float64) float64 {
	if x == 0 || unit == 0 {
		return 0
	}
	digits := int(math.Floor(math.Log10(math.Abs(x)))-math.Floor(math.Log10(unit))) + Digits
	if digits < 1 {
		return 0
	}
	if digits > 17 { // x has no more
		return x
	}
	text, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		return x
	}
	return text
}

// number is x as decoded JSON in canonical form.
func (p Parameter) number(x float64) json.Number {
	if p.integer {
		return json.Number(strconv.FormatFloat(x, 'f', -1, 64))
	}
	return json.Number(strconv.FormatFloat(x, 'g', -1, 64))
}

// Text is a value in one line.
func Text(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return JSON(v)
}

// JSON is a value, which is decoded JSON, as JSON.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
