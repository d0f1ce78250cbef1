package change

import (
	"cmp"
	"fmt"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
)

// contextLines is the number of unchanged lines around each change.
const contextLines = 3

// Patch is how one text becomes another, line by line.
type Patch struct {
	Added, Removed int // lines
	Hunks          []Hunk
}

// Hunk is a run of lines with changes and the lines around them.
type Hunk struct {
	Lines []Line
}

// Line is a line of a hunk. Before and After are its numbers, from 1; 0 where it does not exist.
type Line struct {
	Before, After int
	Text          string // without its line break
}

// Texts returns the patch from one text to another. Its work is bounded: very different texts have
// a correct patch that is not the shortest.
func Texts(before, after string) (Patch, error) {
	before, after = endLine(before), endLine(after)
	diff, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), contextLines)
	if err != nil {
		return Patch{}, err //nolint:wrapcheck // edits of the same library are consistent
	}
	var p Patch
	for _, h := range diff.Hunks {
		var out Hunk
		from := h.FromLine
		to := from + p.Added - p.Removed // h.ToLine does not count equal lines between two edits
		for _, l := range h.Lines {
			line := Line{Text: strings.TrimSuffix(l.Content, "\n")}
			if l.Kind != udiff.Insert {
				line.Before = from
				from++
			}
			if l.Kind != udiff.Delete {
				line.After = to
				to++
			}
			switch l.Kind {
			case udiff.Insert:
				p.Added++
			case udiff.Delete:
				p.Removed++
			case udiff.Equal:
			}
			out.Lines = append(out.Lines, line)
		}
		p.Hunks = append(p.Hunks, out)
	}
	return p, nil
}

// endLine adds the line break that the last line lacks: a missing one is not a change.
func endLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// String writes the patch as the body of a unified diff, without names of files.
func (p Patch) String() string {
	var b strings.Builder
	for _, h := range p.Hunks {
		b.WriteString(h.Header() + "\n")
		for _, l := range h.Lines {
			b.WriteString(l.Sign() + l.Text + "\n")
		}
	}
	return b.String()
}

// Sign is "+" for an added line, "-" for a removed one and a space for others.
func (l Line) Sign() string {
	switch {
	case l.Before == 0:
		return "+"
	case l.After == 0:
		return "-"
	}
	return " "
}

// Header writes the position of the hunk: @@ -first,count +first,count @@.
func (h Hunk) Header() string {
	var beforeFirst, beforeCount, afterFirst, afterCount int
	for _, l := range h.Lines {
		if l.Before > 0 {
			beforeFirst = cmp.Or(beforeFirst, l.Before)
			beforeCount++
		}
		if l.After > 0 {
			afterFirst = cmp.Or(afterFirst, l.After)
			afterCount++
		}
	}
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@", beforeFirst, beforeCount, afterFirst, afterCount)
}
