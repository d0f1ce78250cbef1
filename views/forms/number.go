package forms

import (
	"math"
	"strconv"

	"github.com/flowforge/flowforge/typeregistry"
)

// Slider is the range next to an exact input; its position runs from 0 to Steps.
type Slider struct {
	Min, Max string
	Log      bool
	Integer  bool
	Step     string // of the value, "" for any
	Position int
	Ticks    []string
}

// SliderSteps is the number of positions of a slider.
const SliderSteps = 1000

// numberControl is the control of an Integer or a Float.
type numberControl struct{ c Control }

// Slider returns the slider of a number with both bounds: for floats, for logarithmic
// scales, and if the hints request one. It ends one position before an exclusive bound.
func (n numberControl) Slider() (Slider, bool) {
	p := n.c.Type.Params
	bounds := p.Bounds()
	low, lowErr := strconv.ParseFloat(bounds.Low.String(), 64)
	high, highErr := strconv.ParseFloat(bounds.High.String(), 64)
	integer := n.c.Type.Kind == typeregistry.KindInteger
	if lowErr != nil || highErr != nil || high <= low || n.c.Widget == "input" || n.c.Compact && n.c.Widget != "slider" {
		return Slider{}, false
	}
	if integer && !p.LogScale && n.c.Widget != "slider" {
		return Slider{}, false
	}
	s := Slider{Min: bounds.Low.String(), Max: bounds.High.String(), Log: p.LogScale && low > 0, Integer: integer, Step: p.Step.String()}
	if bounds.LowOpen {
		s.Min = inside(low, high, s.Log, n.c)
	}
	if bounds.HighOpen {
		s.Max = inside(high, low, s.Log, n.c)
	}
	if v, err := strconv.ParseFloat(n.c.Value(), 64); err == nil {
		s.Position = position(v, low, high, s.Log)
	}
	if s.Log {
		s.Ticks = decades(low, high)
	} else {
		s.Ticks = even(low, high, stepOf(n.c))
	}
	return s, true
}

// inside is the value that is one step, or one position of the slider, away from an exclusive bound.
func inside(bound, other float64, log bool, c Control) string {
	if step := stepOf(c); step > 0 && step < math.Abs(other-bound) {
		return strconv.FormatFloat(bound+math.Copysign(step, other-bound), 'g', 12, 64)
	}
	if log {
		return strconv.FormatFloat(bound*math.Pow(other/bound, 1.0/SliderSteps), 'g', 3, 64)
	}
	return strconv.FormatFloat(bound+(other-bound)/SliderSteps, 'g', 12, 64)
}

// position is the position of v on a scale from low to high.
func position(v, low, high float64, log bool) int {
	if log && v > 0 {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	at := math.Round((v - low) / (high - low) * SliderSteps)
	return int(math.Max(0, math.Min(SliderSteps, at)))
}

// decades labels a logarithmic scale at equal distances: at powers of ten if the bounds
// are powers of ten, at every second one if there are many.
func decades(low, high float64) []string {
	from, to := math.Log10(low), math.Log10(high)
	n := int(math.Round(to - from))
	const most = 5
	stride := 1
	for n/stride > most || n%stride != 0 {
		stride++
	}
	if n < 1 || !whole(from) || !whole(to) || stride == n && n > most {
		return []string{brief(low), brief(math.Sqrt(low * high)), brief(high)}
	}
	var out []string
	for i := 0; i <= n; i += stride {
		out = append(out, brief(math.Pow(10, math.Round(from)+float64(i))))
	}
	return out
}

// stepOf is the step between allowed values, 0 for any value.
func stepOf(c Control) float64 {
	step, err := strconv.ParseFloat(c.Type.Params.Step.String(), 64)
	switch {
	case err == nil && step > 0:
		return step
	case c.Type.Kind == typeregistry.KindInteger:
		return 1
	}
	return 0
}

// even labels a linear scale in equal parts: at its steps if it has any, otherwise in four
// or five parts, whichever needs fewer digits.
func even(low, high, step float64) []string {
	best := 4
	if len(brief(low+(high-low)/5)) < len(brief(low+(high-low)/4)) {
		best = 5
	}
	if step > 0 {
		for _, best = range []int{best, 5, 4, 6, 3, 2, 1} {
			if parts := (high - low) / step / float64(best); parts >= 1 && math.Abs(parts-math.Round(parts)) < 1e-9 {
				break
			}
		}
	}
	out := make([]string, best+1)
	for i := range out {
		out[i] = brief(low + (high-low)*float64(i)/float64(best))
	}
	return out
}

func whole(f float64) bool { return math.Abs(f-math.Round(f)) < 1e-9 }

// brief formats a number with at most three digits: 1e-5, 0.01, 250.
func brief(f float64) string {
	if f != 0 && (math.Abs(f) < 1e-2 || math.Abs(f) >= 1e5) {
		return shortExponent(strconv.FormatFloat(f, 'e', -1, 64), strconv.FormatFloat(f, 'e', 1, 64))
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}

// shortExponent drops the leading zeros of an exponent: 1e-05 becomes 1e-5.
func shortExponent(exact, rounded string) string {
	s := exact
	if len(s) > len(rounded) {
		s = rounded
	}
	for i := 0; i+2 < len(s); i++ {
		if s[i] == 'e' {
			exp, _ := strconv.Atoi(s[i+1:])
			return s[:i] + "e" + strconv.Itoa(exp)
		}
	}
	return s
}

// InputMode selects the keyboard of a phone.
func (n numberControl) InputMode() string {
	low := n.c.Type.Params.Bounds().Low
	negative := low == "" || low[0] == '-'
	switch {
	case negative:
		return "text" // numeric keyboards of some phones have no minus sign
	case n.c.Type.Kind == typeregistry.KindInteger:
		return "numeric"
	}
	return "decimal"
}
