package query_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution/query"
)

func TestTracebackOf(t *testing.T) {
	t.Parallel()
	text := `{"exceptions": [{"type": "ValueError", "message": "a\\u0000b", "frames": [{"file": "flow.py", "line": 2, "first": 1, "source": ["a", "b"], "locals": ["x"]}], "omitted": 3}], "omitted": 1}`
	found, err := query.TracebackOf(text)
	require.NoError(t, err)
	require.JSONEq(t, text, string(found.JSON()))
	for _, bad := range []string{
		"", "{}", "[]", "null", `{"exceptions": []}`, `{"exceptions": [{"relation": "<b>"}]}`, `{"exceptions": [{"frames": [{"line": 0}]}]}`,
		`{"exceptions": [{"frames": [{"line": 1e300}]}]}`, `{"exceptions": [{"message": "a\u0000b"}]}`, `{"exceptions": [{"values": {"x": 1}}]}`, text + "x",
		`{"exceptions": [{"message": "` + strings.Repeat("x", query.MaxTraceback) + `"}]}`,
	} {
		_, err := query.TracebackOf(bad)
		require.Error(t, err, "%.200s", bad)
	}
}
