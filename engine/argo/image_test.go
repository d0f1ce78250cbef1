package argo_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCommandOfTheImage: a container may leave it to its image which program runs, by itself
// or as one of several; a script may not.
func TestCommandOfTheImage(t *testing.T) {
	t.Parallel()
	d, problems := parse(t, workflowOf(`
entrypoint: main
templates:
- name: main
  steps:
  - - {name: plain, template: plain}
    - {name: given, template: given}
    - {name: set, template: set}
- {name: plain, container: {image: hello-world}}
- {name: given, container: {image: whalesay, args: [hi]}}
- name: set
  containerSet:
    containers:
    - {name: a, image: one, args: [x]}
    - {name: main, image: two, dependencies: [a]}`))
	require.Empty(t, problems)
	for i, args := range [][]string{nil, {"hi"}} {
		code := d.Operators[i].Code
		require.True(t, code.OfImage())
		require.Equal(t, args, code.Args)
	}
	require.True(t, d.Operators[2].Members[0].Code.OfImage())
	require.Equal(t, []string{"x"}, d.Operators[2].Members[0].Code.Args)
	require.True(t, d.Operators[2].Code.OfImage(), "the code of the set is that of main")
	found := refusedFields(t, "\nentrypoint: main\ntemplates:\n- {name: main, container: {args: [x]}}")
	require.Equal(t, "Set the image.", found["spec.templates[0].container.image"])
}
