package dagview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

// NodeState is the state of one item.
type NodeState struct {
	State    string // "" paints a plan without states
	Sub      string // the most useful fact: duration, progress, reason
	Progress int    // 1 to 100 shows a thin bar, 0 none
	Since    string // RFC 3339: Sub is the time elapsed since then

	// For an item that expands:
	Icon string // of an item without a state

	Times    string // after its name: "× 1,000"
	Note     string // a second line
	Children []ui.Count
}

// Links builds the URL of a box.
type Links struct {
	Node  func(index int) string
	Group func(box Box) string
}

// Picture is a drawing with states.
type Picture struct {
	ID            string // prefix of element ids, unique on the page
	Width, Height int
	Label         string
	Boxes         []Shape
	Exit          *Divide
	Fit           bool // may shrink to its frame if it is slightly wider
}

// Frame describes the viewer around a picture.
type Frame struct {
	Name    string // accessible name: "Graph"
	ListURL string // list in which to search the nodes of a group, or ""
	Around  bool   // starts with the current box and the columns next to it
}

// size is the class that lets the picture shrink to its frame while staying legible.
func (p Picture) size() string {
	switch {
	case !p.Fit || p.Width < fitFrom || p.Width > 2400:
		return "dag-full"
	case p.Width > 1440:
		return "dag-fit dag-fit-wide"
	}
	return "dag-fit"
}

// fitFrom is the width from which a picture may shrink: a smaller one would grow.
const fitFrom = 736

// inset is the x offset of the texts of a box, after its icon.
func (s Shape) inset() int {
	if s.State == "" && s.Icon == "" {
		return 12
	}
	return nameInset
}

// noteAt is the baseline of the note: below the bar of a box with states.
func (s Shape) noteAt() int {
	if s.State == "" {
		return 54
	}
	return 72
}

// Shape is one painted box with its incoming lines. A change of state redraws the box, and
// its dependents because of their lines.
type Shape struct {
	ID, State, Title, FullTitle, Sub, FullSub, Note, URL string
	Since                                                string // Sub is the time elapsed since then
	Icon                                                 string // of a box without a state
	X, Y, W, H                                           int
	Group, Current                                       bool
	Bars                                                 []Rect
	Lines                                                []Stroke
}

// Rect is a part of a bar inside a box.
type Rect struct{ State, X, Width string }

// Stroke is a line with the class of its state.
type Stroke struct{ Class, Path, Arrow, Title string }

// Painter paints one drawing with one set of states.
type Painter struct {
	ID       string
	Drawing  *Drawing
	States   []NodeState // by item
	Names    []string    // by item
	Selected int         // item shown in the panel, -1 for none
	Links    Links
	Fit      bool // see Picture
}

// Picture paints the whole drawing.
func (p Painter) Picture(label string) Picture {
	pic := Picture{ID: p.ID, Width: p.Drawing.Width, Height: p.Drawing.Height, Label: label, Fit: p.Fit, Exit: p.Drawing.Exit}
	for b := range p.Drawing.Boxes {
		pic.Boxes = append(pic.Boxes, p.Shape(b))
	}
	return pic
}

// Shape paints one box.
func (p Painter) Shape(b int) Shape {
	box := p.Drawing.Boxes[b]
	s := Shape{
		ID: p.ID + "-" + box.Key, X: box.X, Y: box.Y, W: box.W, H: box.H, Group: box.Group(),
		State: p.stateOf(b), FullTitle: box.Title,
	}
	if box.Group() {
		p.paintGroup(&s, box)
	} else {
		i := box.Members[0]
		s.FullTitle = p.Names[i]
		if t := p.States[i].Times; t != "" {
			s.FullTitle += " " + t
		}
		s.Title = fit(s.FullTitle, float64(box.W-nameInset-8), nameSize)
		s.Sub = fit(p.States[i].Sub, float64(box.W-nameInset-8), subSize)
		s.FullSub, s.Since, s.Icon = p.States[i].Sub, p.States[i].Since, p.States[i].Icon
		s.Current = i == p.Selected
		if p.Links.Node != nil {
			s.URL = p.Links.Node(i)
		}
		if n := p.States[i].Progress; n > 0 && s.State == "RUNNING" {
			s.Bars = []Rect{{State: "RUNNING", X: chart.Fixed(float64(box.X+1), 0), Width: chart.Fixed(float64(box.W-2)*float64(min(n, 100))/100, 1)}}
		}
		if box.Expands {
			s.Group, s.Bars = true, bars(box, p.States[i].Children)
			s.Note = fit(p.States[i].Note, float64(box.W-24), subSize)
		}
	}
	for _, l := range p.Drawing.Incoming[b] {
		line := p.Drawing.Lines[l]
		s.Lines = append(s.Lines, Stroke{Class: p.lineClass(line), Path: line.Path, Arrow: line.Arrow, Title: line.Text})
	}
	return s
}

// bars is the histogram inside a box.
func bars(box Box, counts []ui.Count) []Rect {
	total := 0
	for _, c := range counts {
		total += c.N
	}
	inner, x := float64(box.W-24), float64(box.X+12)
	var rects []Rect
	for _, c := range counts {
		if c.N == 0 {
			continue
		}
		w := inner * float64(c.N) / float64(total)
		rects = append(rects, Rect{State: c.State, X: chart.Fixed(x, 1), Width: chart.Fixed(max(w, 2), 1)})
		x += w
	}
	return rects
}

// CountTexts lists the number of nodes per state, short enough for a box.
func CountTexts(counts []ui.Count) []string {
	var texts []string
	for _, c := range counts {
		if c.N > 0 {
			texts = append(texts, units.Number(int64(c.N))+" "+groupWord(c.State))
		}
	}
	return texts
}

func (p Painter) paintGroup(s *Shape, box Box) {
	s.FullTitle = box.Title + " × " + units.Number(int64(len(box.Members)))
	s.Title = fit(s.FullTitle, float64(box.W-nameInset-10), nameSize)
	if p.Links.Group != nil {
		s.URL = p.Links.Group(box)
	}
	s.Current = p.Selected >= 0 && slices.Contains(box.Members, p.Selected)
	if s.State == "" {
		s.Sub, s.FullSub = "similar nodes", "similar nodes"
		return
	}
	counts := p.counts(box)
	s.Bars = bars(box, counts)
	texts := CountTexts(counts)
	s.FullSub = strings.Join(texts[:min(2, len(texts))], " · ")
	s.Sub = fit(s.FullSub, float64(box.W-nameInset-8), subSize)
	if len(texts) > 2 {
		s.Note = fit(strings.Join(texts[2:], ", "), float64(box.W-24), subSize)
	}
}

// groupWord is a word for a state that fits a box.
func groupWord(state string) string {
	switch state {
	case "SUCCEEDED":
		return "done"
	case "READY":
		return "wait"
	}
	return strings.ToLower(ui.Word(state))
}

// counts of a group, in the order of bars.
func (p Painter) counts(box Box) []ui.Count {
	by := map[string]int{}
	for _, m := range box.Members {
		by[p.States[m].State]++
	}
	var counts []ui.Count
	for _, state := range []string{"SUCCEEDED", "RUNNING", "RETRYING", "FAILED", "QUEUED", "READY", "PENDING", "SKIPPED", "CANCELLED"} {
		counts = append(counts, ui.Count{State: state, N: by[state]})
	}
	return counts
}

// stateOf is the state of a box; for a group, the most important state of its members.
func (p Painter) stateOf(b int) string {
	box := p.Drawing.Boxes[b]
	if !box.Group() {
		return p.States[box.Members[0]].State
	}
	by := map[string]int{}
	for _, m := range box.Members {
		by[p.States[m].State]++
	}
	for _, s := range []string{"RUNNING", "RETRYING", "FAILED", "QUEUED", "READY", "CANCELLED"} {
		if by[s] > 0 {
			return s
		}
	}
	switch {
	case by["PENDING"] > 0 && by["SUCCEEDED"] > 0:
		return "RUNNING"
	case by["PENDING"] > 0:
		return "PENDING"
	case by["SUCCEEDED"] > 0:
		return "SUCCEEDED"
	case by["SKIPPED"] > 0:
		return "SKIPPED"
	}
	return ""
}

func (p Painter) lineClass(l Line) string {
	from, to := p.stateOf(l.From), p.stateOf(l.To)
	class := "edge"
	if l.Failure {
		class = "edge edge-failure"
	}
	switch {
	case to == "SKIPPED", to == "OMITTED", to == "CANCELLED", from == "SKIPPED", from == "OMITTED":
		return class + " edge-off"
	case to == "RUNNING":
		return class + " edge-live"
	case from == "SUCCEEDED" && to != "PENDING":
		return class + " edge-done"
	}
	return class
}

// path is the line.
func (d Divide) path() string { return fmt.Sprintf("M%d %dL%d %d", d.X1, d.Y1, d.X2, d.Y2) }

func number(n int) string { return fmt.Sprint(n) }

func viewBox(w, h int) string { return fmt.Sprintf("0 0 %d %d", w, h) }

func stateName(state string) string {
	if state == "" {
		return "PLAN"
	}
	return state
}

// name is the accessible name of a link without a state: the texts of its box.
func (s Shape) name() string {
	texts := []string{s.Title, s.Sub}
	if s.Group {
		texts = append(texts, s.Note)
	}
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), " ")
}
