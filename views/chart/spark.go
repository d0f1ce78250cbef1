package chart

import (
	"strings"
)

// Spark returns the points of a sparkline, 112 × 24.
func Spark(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	low, high := values[0], values[0]
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	if low == high {
		low, high = low-1, high+1
	}
	var b strings.Builder
	for i, v := range values {
		x := 1.0
		if len(values) > 1 {
			x = 1 + 110*float64(i)/float64(len(values)-1)
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(Fixed(x, 1) + "," + Fixed(21-(v-low)/(high-low)*18, 1))
	}
	return b.String()
}

// Past is one finished or running execution of a trend.
type Past struct {
	State, Title, URL string
	Seconds           float64
}

// TrendBar is one bar of a trend, 300 × 42; its height is the duration.
type TrendBar struct{ State, Title, URL, X, Y, W, H string }

// Trend lays out the last executions, oldest first.
func Trend(past []Past) []TrendBar {
	const width, height, slots = 300.0, 40.0, 24
	past = past[max(0, len(past)-slots):]
	longest := 0.0
	for _, p := range past {
		longest = max(longest, p.Seconds)
	}
	step := width / slots
	var bars []TrendBar
	for i, p := range past {
		h := 6.0
		if longest > 0 {
			h = max(6, 36*p.Seconds/longest)
		}
		bars = append(bars, TrendBar{
			State: p.State, Title: p.Title, URL: p.URL,
			X: Fixed(float64(i)*step, 1), Y: Fixed(height-h, 1), W: Fixed(step-3, 1), H: Fixed(h, 1),
		})
	}
	return bars
}
