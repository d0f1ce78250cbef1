package chart

// Column is one bar of a bar chart in SVG units.
type Column struct{ X, Y, W, H, MidX string }

// Columns lays out values as bars side by side in a box of width × height below
// top. A value above 0 is at least one unit high.
func Columns(values []float64, width, height, top float64) []Column {
	high := 0.0
	for _, v := range values {
		high = max(high, v)
	}
	step := width / float64(max(len(values), 1))
	out := make([]Column, len(values))
	for i, v := range values {
		h := 0.0
		if high > 0 && v > 0 {
			h = max(v/high*height, 1)
		}
		x := float64(i) * step
		out[i] = Column{
			X: Fixed(x+step*0.15, 1), W: Fixed(step*0.7, 1), Y: Fixed(top+height-h, 1), H: Fixed(h, 1), MidX: Fixed(x+step/2, 1),
		}
	}
	return out
}
