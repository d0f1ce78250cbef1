package artifact

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Table is the beginning of a table. Rows are as wide as Columns.
type Table struct {
	Columns []Column
	Rows    [][]string
}

// Column is a column with the type that its shown cells have in common.
type Column struct {
	Name    string
	Type    string // Integer, Float, Boolean or String
	Numeric bool
}

const (
	tableRows    = 50
	tableColumns = 60
	cellRunes    = 200
)

// previewTable reads rows until the bound; a last row that may be truncated is omitted.
func previewTable(head []byte, comma rune, truncated bool) Preview {
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(head, []byte("\ufeff"))))
	reader.Comma = comma
	reader.FieldsPerRecord = -1
	reader.LazyQuotes = true
	var rows [][]string
	more := false
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Preview{Kind: PreviewText, Text: string(head)}
		}
		if len(rows) > tableRows {
			more = true
			break
		}
		rows = append(rows, row)
	}
	if truncated && !more && len(rows) > 0 {
		rows = rows[:len(rows)-1]
	}
	if len(rows) == 0 {
		return Preview{Kind: PreviewText, Text: string(head)}
	}
	return Preview{Kind: PreviewTable, Table: tableOf(rows[0], rows[1:]), Truncated: more || len(rows[0]) > tableColumns}
}

func tableOf(header []string, rows [][]string) *Table {
	width := min(len(header), tableColumns)
	t := &Table{}
	for i := range width {
		kind := columnType(rows, i)
		t.Columns = append(t.Columns, Column{Name: clip(header[i]), Type: kind, Numeric: kind == "Integer" || kind == "Float"})
	}
	for _, row := range rows {
		cells := make([]string, width)
		for i := range min(width, len(row)) {
			cells[i] = clip(row[i])
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// columnType returns the narrowest type that every cell of a column has.
func columnType(rows [][]string, column int) string {
	integer, float, boolean, filled := true, true, true, false
	for _, row := range rows {
		if column >= len(row) || strings.TrimSpace(row[column]) == "" {
			continue
		}
		filled = true
		cell := strings.TrimSpace(row[column])
		if _, err := strconv.ParseInt(cell, 10, 64); err != nil {
			integer = false
		}
		if _, err := strconv.ParseFloat(cell, 64); err != nil {
			float = false
		}
		if lower := strings.ToLower(cell); lower != "true" && lower != "false" {
			boolean = false
		}
	}
	switch {
	case !filled:
		return "String"
	case integer:
		return "Integer"
	case float:
		return "Float"
	case boolean:
		return "Boolean"
	}
	return "String"
}

func clip(cell string) string {
	runes := []rune(cell)
	if len(runes) <= cellRunes {
		return cell
	}
	return string(runes[:cellRunes-1]) + "…"
}
