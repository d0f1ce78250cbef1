package drift

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/flowforge/flowforge/data/artifact/preview"
)

const (
	shapeBins   = 20
	shapeValues = 14
)

// Shape divides a column as a small chart shows it: few values in their order, else the most frequent
// ones, and numbers and times in bins of equal width. before is nil without an earlier version.
func Shape(before *preview.ColumnProfile, now preview.ColumnProfile) []Part {
	if len(now.Quantiles) == 0 || now.Complete && len(now.Top) <= shapeBins {
		return shapeOfValues(before, now)
	}
	low, high := now.Quantiles[0], now.Quantiles[len(now.Quantiles)-1]
	compared := before != nil && len(before.Quantiles) > 0 && before.Type.Temporal() == now.Type.Temporal()
	if compared {
		low, high = min(low, before.Quantiles[0]), max(high, before.Quantiles[len(before.Quantiles)-1])
	}
	width := (high - low) / shapeBins
	if width <= 0 || math.IsInf(width, 0) {
		return shapeOfValues(before, now)
	}
	parts := make([]Part, shapeBins)
	for i := range parts {
		from, to := low+float64(i)*width, low+float64(i+1)*width
		if i == shapeBins-1 {
			to = math.Inf(1)
		}
		p := Part{Name: figure(from, now.Type) + " to " + figure(min(to, high), now.Type)}
		p.Now = (Below(now.Quantiles, to) - Below(now.Quantiles, from)) * share(now.Count, now)
		if compared {
			p.Before = (Below(before.Quantiles, to) - Below(before.Quantiles, from)) * share(before.Count, *before)
		}
		parts[i] = p
	}
	return parts
}

func shapeOfValues(before *preview.ColumnProfile, now preview.ColumnProfile) []Part {
	names := map[string]bool{}
	var parts []Part
	add := func(values []preview.TopValue) {
		for _, v := range values[:min(len(values), shapeBins)] {
			if names[v.Value] {
				continue
			}
			names[v.Value] = true
			p := Part{Name: v.Value, Now: valueShare(v.Value, now)}
			if before != nil {
				p.Before = valueShare(v.Value, *before)
			}
			parts = append(parts, p)
		}
	}
	add(now.Top)
	if before != nil {
		add(before.Top)
	}
	if now.Complete && now.Type.Numeric() {
		slices.SortFunc(parts, func(a, b Part) int {
			x, _ := strconv.ParseFloat(a.Name, 64)
			y, _ := strconv.ParseFloat(b.Name, 64)
			return cmp.Compare(x, y)
		})
		return parts
	}
	if now.Complete && now.Type.Temporal() {
		slices.SortFunc(parts, func(a, b Part) int { return cmp.Compare(a.Name, b.Name) })
		return parts
	}
	return parts[:min(len(parts), shapeValues)]
}
