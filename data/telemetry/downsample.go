package telemetry

import "math"

// lttb reduces points, which are sorted by x, to n of them that draw nearly the
// same line: Largest-Triangle-Three-Buckets (Sveinn Steinarsson, Downsampling Time
// Series for Visual Representation, University of Iceland 2013). Fed with the
// extremes of buckets it is MinMaxLTTB (Van Der Donckt et al., IEEE VIS 2023),
// which downsamples long series: ClickHouse picks the extremes.
// The first and the last point always stay.
func lttb[P any](points []P, xy func(*P) (x, y float64), n int) []P {
	if n >= len(points) || len(points) < 3 {
		return points
	}
	if n < 3 {
		return []P{points[0], points[len(points)-1]}[:max(n, 1)]
	}
	out := make([]P, 0, n)
	out = append(out, points[0])
	size := float64(len(points)-2) / float64(n-2)
	chosen := 0
	for i := range n - 2 {
		from, to := int(float64(i)*size)+1, int(float64(i+1)*size)+1
		end := min(int(float64(i+2)*size)+1, len(points))
		nextX, nextY := mean(points[to:max(end, to+1)], xy)
		x0, y0 := xy(&points[chosen])
		best := -1.0
		for j := from; j < to; j++ {
			x, y := xy(&points[j])
			if area := math.Abs((x0-nextX)*(y-y0) - (x0-x)*(nextY-y0)); area > best {
				best, chosen = area, j
			}
		}
		out = append(out, points[chosen])
	}
	return append(out, points[len(points)-1])
}

// mean is the centre of points.
func mean[P any](points []P, xy func(*P) (x, y float64)) (float64, float64) {
	var sx, sy float64
	for i := range points {
		x, y := xy(&points[i])
		sx += x
		sy += y
	}
	n := float64(len(points))
	return sx / n, sy / n
}
