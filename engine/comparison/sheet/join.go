package sheet

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Table is a table of texts. Every row has a cell for each column.
type Table struct {
	Columns []string
	Rows    [][]string
}

// Joined is several tables side by side.
type Joined struct {
	Keyed   bool     // a column identifies rows; otherwise their number does
	Key     string   // the name of that column; "" if not Keyed
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

// Join puts tables side by side. The key is the first column with a name whose values differ in all
// rows of every table. Without one, rows are joined by their number. Columns of one name are joined
// in their order: the second of one table with the second of another.
func Join(tables []Table) Joined {
	var out Joined
	if len(tables) == 0 {
		return out
	}
	places := make([]map[column]int, len(tables))
	for i, t := range tables {
		places[i] = t.places()
	}
	key := keyOf(tables)
	out.Keyed, out.Key = key.name != "", key.name
	var columns []column
	known := map[column]bool{}
	for _, t := range tables {
		for _, c := range columnsOf(t) {
			if (!out.Keyed || c != key) && !known[c] {
				known[c] = true
				columns = append(columns, c)
				out.Columns = append(out.Columns, c.name)
			}
		}
	}
	byKey := make([]map[string][]string, len(tables))
	var keys []string
	seen := map[string]bool{}
	for i, t := range tables {
		byKey[i] = make(map[string][]string, len(t.Rows))
		for n, row := range t.Rows {
			name := strconv.Itoa(n + 1)
			if out.Keyed {
				name = row[places[i][key]]
			}
			byKey[i][name] = row
			if !seen[name] {
				seen[name] = true
				keys = append(keys, name)
			}
		}
	}
	for _, name := range keys {
		row := JoinedRow{Key: name}
		for _, c := range columns {
			cells := make([]JoinedCell, len(tables))
			for i := range tables {
				if at, ok := places[i][c]; ok && byKey[i][name] != nil {
					cells[i] = JoinedCell{Present: true, Text: byKey[i][name][at]}
				}
			}
			row.Differs = compareCells(cells) || row.Differs
			row.Cells = append(row.Cells, cells)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// keyOf is the column that identifies rows; without a name if there is none.
func keyOf(tables []Table) column {
	for i, c := range columnsOf(tables[0]) {
		if c.name != "" && c.nth == 0 && tables[0].identifies(i) && !slices.ContainsFunc(tables[1:], func(t Table) bool { return !t.identifies(slices.Index(t.Columns, c.name)) }) {
			return c
		}
	}
	return column{}
}

// column is a column by its name; nth counts the earlier ones of the same name.
type column struct {
	name string
	nth  int
}

func columnsOf(t Table) []column {
	out := make([]column, len(t.Columns))
	count := map[string]int{}
	for i, name := range t.Columns {
		out[i] = column{name, count[name]}
		count[name]++
	}
	return out
}

// places are the indexes of the columns.
func (t Table) places() map[column]int {
	out := make(map[column]int, len(t.Columns))
	for i, c := range columnsOf(t) {
		out[c] = i
	}
	return out
}

// identifies reports whether the column exists and its values are all different.
func (t Table) identifies(at int) bool {
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

// digits is what the text of a number is compared by: large numbers differ in more digits than
// floating-point numbers have.
func digits(text string) string { return decimal(strings.TrimPrefix(text, "+")) }

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
		if !c.Present || !isNumber || err != nil {
			c.Changed = true
		} else if d := v - first; d != 0 || digits(c.Text) != digits(base.Text) {
			c.Changed = true
			if d != 0 && !math.IsNaN(d) && !math.IsInf(d, 0) {
				c.Delta = &d
			}
		}
		differs = differs || c.Changed
	}
	return differs
}
