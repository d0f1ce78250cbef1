package chart

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Sample is one moment of a quota's history. Limit is below 0 without one.
type Sample struct {
	At                   time.Time
	Used, Limit, Waiting float64
}

// HistoryOptions configure a History. Samples further apart than Gap are not
// connected, because usage in between is unknown.
type HistoryOptions struct {
	From, To time.Time
	Gap      time.Duration
	Zone     *time.Location
	Format   func(float64) string
}

// History is usage and limit over time, 220 pixels high: guaranteed usage, borrowed usage
// above it, and waiting requests on top.
type History struct {
	Empty       bool
	GridY       []Tick
	GridX       []Tick
	Own         []string // SVG paths of areas, one per stretch without a gap
	Borrowed    []string
	Used        []string // points of lines
	Waiting     []string // points of lines: usage plus waiting requests
	Limit       []string
	AnyBorrowed bool
	AnyWaiting  bool
	AnyLimit    bool
}

// Top and bottom of the plot of History.
const historyTop, historyBottom = 10.0, 190.0

// NewHistory lays out samples, sorted by time.
func NewHistory(samples []Sample, o HistoryOptions) History {
	if len(samples) == 0 {
		return History{Empty: true}
	}
	high := 1.0
	for _, s := range samples {
		high = max(high, s.Used+s.Waiting, s.Limit)
	}
	ticks := valueTicks(0, high, false)
	from, to := float64(o.From.UnixMilli()), float64(o.To.UnixMilli())
	place := plot{
		x: scale(from, to, 0, Across, false),
		y: scale(0, ticks[len(ticks)-1], historyBottom, historyTop, false),
	}
	h := History{}
	for _, t := range ticks {
		h.GridY = append(h.GridY, Tick{At: Fixed(place.y(t), 1), LabelAt: Fixed(place.y(t)+4, 1), Text: o.Format(t)})
	}
	for _, t := range timeTicks(o.From, o.To, 6, o.Zone) {
		h.GridX = append(h.GridX, Tick{At: percent(place.x(float64(t.At.UnixMilli()))), Text: t.Text})
	}
	for _, part := range stretches(samples, o.Gap) {
		h.add(part, place)
	}
	return h
}

type plot struct{ x, y func(float64) float64 }

// stretches splits samples at pauses longer than gap.
func stretches(samples []Sample, gap time.Duration) [][]Sample {
	var parts [][]Sample
	begin := 0
	for i := 1; i < len(samples); i++ {
		if gap > 0 && samples[i].At.Sub(samples[i-1].At) > gap {
			parts, begin = append(parts, samples[begin:i]), i
		}
	}
	return append(parts, samples[begin:])
}

func (h *History) add(part []Sample, p plot) {
	borrowed, waiting, limited := false, false, false
	own := func(s Sample) float64 {
		if s.Limit < 0 {
			return s.Used
		}
		return min(s.Used, s.Limit)
	}
	for _, s := range part {
		borrowed = borrowed || s.Used > own(s)
		waiting = waiting || s.Waiting > 0
		limited = limited || s.Limit >= 0
	}
	none := func(Sample) float64 { return 0 }
	used := func(s Sample) float64 { return s.Used }
	h.Own = append(h.Own, p.area(part, none, own))
	h.Used = append(h.Used, p.line(part, used))
	if borrowed {
		h.AnyBorrowed, h.Borrowed = true, append(h.Borrowed, p.area(part, own, used))
	}
	if waiting {
		h.AnyWaiting, h.Waiting = true, append(h.Waiting, p.line(part, func(s Sample) float64 { return s.Used + s.Waiting }))
	}
	if limited {
		h.AnyLimit = true
		h.Limit = append(h.Limit, p.line(part, func(s Sample) float64 { return max(s.Limit, 0) }))
	}
}

// corners are the points of a step line: a value lasts until the next sample.
func (p plot) corners(part []Sample, value func(Sample) float64) []string {
	var out []string
	last := math.NaN()
	for i, s := range part {
		x, y := p.x(float64(s.At.UnixMilli())), p.y(value(s))
		if i > 0 && y != last {
			out = append(out, point(x, last))
		}
		if i == 0 || y != last || i == len(part)-1 {
			out = append(out, point(x, y))
		}
		last = y
	}
	if len(part) == 1 { // one sample gets a visible width
		out = append(out, point(p.x(float64(part[0].At.UnixMilli()))+Across/250, last))
	}
	return out
}

func (p plot) line(part []Sample, value func(Sample) float64) string {
	return strings.Join(p.corners(part, value), " ")
}

func (p plot) area(part []Sample, low, high func(Sample) float64) string {
	top, bottom := p.corners(part, high), p.corners(part, low)
	var b strings.Builder
	b.WriteString("M" + strings.Join(top, "L"))
	for _, corner := range slices.Backward(bottom) {
		b.WriteString("L" + corner)
	}
	return b.String() + "Z"
}

func point(x, y float64) string { return Fixed(x, 1) + "," + Fixed(y, 1) }
