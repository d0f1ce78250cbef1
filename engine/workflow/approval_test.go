package workflow

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/typeregistry"
)

// TestTagsOfAnApproval: a tag that would have no value, or that everyone could read, is refused at registration.
func TestTagsOfAnApproval(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"Release {{model}}?":          "",
		"Release {{ inputs.model }}?": "Add the input {name: model, from: inputs.model} to the operator, and write {{model}}.",
		"Release {{modle}}?":          `"modle" is not an input of the operator. Did you mean "model"?`,
		"Release {{model?":            "is not closed",
		"Release {{file}}?":           "The input file is a file, which cannot be part of a message.",
		"Release {{key}}?":            "The input key is a secret",
	} {
		_, problems := Parse([]byte(`
name: asked
version: 1.0.0
inputs: [{name: model, type: String}, {name: file, type: File}, {name: key, type: Secret}]
operators:
  - name: ask
    type: approval
    inputs: [{name: model, from: inputs.model}, {name: file, from: inputs.file}, {name: key, from: inputs.key}]
    approval: {message: "`+message+`"}
`), typeregistry.Builtin())
		if want == "" {
			require.Empty(t, problems, message)
			continue
		}
		require.Len(t, problems, 1, message)
		require.Equal(t, "operators[0].approval.message", problems[0].Path)
		require.Contains(t, problems[0].Message, want)
	}
}
