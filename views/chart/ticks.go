package chart

import (
	"sort"
	"strconv"
	"time"
)

// pushApart moves the labels at the ends of curves so that none overlap.
func pushApart(curves []Curve) {
	const line = 13.0
	order := make([]int, len(curves))
	at := make([]float64, len(curves))
	for i, c := range curves {
		order[i] = i
		at[i], _ = strconv.ParseFloat(c.LabelY, 64) // written by Fixed
	}
	sort.Slice(order, func(a, b int) bool { return at[order[a]] < at[order[b]] })
	for k := 1; k < len(order); k++ {
		if at[order[k]] < at[order[k-1]]+line {
			at[order[k]] = at[order[k-1]] + line
		}
	}
	for i := range curves {
		curves[i].LabelY = Fixed(at[i], 1)
	}
}

// timeTick is a round point in time on an axis.
type timeTick struct {
	At   time.Time
	Text string
}

// timeTicks are about n round moments from a to b, in clock time of zone.
func timeTicks(a, b time.Time, n int, zone *time.Location) []timeTick {
	if zone == nil {
		zone = time.UTC
	}
	const ms = time.Millisecond
	strides := []time.Duration{
		10 * ms, 20 * ms, 50 * ms, 100 * ms, 200 * ms, 500 * ms,
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
		24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour,
	}
	stride := strides[len(strides)-1]
	for _, s := range strides {
		if b.Sub(a) <= s*time.Duration(n) {
			stride = s
			break
		}
	}
	layout := "15:04"
	switch {
	case stride < 100*ms:
		layout = "15:04:05.00"
	case stride < time.Second:
		layout = "15:04:05.0"
	case stride < time.Minute:
		layout = "15:04:05"
	case stride >= 24*time.Hour:
		layout = "2 Jan"
	}
	_, offset := a.In(zone).Zone()
	shift := time.Duration(offset) * time.Second
	var ticks []timeTick
	for t := a.Add(shift).Truncate(stride).Add(-shift); !t.After(b); t = t.Add(stride) {
		if t.Before(a) {
			continue
		}
		ticks = append(ticks, timeTick{At: t, Text: t.In(zone).Format(layout)})
	}
	return ticks
}
