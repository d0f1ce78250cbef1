// Package sheet compares the facts of several executions: which of them differ, by how much
// they differ from a baseline, and which value is the best. It is pure.
package sheet

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Section is a group of rows.
type Section string

// The sections, in their order on pages.
const (
	Summary     Section = "summary"
	Inputs      Section = "inputs"
	Metrics     Section = "metrics"
	Outputs     Section = "outputs"
	Definition  Section = "definition"
	Code        Section = "code"
	Environment Section = "environment"
	Resources   Section = "resources"
	Artifacts   Section = "artifacts"
)

// Sections returns all sections in order.
func Sections() []Section {
	return []Section{Summary, Inputs, Metrics, Outputs, Definition, Code, Environment, Resources, Artifacts}
}

// Unit describes how a number is to be shown.
type Unit string

// The units; "" is a plain number.
const (
	Seconds Unit = "seconds"
	Hours   Unit = "hours"
	Bytes   Unit = "bytes"
)

// Statistic is what a row of a metric contains.
type Statistic string

// The statistics of metrics; "" for other rows.
const (
	Last Statistic = "last"
	Min  Statistic = "min"
	Max  Statistic = "max"
)

// Fact is one property of an execution.
type Fact struct {
	Section   Section
	Path      string // such as optimizer.lr, or train.loss
	Statistic Statistic
	Value     any    // as JSON
	Same      string // what is compared instead of Value, such as a hash; "": the value
	Artifact  string // the ID of the artifact that the value refers to
	Unit      Unit
	Better    Direction
}

// Direction specifies which of two numbers is better.
type Direction string

// The directions; "" for values without one.
const (
	Higher Direction = "higher"
	Lower  Direction = "lower"
)

// Cell is the value of a row for one execution.
type Cell struct {
	Present  bool
	Value    any
	Artifact string
	Changed  bool     // it differs from the baseline
	Delta    *float64 // its distance from the baseline, for numbers
	Best     bool
}

// Row is one property of all executions.
type Row struct {
	Section   Section
	Path      string
	Statistic Statistic
	Unit      Unit
	Better    Direction
	Differs   bool // not all values are equal
	Cells     []Cell
}

type rowKey struct {
	section   Section
	path      string
	statistic Statistic
}

// Compare puts the facts of executions side by side, by section and path. The first fact of a
// path counts. baseline is the index of the execution that the others are compared with.
func Compare(columns [][]Fact, baseline int) []Row {
	at := map[rowKey]int{}
	var rows []Row
	same := map[rowKey][]string{}
	for c, facts := range columns {
		for _, f := range facts {
			key := rowKey{f.Section, f.Path, f.Statistic}
			i, known := at[key]
			if !known {
				i = len(rows)
				at[key] = i
				rows = append(rows, Row{Section: f.Section, Path: f.Path, Statistic: f.Statistic, Unit: f.Unit, Better: f.Better, Cells: make([]Cell, len(columns))})
				same[key] = make([]string, len(columns))
			}
			if rows[i].Cells[c].Present {
				continue
			}
			rows[i].Cells[c] = Cell{Present: true, Value: f.Value, Artifact: f.Artifact}
			same[key][c] = cmp.Or(f.Same, identity(f.Value))
		}
	}
	for key, i := range at {
		rows[i].compare(same[key], baseline)
	}
	sections := Sections()
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(slices.Index(sections, a.Section), slices.Index(sections, b.Section)), sortedPath(a, b))
	})
	return rows
}

// sortedPath keeps the order of the summary and sorts the other sections.
func sortedPath(a, b Row) int {
	if a.Section == Summary {
		return 0
	}
	return cmp.Compare(a.Path, b.Path)
}

// compare marks differences, distances and the best value; same is what is compared.
func (r *Row) compare(same []string, baseline int) {
	base, comparable := Number(r.Cells[baseline].Value)
	for i := range r.Cells {
		c := &r.Cells[i]
		r.Differs = r.Differs || c.Present != r.Cells[0].Present || same[i] != same[0]
		c.Changed = c.Present != r.Cells[baseline].Present || same[i] != same[baseline]
		if v, ok := Number(c.Value); ok && comparable && i != baseline && c.Present {
			if d := v - base; !math.IsNaN(d) && !math.IsInf(d, 0) {
				c.Delta = &d
			}
		}
	}
	if !r.Differs || r.Better == "" {
		return
	}
	best, found := 0.0, false
	for _, c := range r.Cells {
		if v, ok := Number(c.Value); ok && !math.IsNaN(v) && (!found || r.Better == Higher && v > best || r.Better == Lower && v < best) {
			best, found = v, true
		}
	}
	for i := range r.Cells {
		v, ok := Number(r.Cells[i].Value)
		r.Cells[i].Best = ok && found && v == best
	}
}

// Number returns a value as a number, and whether it is one.
func Number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}

// Text is a value on one line: texts as they are, whole numbers with all digits, other numbers in
// their shortest form, references by name, and the rest as JSON.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			return v.String()
		}
	case map[string]any:
		for _, key := range []string{"$catalogue", "$secret", "$connection"} {
			if name, ok := v[key].(string); ok {
				return name
			}
		}
	}
	if f, ok := Number(v); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// Rest returns the rows that are equal in all executions, and those that differ.
func Rest(rows []Row) (same, differing []Row) {
	for _, r := range rows {
		if r.Differs {
			differing = append(differing, r)
			continue
		}
		same = append(same, r)
	}
	return same, differing
}
