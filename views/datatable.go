package views

import (
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

// DataTable is a part of a table with a filter, an order and statistics of its columns.
type DataTable struct {
	Columns []DataColumn
	Rows    [][]DataCell
	Empty   string // why there are no rows

	FormURL  string
	Hidden   [][2]string // what the form keeps
	Names    []ui.Option // columns to filter by
	Ops      []ui.Option
	Filters  []Chip
	Problem  string // of the filter or the order
	ClearURL string
	Pager    ui.Pager
	Of       string // "Columns 1 to 20 of 64"
	LeftURL  string // earlier columns
	RightURL string
	Read     string // "Sorted within the first 1,000,000 rows."

	Statistics     []ColumnStatistics
	StatisticsRead string // "All 1,797 rows" or "The first 100,000 rows"
}

// DataColumn is one column; numbers are right-aligned.
type DataColumn struct {
	Name, Type string
	Number     bool
	SortURL    string
	Sorted     string // "ascending", "descending" or ""
}

// DataCell is one value.
type DataCell struct {
	Text  string
	Exact string // all digits of a rounded number
	Null  bool
}

// ColumnStatistics describe the values of one column.
type ColumnStatistics struct {
	Name, Type             string
	Count, Nulls, Distinct string
	Min, Mean, Max         string
	Other                  string // "3 values are not of this type"
	Histogram              chart.Histogram
}

// emptyTableActions offer to remove the filters of a table without rows.
func emptyTableActions(t *DataTable) []ui.Action {
	if len(t.Filters) == 0 {
		return nil
	}
	return []ui.Action{{Name: "Clear the filters", URL: t.ClearURL}}
}
