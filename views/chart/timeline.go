package chart

import (
	"time"
)

// Span is a stretch of one row of a timeline.
type Span struct {
	State    string // colour; "" draws the dotted outline of waiting
	From, To time.Time
	Title    string
}

// Row is one node or group of a timeline.
type Row struct {
	Name, URL string
	Spans     []Span
	Note      string // text instead of bars: "pending"
}

// TimelineOptions frame a timeline.
type TimelineOptions struct {
	From, To time.Time // of the axis
	Now      time.Time // draws the now line, unless zero
	Zone     *time.Location
	Label    string
}

// Timeline is the geometry of a timeline. Names are left of its plot.
type Timeline struct {
	Label  string
	Bottom string // the height in pixels
	Ticks  []Tick
	Rows   []TimelineRow
	NowX   string // "" draws no line
}

// TimelineRow is one row as geometry.
type TimelineRow struct {
	Name, URL, FullName string
	TextY               string
	Bars                []TimelineBar
	NoteX, Note         string
}

// TimelineBar is one bar. Wait bars are outlines; a cut is the × of a failure.
type TimelineBar struct {
	State, X, Y, W, H, Title string
	Wait, Cut                bool
	CutX, CutY               string
}

const (
	rowHeight    = 25.0
	timelineHead = 26.0
	minBar       = Across / 400 // about 2 pixels
	minWait      = Across / 200 // shorter waits are not drawn
	minCross     = Across / 50  // shorter failures have no ×
	labelRunes   = 26
)

// NewTimeline lays out rows in the order given.
func NewTimeline(rows []Row, o TimelineOptions) Timeline {
	if !o.To.After(o.From) {
		o.To = o.From.Add(time.Second)
	}
	x := func(t time.Time) float64 {
		share := float64(t.Sub(o.From)) / float64(o.To.Sub(o.From))
		return min(max(share, 0), 1) * Across
	}
	height := timelineHead + rowHeight*float64(len(rows))
	tl := Timeline{Label: o.Label, Bottom: Fixed(height, 0)}
	for _, t := range timeTicks(o.From, o.To, 6, o.Zone) {
		tl.Ticks = append(tl.Ticks, Tick{At: percent(x(t.At)), Text: t.Text})
	}
	for i, r := range rows {
		y := timelineHead + rowHeight*float64(i)
		row := TimelineRow{Name: cut(r.Name), FullName: r.Name, URL: r.URL, TextY: Fixed(y+12, 0), Note: r.Note, NoteX: percent(0)}
		if !o.Now.IsZero() {
			row.NoteX = percent(min(x(o.Now), 0.92*Across))
		}
		for _, s := range r.Spans {
			if s.State == "" && x(s.To)-x(s.From) < minWait {
				continue
			}
			row.Bars = append(row.Bars, bar(s, x, y))
		}
		tl.Rows = append(tl.Rows, row)
	}
	if !o.Now.IsZero() {
		tl.NowX = percent(x(o.Now))
	}
	return tl
}

func bar(s Span, x func(time.Time) float64, y float64) TimelineBar {
	from, to := x(s.From), x(s.To)
	w := max(to-from, minBar)
	b := TimelineBar{State: s.State, X: percent(from), Y: Fixed(y, 0), W: percent(w), H: "16", Title: s.Title}
	if s.State == "" {
		b.Wait, b.Y, b.H = true, Fixed(y+4, 0), "8"
	}
	if s.State == "FAILED" && w > minCross {
		b.Cut, b.CutX, b.CutY = true, percent(from+w/2), Fixed(y+8, 0)
	}
	return b
}

func cut(name string) string {
	runes := []rune(name)
	if len(runes) <= labelRunes {
		return name
	}
	return string(runes[:labelRunes-1]) + "…"
}
