package workflow

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/typeregistry"
)

func TestStreamingIsRefusedAndNotIgnored(t *testing.T) {
	t.Parallel()
	doc := `
name: streams
version: 1.0.0
operators:
  - {name: make, type: shell, code: {script: 'true'}, outputs: [{name: rows, type: File, OUT}]}
  - {name: read, type: shell, code: {script: 'true'}, inputs: [{name: rows, from: make.rows, IN}]}
`
	for _, c := range []struct{ out, in, path, message string }{
		{"storage: memory", "description: x", "", ""},
		{"storage: streaming", "description: x", "operators[0].outputs[0].storage", "is not offered"},
		{"storage: tape", "description: x", "operators[0].outputs[0].storage", "memory, disk or distributed"},
		{"channel: STREAMING", "description: x", "operators[0].outputs[0].channel", "is not offered"},
		{"storage: disk", "channel: streaming", "operators[1].inputs[0].channel", "is not offered"},
		{"storage: disk", "channel: local_disk", "operators[1].inputs[0].channel", "chosen when an attempt starts"},
	} {
		_, problems := Parse([]byte(strings.NewReplacer("OUT", c.out, "IN", c.in).Replace(doc)), typeregistry.Builtin())
		if c.message == "" {
			require.Empty(t, problems)
			continue
		}
		require.NotEmpty(t, problems, "%s, %s", c.out, c.in)
		require.Equal(t, c.path, problems[0].Path)
		require.Contains(t, problems[0].Message, c.message)
	}
}
