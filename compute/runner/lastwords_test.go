package runner

import (
	"strings"
	"testing"
)

func TestLastWords(t *testing.T) {
	t.Parallel()
	header := tracebackHeader + "\n  File \"x.py\", line 1, in f\n    g()\n"
	for name, c := range map[string]struct{ stderr, want string }{
		"nothing":   {"", ""},
		"last line": {"a\nbye\n\n", "bye"},
		"exception": {header + "ValueError: bad", "ValueError: bad"},
		"several lines": {
			header + "ValueError: Input X contains NaN.\nLogisticRegression does not accept NaN.\n\nSee https://example.com",
			"ValueError: Input X contains NaN.\nLogisticRegression does not accept NaN.\nSee https://example.com",
		},
		"cause with frames": {header + "KeyError: 1\n\n" + contextSentence + "\n\n" + header + "ValueError: bad", "ValueError: bad"},
		"cause without frames": {
			header + "ValidationError: 1 error\nbetas\n\n" + causeSentence + "\n\nflowforge.exceptions.InputError: input 'opt': 1 error\nbetas\n  two betas",
			"flowforge.exceptions.InputError: input 'opt': 1 error\nbetas\n  two betas",
		},
		"sentence of the SDK": {"flowforge.exceptions.ServerError: The query is not valid.\n  where: Column 1", "flowforge.exceptions.ServerError: The query is not valid.\n  where: Column 1"},
		"syntax error": {
			"  File \"x.py\", line 6\n    f\"{d[\"a\"]}\"\n         ^\nSyntaxError: f-string: unmatched '['\nThe task runs Python 3.11.7.",
			"SyntaxError: f-string: unmatched '['\nThe task runs Python 3.11.7.",
		},
		"group": {
			"  + Exception Group " + tracebackHeader + "\n  |   File \"x.py\", line 1\n  | ExceptionGroup: two (2 sub-exceptions)\n  +-+---------------- 1 ----------------\n" +
				"    | ValueError: a\n    +---------------- 2 ----------------\n    | TypeError: b\n    +------------------------------------",
			"ExceptionGroup: two (2 sub-exceptions)",
		},
		"a caught exception long before": {header + "ValueError: caught\n" + strings.Repeat("epoch\n", 30) + "no space left", "no space left"},
		"many lines":                     {header + "E: 0\n" + strings.Repeat("field\n", 15), "E: 0" + strings.Repeat("\nfield", maxCause-1)},
		"long":                           {header + "E: " + strings.Repeat("ä", 400), "E: " + strings.Repeat("ä", 297) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var g levelGuess
			var w lastWords
			for line := range strings.SplitSeq(c.stderr, "\n") {
				_, part := g.read(line)
				w.add(line, part)
			}
			if got := w.text(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
