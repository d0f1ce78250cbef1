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

// Timeline is the geometry of a timeline, 960 wide.
type Timeline struct {
	Label, ViewBox string
	Bottom         string
	Ticks          []TimelineTick
	Rows           []TimelineRow
	NowX           string // "" draws no line
}

// TimelineTick is a grid line with its clock time.
type TimelineTick struct{ X, Text, Anchor string }

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
	timelineWidth         = 960.0
	timelineLeft          = 190.0
	timelineRight         = 950.0
	rowHeight             = 25.0
	timelineHead          = 26.0
	minBar                = 2.0
	minWait               = 4.0 // shorter waits are not drawn
	labelRunes            = 26
	cutRoom       float64 = 14
)

// NewTimeline lays out rows in the order given.
func NewTimeline(rows []Row, o TimelineOptions) Timeline {
	if !o.To.After(o.From) {
		o.To = o.From.Add(time.Second)
	}
	x := func(t time.Time) float64 {
		share := float64(t.Sub(o.From)) / float64(o.To.Sub(o.From))
		return timelineLeft + min(max(share, 0), 1)*(timelineRight-timelineLeft)
	}
	height := timelineHead + rowHeight*float64(len(rows))
	tl := Timeline{Label: o.Label, ViewBox: "0 0 " + Fixed(timelineWidth, 0) + " " + Fixed(height, 0), Bottom: Fixed(height, 0)}
	for _, t := range timeTicks(o.From, o.To, 6, o.Zone) {
		at := x(t.At)
		anchor := "middle"
		if at > timelineRight-24 {
			anchor = "end"
		}
		tl.Ticks = append(tl.Ticks, TimelineTick{X: Fixed(at, 1), Text: t.Text, Anchor: anchor})
	}
	for i, r := range rows {
		y := timelineHead + rowHeight*float64(i)
		row := TimelineRow{Name: cut(r.Name), FullName: r.Name, URL: r.URL, TextY: Fixed(y+12, 0), Note: r.Note, NoteX: Fixed(timelineLeft, 0)}
		if !o.Now.IsZero() {
			row.NoteX = Fixed(min(x(o.Now)+8, timelineRight-44), 1)
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
		tl.NowX = Fixed(x(o.Now), 1)
	}
	return tl
}

func bar(s Span, x func(time.Time) float64, y float64) TimelineBar {
	from, to := x(s.From), x(s.To)
	w := max(to-from, minBar)
	b := TimelineBar{State: s.State, X: Fixed(from, 1), Y: Fixed(y, 0), W: Fixed(w, 1), H: "16", Title: s.Title}
	if s.State == "" {
		b.Wait, b.Y, b.H = true, Fixed(y+4, 0), "8"
	}
	if s.State == "FAILED" && w > cutRoom {
		b.Cut, b.CutX, b.CutY = true, Fixed(from+w/2, 1), Fixed(y+8, 0)
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
