// Package ui contains the components that pages share: states, bars, charts, times and
// the small elements of the design language. Components take formatted values and fetch
// nothing.
package ui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views/chart"
)

// Moment is a formatted point in time: a short text, the exact time with its zone for the
// tooltip, and the machine-readable form.
type Moment struct{ Text, Exact, ISO string }

// Crumb is one entry of the breadcrumbs; the last has no URL.
type Crumb struct{ Name, URL string }

// Fact is one line of a list of facts. URL makes the value a link, Note follows it in a
// muted colour, Mono uses the monospace font.
type Fact struct {
	Name, Value, URL, Note string
	Mono                   bool
	Moment                 *Moment // shown instead of Value
	Copy                   string  // what the button copies; "" shows none
	Since                  string  // RFC 3339: Value is the time since then
}

// Tab is a link of a row of tabs.
type Tab struct {
	Name, URL, Icon, Count string
	Current                bool
}

// Choice is a link of a segmented choice.
type Choice struct {
	Name, URL, Count string
	Current          bool
}

// Option is an entry of a select.
type Option struct {
	Value, Name string
	Selected    bool
}

// Pager moves through a keyset: no page numbers and no totals that cost a scan.
type Pager struct {
	Text         string // "Rows 1 to 50"
	Newer, Older string // URLs, or ""
	InOrder      bool   // the rows are not ordered by time: the links are Previous and Next
}

func (p Pager) names() (newer, older string) {
	if p.InOrder {
		return "Previous", "Next"
	}
	return "Newer", "Older"
}

// Action is a link or button of an empty state or notice.
type Action struct {
	Name, URL, Icon string
	Primary         bool
}

// stateWords lists the states in the fixed order of bars and legends.
func stateWords() []struct{ state, word string } {
	return []struct{ state, word string }{
		{"SUCCEEDED", "succeeded"}, {"RUNNING", "running"}, {AwaitingApproval, "awaiting approval"}, {"RETRYING", "retrying"}, {"FAILED", "failed"},
		{"QUEUED", "queued"}, {"READY", "waiting"}, {"PENDING", "pending"}, {"SKIPPED", "skipped"}, {"OMITTED", "skipped"}, {"CANCELLED", "cancelled"},
	}
}

// AwaitingApproval is the displayed state of nodes and executions that await approval; in the
// engine they are running.
const AwaitingApproval = "APPROVAL"

// Word returns the displayed name of a state: READY is "Waiting".
func Word(state string) string {
	for _, s := range stateWords() {
		if s.state == state {
			return strings.ToUpper(s.word[:1]) + s.word[1:]
		}
	}
	if state == "" {
		return "Unknown"
	}
	return strings.ToUpper(state[:1]) + strings.ToLower(state[1:])
}

// Count is the number of things in a state, with a link to their list.
type Count struct {
	State string
	N     int
	URL   string
}

// Bar is a bar of states in fixed order, with its legend.
type Bar struct {
	Label    string // the whole bar in words
	Percent  string // finished share, "64 %"
	Segments []Segment
	Legend   []Legend
}

// Segment is one coloured part of a bar, in percent of its width.
type Segment struct{ State, X, Width string }

// Legend is one entry below a bar: "6,415 succeeded".
type Legend struct{ State, Text, URL string }

// NewBar lays out counts of noun ("nodes"). A state with a count above 0 is at least half
// a percent wide.
func NewBar(noun string, counts []Count) Bar {
	total, done := 0, 0
	by := map[string]Count{}
	for _, c := range counts {
		total += c.N
		by[c.State] = c
		if slices.Contains([]string{"SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"}, c.State) {
			done += c.N
		}
	}
	if total == 0 {
		return Bar{Label: "No " + noun, Percent: "0 %"}
	}
	bar := Bar{Percent: units.Number(int64(done*100/total)) + " %"}
	var words []string
	x := 0.0
	for _, s := range stateWords() {
		c := by[s.state]
		if c.N == 0 {
			continue
		}
		text := units.Number(int64(c.N)) + " " + s.word
		words = append(words, text)
		bar.Legend = append(bar.Legend, Legend{State: s.state, Text: text, URL: c.URL})
		width := max(float64(c.N)*100/float64(total), 0.5)
		bar.Segments = append(bar.Segments, Segment{State: s.state, X: percent(x), Width: percent(min(width, 100-x))})
		x = min(x+width, 100)
	}
	bar.Label = units.Number(int64(total)) + " " + noun + ": " + strings.Join(words, ", ")
	return bar
}

// ProgressBar is a bar of one state that is percent full.
func ProgressBar(state string, done int, label string) Bar {
	done = min(max(done, 0), 100)
	return Bar{Label: label, Percent: units.Number(int64(done)) + " %", Segments: []Segment{{State: state, X: "0%", Width: percent(float64(done))}}}
}

func percent(v float64) string { return chart.Fixed(v, 2) + "%" }

// Initials returns up to two initials of a name.
func Initials(name string) string {
	var out []rune
	for word := range strings.FieldsSeq(name) {
		out = append(out, []rune(strings.ToUpper(word))[0])
		if len(out) == 2 {
			break
		}
	}
	return cmp.Or(string(out), "?")
}

func noticeIcon(kind string) string {
	switch kind {
	case "ok":
		return "check"
	case "warn", "error":
		return "warn"
	default:
		return "info"
	}
}
