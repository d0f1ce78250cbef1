package workflow

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/typeregistry"
)

// TestCommandOfTheImage: an operator may leave it to its image which program runs, but then
// it has an image, and no package of its own.
func TestCommandOfTheImage(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		`{image: nginx}`:                "",
		`{image: nginx, args: [-v]}`:    "",
		`{args: [-v]}`:                  "or use an image with a default program",
		`{}`:                            "or use an image with a default program",
		`{image: nginx, command: [""]}`: "Set the program to run",
		`{image: nginx, package: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}`: "Set the program of the package",
		`{image: nginx, script: ls}`: "has no script",
	} {
		d, problems := Parse([]byte("name: a\nversion: 1.0.0\noperators: [{name: x, type: command, code: "+code+"}]"), typeregistry.Builtin())
		if want == "" {
			require.Empty(t, problems, code)
			require.True(t, d.Operators[0].Code.OfImage(), code)
			continue
		}
		require.True(t, slices.ContainsFunc(problems, func(f apperr.Field) bool { return strings.Contains(f.Message, want) }), "%s: %v", code, problems)
	}
	require.False(t, Code{Image: "nginx", Command: []string{"ls"}}.OfImage())
	require.False(t, Code{Image: "nginx", Script: "ls"}.OfImage())
}
