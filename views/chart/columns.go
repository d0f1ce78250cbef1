package chart

// Column is one bar of a bar chart: X, W and MidX are shares of its width, Y and H pixels.
type Column struct{ X, Y, W, H, MidX string }

// Columns lays out values as bars side by side, height pixels below top. A value above 0 is at
// least one pixel high.
func Columns(values []float64, height, top float64) []Column {
	high := 0.0
	for _, v := range values {
		high = max(high, v)
	}
	step := Across / float64(max(len(values), 1))
	out := make([]Column, len(values))
	for i, v := range values {
		h := 0.0
		if high > 0 && v > 0 {
			h = max(v/high*height, 1)
		}
		x := float64(i) * step
		out[i] = Column{
			X: percent(x + step*0.15), W: percent(step * 0.7), Y: Fixed(top+height-h, 1), H: Fixed(h, 1), MidX: percent(x + step/2),
		}
	}
	return out
}
