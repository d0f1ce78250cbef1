package workflow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/workflow"
)

func TestDocuments(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"a: 1\n":                         {"a: 1\n"},
		"# about\n---\na: 1\n---\nb: 2":  {"a: 1\n", "b: 2"},
		"---\n---\n# nothing\n---\na: 1": {"a: 1"},
		"a: |\n  --- b\n--- # c\nd: 1":   {"a: |\n  --- b\n", "d: 1"},
		`{"a": "\n---\n"}`:               {`{"a": "\n---\n"}`},
		"":                               nil,
	} {
		var got []string
		for _, doc := range workflow.Documents([]byte(file)) {
			got = append(got, string(doc))
		}
		require.Equal(t, want, got, file)
	}
}
