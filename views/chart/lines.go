package chart

import (
	"math"
	"strings"
	"time"
)

// Point is one measured value. X is a step, or seconds since the epoch.
type Point struct{ X, Y float64 }

// Series is one curve.
type Series struct {
	Name   string
	Points []Point // sorted by X
}

// LineOptions configure the curves of Lines.
type LineOptions struct {
	Log    bool           // logarithmic value axis; values ≤ 0 are left out
	Time   bool           // X is seconds since the epoch
	Zone   *time.Location // of the time axis
	XUnit  string         // "step"
	Zero   bool           // the value axis begins at 0: amounts, not scores
	Smooth float64        // weight of the past, 0 to 0.99; the raw curve stays visible behind
	Format func(float64) string
}

// Lines is a line chart, 180 pixels high.
type Lines struct {
	Empty  bool
	GridY  []Tick
	GridX  []Tick
	XUnit  string
	Curves []Curve
}

// Tick is a grid line with its label; LabelAt is the baseline of the label.
type Tick struct{ At, LabelAt, Text string }

// Curve is one series as SVG points.
type Curve struct {
	Index      int // 1 to 6: colour, dash and marker
	Points     string
	Ghost      string // the raw curve, "" without smoothing
	EndX, EndY string // the last value
	LabelY     string
	Name       string
	EndText    string
}

// Top and bottom of the plot of Lines.
const plotTop, plotBottom = 8.0, 154.0

// singleSpan is the number of seconds drawn on each side of a single point in time.
const singleSpan = 10

// NewLines lays out at most six curves.
func NewLines(series []Series, o LineOptions) Lines {
	series = series[:min(len(series), 6)]
	low, high, left, right := extent(series, o.Log)
	if math.IsInf(low, 1) {
		return Lines{Empty: true}
	}
	if o.Zero && !o.Log {
		low = min(low, 0)
	}
	ticks := valueTicks(low, high, o.Log)
	low, high = min(low, ticks[0]), max(high, ticks[len(ticks)-1])
	y := scale(low, high, plotBottom, plotTop, o.Log)
	if right == left {
		right = left + 1
		if o.Time {
			left, right = left-singleSpan, right+singleSpan-1
		}
	}
	x := scale(left, right, 0, Across, false)
	c := Lines{XUnit: o.XUnit}
	if o.Time {
		c.XUnit = ""
	}
	for _, t := range ticks {
		c.GridY = append(c.GridY, Tick{At: Fixed(y(t), 1), LabelAt: Fixed(y(t)+3.5, 1), Text: o.Format(t)})
	}
	c.GridX = horizontal(left, right, x, o)
	for i, s := range series {
		points := keep(s.Points, o.Log)
		if len(points) == 0 {
			continue
		}
		smooth := points
		curve := Curve{Index: i + 1, Name: s.Name}
		if o.Smooth > 0 {
			smooth = smoothed(points, o.Smooth)
			curve.Ghost = path(points, x, y)
		}
		curve.Points = path(smooth, x, y)
		last := smooth[len(smooth)-1]
		curve.EndX, curve.EndY = percent(x(last.X)), Fixed(y(last.Y), 1)
		curve.LabelY = Fixed(y(last.Y)+4, 1)
		curve.EndText = o.Format(points[len(points)-1].Y)
		c.Curves = append(c.Curves, curve)
	}
	pushApart(c.Curves)
	return c
}

func keep(points []Point, logarithmic bool) []Point {
	out := make([]Point, 0, len(points))
	for _, p := range points {
		if math.IsNaN(p.Y) || math.IsInf(p.Y, 0) || (logarithmic && p.Y <= 0) {
			continue
		}
		out = append(out, p)
	}
	return out
}

func extent(series []Series, logarithmic bool) (low, high, left, right float64) {
	low, high, left, right = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, s := range series {
		for _, p := range keep(s.Points, logarithmic) {
			low, high = min(low, p.Y), max(high, p.Y)
			left, right = min(left, p.X), max(right, p.X)
		}
	}
	return low, high, left, right
}

// valueTicks returns 4 or 5 round values that span low to high, or the powers of ten.
func valueTicks(low, high float64, logarithmic bool) []float64 {
	if logarithmic {
		from, to := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
		if to == from {
			to++
		}
		stride := math.Max(1, math.Ceil((to-from)/4))
		var ticks []float64
		for e := from; e < to+stride; e += stride {
			ticks = append(ticks, math.Pow(10, e))
		}
		return ticks
	}
	if low == high {
		pad := math.Max(math.Abs(low)*0.1, 0.5)
		low, high = low-pad, high+pad
	}
	if low > 0 && low < high*0.4 {
		low = 0
	}
	stride := roundStride((high - low) / 4)
	var ticks []float64
	for v := math.Floor(low/stride) * stride; ; v += stride {
		ticks = append(ticks, math.Round(v/stride)*stride)
		if v >= high-stride*1e-9 {
			return ticks
		}
	}
}

// roundStride is the next 1, 2, 2.5 or 5 times a power of ten.
func roundStride(raw float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if raw <= m*power*1.0000001 {
			return m * power
		}
	}
	return 10 * power
}

// scale maps low..high onto from..to.
func scale(low, high, from, to float64, logarithmic bool) func(float64) float64 {
	f := func(v float64) float64 { return v }
	if logarithmic {
		f = math.Log10
	}
	a, b := f(low), f(high)
	if a == b {
		b = a + 1
	}
	return func(v float64) float64 { return from + (f(v)-a)/(b-a)*(to-from) }
}

func horizontal(left, right float64, x func(float64) float64, o LineOptions) []Tick {
	var ticks []Tick
	if o.Time {
		for _, t := range timeTicks(unix(left), unix(right), 4, o.Zone) {
			at := percent(x(float64(t.At.UnixMilli()) / 1000))
			ticks = append(ticks, Tick{At: at, Text: t.Text})
		}
		return ticks
	}
	stride := math.Max(1, roundStride((right-left)/4))
	if stride != math.Trunc(stride) { // steps are whole numbers
		stride *= 2
	}
	for v := math.Ceil(left/stride) * stride; v <= right; v += stride {
		ticks = append(ticks, Tick{At: percent(x(v)), Text: Fixed(v, 2)})
	}
	return ticks
}

func unix(s float64) time.Time { return time.UnixMilli(int64(s * 1000)) }

// maxVertices bounds the size of a curve: a longer one keeps only the minimum and maximum
// of neighbouring points.
const maxVertices = 240

func path(points []Point, x, y func(float64) float64) string {
	points = thin(points)
	var b strings.Builder
	for i, p := range points {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(Fixed(x(p.X), 1))
		b.WriteByte(',')
		b.WriteString(Fixed(y(p.Y), 1))
	}
	return b.String()
}

func thin(points []Point) []Point {
	if len(points) <= maxVertices {
		return points
	}
	bucket := (2*len(points) + maxVertices - 1) / maxVertices
	var out []Point
	for i := 0; i < len(points); i += bucket {
		part := points[i:min(i+bucket, len(points))]
		lo, hi := 0, 0
		for k, p := range part {
			if p.Y < part[lo].Y {
				lo = k
			}
			if p.Y > part[hi].Y {
				hi = k
			}
		}
		out = append(out, part[min(lo, hi)])
		if lo != hi {
			out = append(out, part[max(lo, hi)])
		}
	}
	return out
}

// smoothed is an exponential moving average, corrected for the bias of its first value.
func smoothed(points []Point, weight float64) []Point {
	out := make([]Point, len(points))
	last, debias := 0.0, 0.0
	for i, p := range points {
		last = last*weight + (1-weight)*p.Y
		debias = debias*weight + (1 - weight)
		out[i] = Point{p.X, last / debias}
	}
	return out
}
