// Package chart computes the geometry of charts: metric curves, sparklines, trends and
// timelines. Templates turn the result into SVG.
package chart

import (
	"math"
	"strconv"
	"strings"
)

// Fixed formats v with at most digits decimals and no trailing zeros.
func Fixed(v float64, digits int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return s
}
