// Package curve lays the curves of several executions on one axis, and merges groups of them.
// It is pure.
package curve

import (
	"math"
	"slices"
)

// Point is a point of a curve.
type Point struct{ X, Y float64 }

// Line is a curve on the axis of its frame: a value for each position, NaN for none.
type Line struct {
	Name  string
	Index int // of its execution, or of its group
	Style
	Y []float64
	// Low and High are the range of a group; nil for a single curve.
	Low, High []float64
	Last      float64 // of all values, of which Y can be a part; NaN if there is none
}

// Frame is a chart: positions in increasing order, and lines over them.
type Frame struct {
	X     []float64
	Exact bool // every point is at its own position; otherwise positions are rounded
	Lines []Line
}

// exactPositions is the number of distinct positions up to which none is rounded.
const exactPositions = 4000

// NewFrame lays curves on one axis. With more than 4,000 distinct positions it rounds them to a
// grid of at most slots positions. A place of the grid has up to two points of a curve, its
// lowest and its highest, which are kept in the order of their positions.
func NewFrame(curves [][]Point, slots int) Frame {
	var x []float64
	for _, c := range curves {
		for _, p := range c {
			x = append(x, p.X)
		}
	}
	slices.Sort(x)
	x = slices.Compact(x)
	f := Frame{X: x, Exact: len(x) <= exactPositions}
	if f.Exact {
		for _, c := range curves {
			f.Lines = append(f.Lines, Line{Y: place(c, x)})
		}
		return f
	}
	return gridFrame(curves, x[0], x[len(x)-1], slots/2)
}

// place puts points at their own positions. Of several points at one position, the last stays.
func place(points []Point, x []float64) []float64 {
	y := nothing(len(x))
	for _, p := range points {
		i, _ := slices.BinarySearch(x, p.X)
		y[i] = p.Y
	}
	return y
}

func nothing(n int) []float64 {
	y := make([]float64, n)
	for i := range y {
		y[i] = math.NaN()
	}
	return y
}

// gridFrame rounds positions to places, each with one slot for its lowest and one for its
// highest point.
func gridFrame(curves [][]Point, least, most float64, places int) Frame {
	width := (most - least) / float64(places)
	f := Frame{X: make([]float64, 2*places)}
	for i := range f.X {
		f.X[i] = least + width*(float64(i)/2+0.25)
	}
	f.X[0], f.X[2*places-1] = least, most
	for _, c := range curves {
		line := Line{Y: nothing(2 * places)}
		for from := 0; from < len(c); {
			at := min(int((c[from].X-least)/width), places-1)
			to := from + 1
			for to < len(c) && min(int((c[to].X-least)/width), places-1) == at {
				to++
			}
			line.Y[2*at], line.Y[2*at+1] = extremes(c[from:to])
			from = to
		}
		f.Lines = append(f.Lines, line)
	}
	return f
}

// extremes returns the lowest and the highest value of points in the order of their positions;
// the second is NaN if they are the same point.
func extremes(points []Point) (first, second float64) {
	low, high := 0, 0
	for i, p := range points {
		if p.Y < points[low].Y {
			low = i
		}
		if p.Y > points[high].Y {
			high = i
		}
	}
	if low == high {
		return points[low].Y, math.NaN()
	}
	return points[min(low, high)].Y, points[max(low, high)].Y
}

// Group merges lines with the same key into one: the mean of its lines at each position, with
// their lowest and highest value. A line keeps its last value between two of its points. keys
// has the key of each line; groups appear in the order of their first line.
func (f Frame) Group(keys []string) Frame {
	out := Frame{X: f.X, Exact: f.Exact}
	var order []string
	members := map[string][][]float64{}
	for i, key := range keys {
		if _, known := members[key]; !known {
			order = append(order, key)
		}
		members[key] = append(members[key], held(f.Lines[i].Y))
	}
	for i, key := range order {
		out.Lines = append(out.Lines, merge(key, i, members[key], len(f.X)))
	}
	return out
}

func merge(name string, index int, lines [][]float64, n int) Line {
	l := Line{Name: name, Index: index, Style: groupStyle(index), Y: nothing(n), Low: nothing(n), High: nothing(n), Last: math.NaN()}
	for at := range n {
		sum, count := 0.0, 0.0
		for _, y := range lines {
			v := y[at]
			if math.IsNaN(v) {
				continue
			}
			if count == 0 {
				l.Low[at], l.High[at] = v, v
			}
			l.Low[at], l.High[at] = min(l.Low[at], v), max(l.High[at], v)
			sum += v
			count++
		}
		if count > 0 {
			l.Y[at] = sum / count
		}
	}
	return l
}

// held fills the gaps between the first and the last value of a line with the value before.
func held(y []float64) []float64 {
	out := slices.Clone(y)
	last := -1
	for i, v := range y {
		if !math.IsNaN(v) {
			last = i
		}
	}
	before := math.NaN()
	for i := range max(last, 0) {
		if math.IsNaN(out[i]) {
			out[i] = before
		}
		before = out[i]
	}
	return out
}
