package catalogue

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/comparison/change"
	"github.com/flowforge/flowforge/handlers/source"
	"github.com/flowforge/flowforge/views"
)

// TestDiffPageIsBounded: many files and many lines make a page of limited size that says so.
func TestDiffPageIsBounded(t *testing.T) {
	t.Parallel()
	patch := change.Patch{Added: 99, Hunks: []change.Hunk{{Lines: make([]change.Line, 99)}}}
	var d source.Diff
	for i := range filesListed + 1 {
		d.Files = append(d.Files, source.FileChange{Name: fmt.Sprint(i), Kind: change.Added, Patch: patch})
	}
	d.Changes = []change.Change{{Section: change.Operators, Name: "a", Kind: change.Changed, Details: []change.Detail{{Path: "code.script", Patch: &patch}}}}
	var m views.VersionDiff
	diffContent(&m, d)
	require.Len(t, m.Files, filesListed)
	lines := len(m.Sections[0].Rows[0].Details[0].Lines)
	for _, f := range m.Files {
		lines += len(f.Lines)
	}
	require.Equal(t, linesOnPage, lines)
	require.Equal(t, "This page does not show more lines: 99 lines added, 0 removed.", m.Files[filesListed-1].Note)
	require.Len(t, m.Notes, 2)
}
