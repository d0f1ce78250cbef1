package views

import (
	"math"
	"strconv"
)

// Plots are drawings of many runs, which share their columns and the choice of the reader.
type Plots struct {
	Name       string // of the files of drawings
	DataURL    string // of the columns, or "" with Frame
	Frame      string // the columns as JSON
	VersionOf  string // selector of the element whose data-version changes with the columns; "" if they do not
	Objective  string // name of the objective, or ""
	Orders     []PlotOrder
	Importance Importance
}

// PlotOrder is a horizontal axis of the history of the best.
type PlotOrder struct{ Name, Value string }

// Importance describes how much each input explains of the objective.
type Importance struct {
	Rows []ImportanceRow
	For  string // the objective
	Note string // the method and what it used, or why there is none
}

// ImportanceRow is the share of one input.
type ImportanceRow struct {
	Name  string
	Title string // the full name
	Text  string // "0.64"
	Error string // "± 0.05", or ""
	Note  string // "best near 0.003"
	Width string // share of the bar, "64%"
	From  string // of the error, "59%"
	To    string
}

// hasOrders reports whether the history of the best has several axes.
func (p Plots) hasOrders() bool { return len(p.Orders) > 1 }

// PlotFrame is the columns of runs that the script draws.
type PlotFrame struct {
	IDs       []string     `json:"ids"` // URLs continues with them
	Names     []string     `json:"names"`
	States    []string     `json:"states"`
	URLs      string       `json:"urls"`
	Colors    []int        `json:"colors"` // of the execution, from 0
	Dashes    []int        `json:"dashes"`
	Columns   []PlotColumn `json:"columns"`
	Objective int          `json:"objective"` // index of a column, -1 for none
	Best      int          `json:"best"`      // index of a run, -1 for none
}

// Add adds a run without values.
func (f *PlotFrame) Add(id, name, state string, style RunStyle) {
	f.IDs, f.Names, f.States = append(f.IDs, id), append(f.Names, name), append(f.States, state)
	f.Colors, f.Dashes = append(f.Colors, style.Color), append(f.Dashes, style.Dash)
}

// PlotColumn is one value of each run.
type PlotColumn struct {
	Name       string      `json:"name"`
	Label      string      `json:"label,omitempty"` // a shorter name
	Role       string      `json:"role"`            // input, objective, metric or order
	Log        bool        `json:"log,omitempty"`
	Integer    bool        `json:"integer,omitempty"`
	Better     string      `json:"better,omitempty"` // max or min
	Time       bool        `json:"time,omitempty"`   // seconds since 1970
	Zone       string      `json:"zone,omitempty"`
	Categories []string    `json:"categories,omitempty"` // Values are indexes
	Range      []float64   `json:"range,omitempty"`      // what an axis shows at least: the lowest and the highest value
	Ticks      []float64   `json:"ticks,omitempty"`      // the possible values, in increasing order
	Values     PlotNumbers `json:"values"`
}

// PlotNumbers are values of runs; NaN stands for none.
type PlotNumbers []float64

// MarshalJSON implements json.Marshaler.
func (n PlotNumbers) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 10*len(n)+2)
	b = append(b, '[')
	for i, v := range n {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			b = append(b, "null"...)
			continue
		}
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	return append(b, ']'), nil
}
