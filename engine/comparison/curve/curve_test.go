package curve

import (
	"math"
	"slices"
	"testing"
)

func TestFewPositionsAreExact(t *testing.T) {
	t.Parallel()
	f := NewFrame([][]Point{{{0, 1}, {10, 2}}, {{5, 3}, {10, 4}}}, 100)
	if !f.Exact || !slices.Equal(f.X, []float64{0, 5, 10}) {
		t.Fatalf("%+v", f)
	}
	if y := f.Lines[0].Y; y[0] != 1 || !math.IsNaN(y[1]) || y[2] != 2 {
		t.Errorf("%v", y)
	}
}

func TestManyPositionsKeepExtremes(t *testing.T) {
	t.Parallel()
	var a, b []Point
	for i := range 10_000 {
		a, b = append(a, Point{float64(2 * i), 0}), append(b, Point{float64(2*i + 1), 1})
	}
	a[7777].Y, b[3333].Y = 50, -50
	f := NewFrame([][]Point{a, b}, 1000)
	if f.Exact || len(f.X) != 1000 || !slices.IsSorted(f.X) {
		t.Fatalf("%d positions", len(f.X))
	}
	at := slices.Index(f.Lines[0].Y, 50)
	if at < 0 || math.Abs(f.X[at]-a[7777].X) > 40 {
		t.Errorf("the peak is at %d", at)
	}
	if !slices.Contains(f.Lines[1].Y, -50) {
		t.Error("the valley is lost")
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	f := NewFrame([][]Point{{{0, 1}, {1, 2}, {2, 3}}, {{0, 3}, {2, 5}}, {{1, 9}}}, 100).Group([]string{"a", "a", "b"})
	if len(f.Lines) != 2 || f.Lines[0].Name != "a" || f.Lines[1].Index != 1 {
		t.Fatalf("%+v", f.Lines)
	}
	a := f.Lines[0]
	if !slices.Equal(a.Y, []float64{2, 2.5, 4}) || !slices.Equal(a.Low, []float64{1, 2, 3}) || !slices.Equal(a.High, []float64{3, 3, 5}) {
		t.Errorf("%+v", a)
	}
	if b := f.Lines[1]; !math.IsNaN(b.Y[0]) || b.Y[1] != 9 || !math.IsNaN(b.Y[2]) {
		t.Errorf("%+v", b)
	}
}
