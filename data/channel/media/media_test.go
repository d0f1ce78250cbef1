package media

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextIsRecognisedByWhatItHolds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text, want string
		cut        bool
	}{
		"csv":                {text: "epoch,loss\n1,0.5\n2,0.4\n", want: "text/csv"},
		"csv with a quote":   {text: "name,note\na,\"x, y\"\n", want: "text/csv"},
		"csv, cut":           {text: "epoch,loss\n1,0.5\n2,\"0.", want: "text/csv", cut: true},
		"tab-separated":      {text: "a\tb\n1\t2\n", want: "text/tab-separated-values"},
		"json":               {text: "{\"a\": [1, 2]}", want: "application/json"},
		"json, cut":          {text: "[1,\n2,\n3", want: "application/json", cut: true},
		"half of json":       {text: "{\"a\": ", want: "text/plain; charset=utf-8"},
		"markdown":           {text: "# Card\n\nOf a [model](https://example.com).\n", want: "text/markdown"},
		"a script":           {text: "# trains the model\nimport os\n# and more\n", want: "text/plain; charset=utf-8"},
		"prose with commas":  {text: "Dear all, hello\nWe met, and talked, and left.\n", want: "text/plain; charset=utf-8"},
		"a sentence":         {text: "Hello, world", want: "text/plain; charset=utf-8"},
		"rows of two widths": {text: "a,b\n1,2,3\n", want: "text/plain; charset=utf-8"},
		"nothing":            {want: "text/plain; charset=utf-8"},
		"no utf-8":           {text: "a,b\n\xff,2\n", want: "text/plain; charset=utf-8"},
		"long lines":         {text: strings.Repeat("x", 5000), want: "text/plain; charset=utf-8", cut: true},
	}
	for name, tt := range tests {
		require.Equal(t, tt.want, Text([]byte(tt.text), !tt.cut), name)
	}
}
