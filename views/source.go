package views

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/a-h/templ"
)

// Source is highlighted source code.
type Source struct {
	Name  string // the file, for screen readers
	ID    string // begins the ids of lines, "L" makes L7; "": lines have no ids
	Lines []SourceLine
}

// SourceLine is a line of source code.
type SourceLine struct {
	Number int
	Parts  []SourcePart
	Marked bool   // part of the function that the page is about
	Failed bool   // raised an exception
	Note   string // below the line
}

// SourcePart is a piece of a line in one class: k keyword, s string, c comment, d decorator, f name
// of a function; "" for none.
type SourcePart struct{ Class, Text string }

// SourceFile is a file in the list of a code package.
type SourceFile struct {
	Name, URL, Size string
	Current         bool
}

// lineID is the element id of a line.
func (s Source) lineID(number int) string { return s.ID + strconv.Itoa(number) }

// sourceCode is the code element of a line, without spaces between its parts.
func sourceCode(parts []SourcePart) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var line strings.Builder
		line.WriteString("<code>")
		for _, p := range parts {
			if p.Class == "" {
				line.WriteString(templ.EscapeString(p.Text))
				continue
			}
			line.WriteString(`<span class="` + templ.EscapeString(p.Class) + `">` + templ.EscapeString(p.Text) + `</span>`)
		}
		if len(parts) == 0 {
			line.WriteString(" ") // an empty line has the height of the others
		}
		line.WriteString("</code>")
		_, err := io.WriteString(w, line.String())
		return err //nolint:wrapcheck // of the page
	})
}

// versionsID is the element id of the title of a table of versions.
func versionsID(title string) string {
	return "h-" + strings.ToLower(strings.ReplaceAll(title, " ", "-"))
}
