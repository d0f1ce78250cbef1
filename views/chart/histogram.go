package chart

import "fmt"

// Histogram is a small column chart of counts. Its labels say the same in words.
type Histogram struct {
	Bars  []Bar
	Label string
}

// Bar is one bar of a histogram.
type Bar struct{ X, Y, Width, Height, Title string }

// Size of a histogram in pixels.
const (
	HistogramWidth  = 96
	HistogramHeight = 28
)

// HistogramBin is a range of values with its count.
type HistogramBin struct {
	Name  string
	Count int64
}

// NewHistogram draws bins as bars of equal width. A bin with a count is at least one pixel high.
func NewHistogram(bins []HistogramBin, label string) Histogram {
	h := Histogram{Label: label}
	most := int64(1)
	for _, b := range bins {
		most = max(most, b.Count)
	}
	width := float64(HistogramWidth) / float64(max(len(bins), 1))
	for i, b := range bins {
		height := float64(b.Count) / float64(most) * (HistogramHeight - 1)
		if b.Count > 0 {
			height = max(height, 1)
		}
		h.Bars = append(h.Bars, Bar{
			X: Fixed(float64(i)*width, 2), Y: Fixed(HistogramHeight-height, 2), Width: Fixed(max(width-1, 0.5), 2), Height: Fixed(height, 2),
			Title: fmt.Sprintf("%s: %d", b.Name, b.Count),
		})
	}
	return h
}
