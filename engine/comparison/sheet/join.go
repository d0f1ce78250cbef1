package sheet

import (
	"math"
	"slices"
	"strconv"
)

// Table is a table of texts. Every row has a cell for each column.
type Table struct {
	Columns []string
	Rows    [][]string
}

// Joined is several tables side by side.
type Joined struct {
	Key     string   // the column that identifies rows; "": their number
	Columns []string // the other columns of any table, in the order in which they appear
	Rows    []JoinedRow
}

// JoinedRow is a row of each table with the same key.
type JoinedRow struct {
	Key     string
	Cells   [][]JoinedCell // by column, then by table
	Differs bool
}

// JoinedCell is the value of one table.
type JoinedCell struct {
	Present bool
	Text    string
	Changed bool     // it differs from the first table
	Delta   *float64 // difference from the first table, for numbers
}

// Join puts tables side by side. The key is the first column whose values differ in all rows of
// every table. Without one, rows are joined by their number.
func Join(tables []Table) Joined {
	var out Joined
	if len(tables) == 0 {
		return out
	}
	for _, name := range tables[0].Columns {
		if !slices.ContainsFunc(tables, func(t Table) bool { return !t.identifies(name) }) {
			out.Key = name
			break
		}
	}
	for _, t := range tables {
		for _, name := range t.Columns {
			if name != out.Key && !slices.Contains(out.Columns, name) {
				out.Columns = append(out.Columns, name)
			}
		}
	}
	byKey := make([]map[string][]string, len(tables))
	var keys []string
	known := map[string]bool{}
	for i, t := range tables {
		byKey[i] = map[string][]string{}
		at := slices.Index(t.Columns, out.Key)
		for n, row := range t.Rows {
			key := strconv.Itoa(n + 1)
			if out.Key != "" {
				key = row[at]
			}
			byKey[i][key] = row
			if !known[key] {
				known[key] = true
				keys = append(keys, key)
			}
		}
	}
	for _, key := range keys {
		row := JoinedRow{Key: key}
		for _, name := range out.Columns {
			cells := make([]JoinedCell, len(tables))
			for i, t := range tables {
				if at := slices.Index(t.Columns, name); at >= 0 && byKey[i][key] != nil {
					cells[i] = JoinedCell{Present: true, Text: byKey[i][key][at]}
				}
			}
			row.Differs = compareCells(cells) || row.Differs
			row.Cells = append(row.Cells, cells)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// identifies reports whether the column exists and its values are all different.
func (t Table) identifies(name string) bool {
	at := slices.Index(t.Columns, name)
	if at < 0 {
		return false
	}
	seen := map[string]bool{}
	for _, row := range t.Rows {
		if row[at] == "" || seen[row[at]] {
			return false
		}
		seen[row[at]] = true
	}
	return true
}

// compareCells marks the cells that differ from the first one, and reports whether there are any.
func compareCells(cells []JoinedCell) bool {
	differs := false
	base := cells[0]
	first, err := strconv.ParseFloat(base.Text, 64)
	isNumber := err == nil && base.Present
	for i := range cells[1:] {
		c := &cells[i+1]
		if c.Present == base.Present && c.Text == base.Text {
			continue
		}
		v, err := strconv.ParseFloat(c.Text, 64)
		if c.Present && isNumber && err == nil {
			if d := v - first; d != 0 {
				c.Changed = true
				if !math.IsNaN(d) && !math.IsInf(d, 0) {
					c.Delta = &d
				}
			}
		} else {
			c.Changed = true
		}
		differs = differs || c.Changed
	}
	return differs
}
