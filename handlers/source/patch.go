package source

import (
	"strconv"

	"github.com/flowforge/flowforge/engine/comparison/change"
	"github.com/flowforge/flowforge/views"
)

// PatchLines highlights the lines of a patch by the name of its file.
func PatchLines(name string, p change.Patch) []views.DiffLine {
	var out []views.DiffLine
	for _, hunk := range p.Hunks {
		out = append(out, views.DiffLine{Header: hunk.Header()})
		for _, l := range hunk.Lines {
			line := views.DiffLine{Before: lineNumber(l.Before), After: lineNumber(l.After)}
			switch l.Sign() {
			case "+":
				line.Kind = "add"
			case "-":
				line.Kind = "del"
			}
			if lines := Lines(name, l.Text, 1); len(lines) > 0 {
				line.Parts = lines[0].Parts
			}
			out = append(out, line)
		}
	}
	return out
}

func lineNumber(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
