package source

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFilesOfTwoPackagesAreMatched: a changed package is compared with the earlier one of its operator,
// whatever the order of the operators, even if a version has only one package.
func TestFilesOfTwoPackagesAreMatched(t *testing.T) {
	t.Parallel()
	file := func(text string) *content { return &content{isText: true, text: text, hash: [32]byte{text[0]}} }
	one := map[place]*content{{"load", "main.py"}: file("a"), {"load", "rows.py"}: file("b")}
	two := map[place]*content{{"load", "main.py"}: file("a"), {"load", "rows.py"}: file("b"), {"train", "main.py"}: file("c"), {"", "definition.yaml"}: file("d")}
	changed := maps.Clone(two)
	changed[place{"train", "main.py"}] = file("e")
	names := func(files map[string]*content) []string { return slices.Sorted(maps.Keys(files)) }

	before, after := shown(two, changed)
	require.Equal(t, []string{"definition.yaml", "load/main.py", "rows.py", "train/main.py"}, names(before))
	require.Equal(t, names(before), names(after), "no file is removed and added")
	require.Equal(t, "c", before["train/main.py"].text)
	require.Equal(t, "e", after["train/main.py"].text)
	before, _ = shown(one, two)
	require.Equal(t, []string{"load/main.py", "rows.py"}, names(before))
	before, after = shown(one, one)
	require.Equal(t, []string{"main.py", "rows.py"}, names(before))
	require.Equal(t, names(before), names(after))
}
