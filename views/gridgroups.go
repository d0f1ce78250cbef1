package views

import "github.com/flowforge/flowforge/views/ui"

// GridGroups are the executions of a table by the value of a name.
type GridGroups struct {
	Name   string // of the column
	Groups []GridGroup
	More   string // how many groups are not shown; "" for none
}

// GridGroup are the executions with one value. Rows are those of an open group.
type GridGroup struct {
	ID, Value, Count string
	None             bool // the executions have no value
	Open             bool
	ToggleURL        string
	OnlyURL          string // the table of these executions alone
	Cells            []GroupCell
	Rows             []GridRow
	Rest             string // how many rows are not shown; "" for none
}

// GroupCell sums up the numbers of a column: the most important figure with its name, and others.
type GroupCell struct {
	Figure, Name, More string
}

// GroupChoice chooses the name that groups the executions.
type GroupChoice struct {
	Hidden  [][2]string
	Options []ui.Option
}
