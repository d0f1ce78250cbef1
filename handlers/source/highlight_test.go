package source_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/handlers/source"
	"github.com/flowforge/flowforge/views"
)

// marked writes highlighted lines as text with the class of every part.
func marked(lines []views.SourceLine) []string {
	var found []string
	for _, l := range lines {
		var line strings.Builder
		for _, p := range l.Parts {
			if p.Class == "" {
				line.WriteString(p.Text)
			} else {
				line.WriteString("[" + p.Class + " " + p.Text + "]")
			}
		}
		found = append(found, line.String())
	}
	return found
}

func TestHighlight(t *testing.T) {
	t.Parallel()
	python := strings.Join([]string{
		"@flowforge.operator(cpu=2)", "async def train(x: int) -> str:", `    """Two`, `    lines."""  # done`, "", `    y = x @ rb"\"" + f'{x}' if x else None`, "    return classes['a", "é = 1",
	}, "\n") + "\n"
	require.Equal(t, []string{
		"[d @flowforge.operator](cpu=2)", "[k async] [k def] [f train](x: int) -> str:", `    [s """Two]`, `[s     lines."""]  [c # done]`, "",
		`    y = x @ [s rb"\""] + [s f'{x}'] [k if] x [k else] [k None]`, "    [k return] classes[[s 'a]", "é = 1",
	}, marked(source.Lines("a/train.py", python, 1)))
	require.Equal(t, []string{"[c # c]", "name: don't [c # no]", "k: [s 'a # b']#c [k true]"}, marked(source.Lines("x.yaml", "# c\nname: don't # no\nk: 'a # b'#c true", 1)))
	require.Equal(t, []string{"if 'x' # y", "z"}, marked(source.Lines("notes.txt", "if 'x' # y\nz", 7)))
	require.Equal(t, 8, source.Lines("notes.txt", "if 'x' # y\nz", 7)[1].Number)
}

// FuzzLines: whatever a file contains, its lines have its text.
func FuzzLines(f *testing.F) {
	for _, text := range []string{"", "\n", "'''", "@", `r'\`, "def\n", `"\`, "b'", "#", "\xff'"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"a.py", "a.sh", "a.sql", "a.json", "a"} {
			var lines []string
			for _, l := range source.Lines(name, text, 1) {
				var line strings.Builder
				for _, p := range l.Parts {
					line.WriteString(p.Text)
				}
				lines = append(lines, line.String())
			}
			require.Equal(t, strings.TrimSuffix(text, "\n"), strings.Join(lines, "\n"))
		}
	})
}
