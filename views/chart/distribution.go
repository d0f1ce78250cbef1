package chart

import "strings"

// Distribution is the shares of the parts of a column as bars, and those of an earlier version as an
// outline above them. Its label says the same in words.
type Distribution struct {
	Bars, Was string // paths
	Label     string
}

// Size of the view box of a distribution.
const (
	DistributionWidth  = 100
	DistributionHeight = 30
)

// NewDistribution draws shares. was has the shares of the earlier version, or is empty.
func NewDistribution(now, was []float64, label string) Distribution {
	most := 0.0
	for _, v := range now {
		most = max(most, v)
	}
	for _, v := range was {
		most = max(most, v)
	}
	d := Distribution{Label: label}
	if most == 0 {
		return d
	}
	width := DistributionWidth / float64(len(now))
	height := func(v float64) string { return Fixed(DistributionHeight-v/most*(DistributionHeight-1), 1) }
	var bars, outline strings.Builder
	gap := min(width*0.1, 1)
	for i, v := range now {
		if v <= 0 {
			continue
		}
		x := float64(i) * width
		bars.WriteString("M" + Fixed(x, 1) + " 30V" + height(v) + "H" + Fixed(x+width-gap, 1) + "V30z")
	}
	for i, v := range was {
		if i == 0 {
			outline.WriteString("M0 30")
		}
		outline.WriteString("V" + height(v) + "H" + Fixed(float64(i+1)*width, 1))
	}
	if len(was) > 0 {
		outline.WriteString("V30")
	}
	d.Bars, d.Was = bars.String(), outline.String()
	return d
}
