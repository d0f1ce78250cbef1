// Package chart computes the geometry of charts: metric curves, sparklines, trends and
// timelines. Templates turn the result into SVG.
package chart

import (
	"math"
	"strconv"
	"strings"
)

// Across is the width of curves in their own units. Charts stretch in width alone, so that their
// texts keep one size: positions across are shares of the plot's width, positions down are
// pixels. Curves have a nested drawing that the browser stretches.
const Across = 1000.0

// percent is a position across, in units of Across.
func percent(units float64) string { return Fixed(units/Across*100, 2) + "%" }

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
