// Package document reads the Markdown of reports: text, and the live blocks between it.
package document

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/data/markdown"
)

// Kind is what a block shows.
type Kind string

// The kinds of blocks.
const (
	Table     Kind = "table"
	Chart     Kind = "chart"
	Artifact  Kind = "artifact"
	Execution Kind = "execution"
	Sweep     Kind = "sweep"
)

// Limits of documents and their blocks.
const (
	MaxBlocks   = 40
	maxOptions  = 4096 // bytes of the options of a block
	tableRows   = 10
	tableMost   = 100
	chartRuns   = 10
	chartMost   = 50
	chartsMost  = 12 // metrics of one block
	columnsMost = 30
)

// Block is a live part of a report. Fields that its kind does not have are empty.
type Block struct {
	Kind  Kind
	Line  int    // of its fence, from 1
	Title string // "" without one

	// Executions of a table or a chart: a saved view, a query, or a list.
	View       string
	Where      string
	Executions []string
	Sort       string
	Limit      int
	Columns    []string

	// Of a chart.
	Metrics  []string
	Axis     string // "step", "time" or "relative"
	Log      bool
	Smooth   int // percent, 0 to 95
	Outliers bool

	ID string // of an artifact, an execution or a sweep
}

// Part is HTML without scripts, or a block.
type Part struct {
	HTML  string
	Block *Block
}

// Problem is a mistake in a document.
type Problem struct {
	Line    int
	Message string
}

// String is the message with its line.
func (p Problem) String() string { return fmt.Sprintf("Line %d: %s", p.Line, p.Message) }

// Document is a report.
type Document struct {
	Parts    []Part
	Problems []Problem // by line; a block with a problem is missing from Parts
}

var directive = regexp.MustCompile(`^\{([^}]*)\}(.*)$`)

// Parse reads a report. It fails only for Markdown that cannot be rendered.
func Parse(text string) (Document, error) {
	pieces, nested, err := markdown.Split([]byte(text), directive.MatchString)
	if err != nil {
		return Document{}, fmt.Errorf("read the report: %w", err)
	}
	var d Document
	blocks := 0
	for _, p := range pieces {
		if p.Fence == nil {
			d.Parts = append(d.Parts, Part{HTML: p.HTML})
			continue
		}
		if blocks++; blocks > MaxBlocks {
			d.Problems = append(d.Problems, Problem{p.Fence.Line, fmt.Sprintf("A report can have at most %d live blocks. Remove some, or write a second report.", MaxBlocks)})
			break
		}
		block, problems := blockOf(*p.Fence)
		if len(problems) > 0 {
			d.Problems = append(d.Problems, problems...)
			continue
		}
		d.Parts = append(d.Parts, Part{Block: &block})
	}
	for _, f := range nested {
		d.Problems = append(d.Problems, Problem{f.Line, "A live block cannot be inside a list or a quote. Begin its line with the three backticks."})
	}
	slices.SortStableFunc(d.Problems, func(a, b Problem) int { return a.Line - b.Line })
	return d, nil
}

// Blocks are the blocks of the document.
func (d Document) Blocks() []Block {
	var list []Block
	for _, p := range d.Parts {
		if p.Block != nil {
			list = append(list, *p.Block)
		}
	}
	return list
}

// blockOf reads a block.
func blockOf(f markdown.Fence) (Block, []Problem) {
	name := directive.FindStringSubmatch(f.Info)
	kind := Kind(strings.TrimSpace(name[1]))
	known, ok := optionsOf(kind)
	if !ok {
		return Block{}, []Problem{{f.Line, fmt.Sprintf("There is no block {%s}. Use {table}, {chart}, {artifact}, {execution} or {sweep}.", shorten(string(kind)))}}
	}
	if rest := strings.TrimSpace(name[2]); rest != "" {
		return Block{}, []Problem{{f.Line, fmt.Sprintf("Remove %q after {%s}: write options on the lines below.", shorten(rest), kind)}}
	}
	settings, problems := readOptions(f)
	b := Block{Kind: kind, Line: f.Line, Limit: tableRows, Axis: "step"}
	if kind == Chart {
		b.Limit = chartRuns
	}
	seen := map[string]bool{}
	for _, s := range settings {
		set, ok := known[s.name]
		switch {
		case !ok:
			problems = append(problems, Problem{s.line, fmt.Sprintf("{%s} has no option %q. Its options are %s.", kind, shorten(s.name), names(known))})
		case seen[s.name]:
			problems = append(problems, Problem{s.line, fmt.Sprintf("The option %s is set twice.", s.name)})
		default:
			if message := set(&b, s.values); message != "" {
				problems = append(problems, Problem{s.line, message})
			}
		}
		seen[s.name] = true
	}
	if len(problems) == 0 {
		if message := b.incomplete(); message != "" {
			problems = append(problems, Problem{f.Line, message})
		}
	}
	return b, problems
}

// incomplete is what a block lacks, or the options that exclude each other.
func (b Block) incomplete() string {
	switch b.Kind {
	case Chart:
		switch {
		case len(b.Metrics) == 0:
			return "{chart} needs a metric, such as metric: accuracy."
		case len(b.Executions) > 0 && (b.View != "" || b.Where != ""):
			return "Use executions, or view and where, not both."
		}
	case Artifact, Execution, Sweep:
		if b.ID == "" {
			return fmt.Sprintf("{%s} needs an id, such as id: 0197c3f2-….", b.Kind)
		}
	case Table:
	}
	return ""
}

func names[V any](known map[string]V) string {
	list := make([]string, 0, len(known))
	for name := range known {
		list = append(list, name)
	}
	slices.Sort(list)
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

func shorten(text string) string {
	if letters := []rune(text); len(letters) > 60 {
		return string(letters[:60]) + "…"
	}
	return text
}
