package views

import (
	"net/url"
	"strconv"

	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// SweepPrefix is the prefix of the controls of a sweep in the launch form.
const SweepPrefix = "sweep."

// How an input gets many values in the form.
const (
	ManyValues       = "values"
	ManyRange        = "range"
	ManyDistribution = "distribution"
)

// ManyField takes many values for one input.
type ManyField struct {
	Path, Label string
	On          bool
	Number      bool // ranges and distributions are possible
	Kind        string

	Values  string     // separated by commas, or one in each line
	Lines   bool       // one in each line
	Options []ManyPick // of an Enum or Boolean, instead of Values
	Help    string

	From, To, Scale, Steps, Step  string // of a range
	Distribution, Mean, Deviation string
	Distributions                 []ui.Option
	Errors                        []string
}

// ManyPick is a value that can be chosen.
type ManyPick struct {
	Value, Name string
	On          bool
}

// name is the name of a control.
func (f ManyField) name(part string) string { return SweepPrefix + part + "." + f.Path }

// ManyID is the id of a control of an input with many values.
func ManyID(part, path string) string { return "many-" + part + "-" + slugged(path) }

func (f ManyField) id(part string) string { return ManyID(part, f.Path) }

// slugged is a text as part of an id.
func slugged(text string) string {
	out := make([]rune, 0, len(text))
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			out = append(out, r)
		default:
			out = append(out, []rune("~"+strconv.FormatInt(int64(r), 16))...)
		}
	}
	return string(out)
}

// LaunchSweep is the part of the launch form about a sweep.
type LaunchSweep struct {
	Action     string // address that takes the form
	Once       string // address of the form that launches one execution
	Errors     map[string]string
	Methods    []SweepCard
	Rules      []SweepCard
	Runs       string
	Parallel   string
	Kind       string // of the objective: "", "metric" or "output"
	Kinds      []ui.Option
	Objective  string
	Known      []string // metrics of earlier executions and outputs of the workflow
	Lower      bool     // lower is better
	Last       bool     // the last value of the metric counts, not its best
	MinStep    string
	MinRuns    string
	Factor     string
	GPUHours   string
	Seed       string
	Estimate   SweepEstimate
	ManyErrors []ManyErrors // of every input, also of those without
}

// SweepCard is one choice of a method or rule.
type SweepCard struct {
	Value, Name, Text string
	On                bool
}

// ManyErrors are the errors of one input with many values.
type ManyErrors struct {
	Path  string
	Texts []string
}

// SweepEstimate is what is known before a sweep starts.
type SweepEstimate struct {
	Ready    bool
	Tone     string // "ok", "wait" or "no"
	Headline string // "60 runs, about 3 h 20 min, 14 GPU-hours"
	Verdicts []Verdict
	Facts    []ui.Fact
	Summary  string // for the bar
	Button   string // "Launch 60 runs"
	Columns  []string
	First    [][]string // values of the first runs
}

// state is the state symbol of the bar.
func (e SweepEstimate) state() string { return verdictIcon(e.Tone) }

// SweepLaunchURL is the form that launches a sweep.
func SweepLaunchURL(ref string) string { return WorkflowURL(ref) + "/sweep" }

// SweepLaunchQueryURL fills in the form that launches a sweep.
func SweepLaunchQueryURL(ref string, q url.Values) string { return withQuery(SweepLaunchURL(ref), q) }

// manyErrorLine is a line of the error summary.
func manyErrorLine(f ManyField, text string) forms.ErrorLine {
	return forms.ErrorLine{Target: f.id("on"), Label: f.Label, Text: text}
}

// ErrorLines are the lines of the error summary about one input.
func (f ManyField) ErrorLines() []forms.ErrorLine {
	var lines []forms.ErrorLine
	for _, text := range f.Errors {
		lines = append(lines, manyErrorLine(f, text))
	}
	return lines
}
