package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// testReports: a report is written from a file, guarded by its revision, restored and deleted.
func (s *site) testReports(t *testing.T, dir string) {
	t.Helper()
	file := write(t, filepath.Join(dir, "report.md"), "# One\n")
	require.Regexp(t, `^Weekly results, revision 1: http://\S+/reports/\S+\n$`, s.ok(t, "report", "create", "Weekly results", "--file", file))
	require.Contains(t, s.fails(t, "report", "create", "weekly RESULTS"), "This title already exists.")
	wrong := write(t, filepath.Join(dir, "wrong.md"), "```{chart}\n```\n")
	require.Contains(t, s.fails(t, "report", "update", "Weekly results", "--file", wrong), "text: Line 1: {chart} needs a metric")
	require.Contains(t, s.fails(t, "report", "update", "Weekly results"), "nothing to change: set --file, --title, or both")
	write(t, file, "# Two\n")
	require.Contains(t, s.ok(t, "report", "update", "Weekly results", "--file", file, "--note", "second sweep", "--revision", "1"), "revision 2")
	require.Contains(t, s.fails(t, "report", "update", "Weekly results", "--title", "x", "--revision", "1"), "saved revision 2 in the meantime")
	require.Equal(t, "# Two\n", s.ok(t, "report", "get", "weekly results"))
	require.Equal(t, "# One\n", s.ok(t, "report", "get", "Weekly results", "--revision", "1"))
	require.Contains(t, s.ok(t, "report", "history", "Weekly results"), "second sweep")
	require.Contains(t, s.ok(t, "report", "restore", "Weekly results", "1"), "revision 3")
	require.Contains(t, s.ok(t, "report", "history", "Weekly results"), "restored from revision 1")
	require.Contains(t, s.ok(t, "report", "list", "--query", "one"), "Weekly results")
	require.NotContains(t, s.ok(t, "report", "list", "--query", "nothing"), "Weekly results")
	require.Equal(t, "Weekly results deleted\n", s.ok(t, "report", "delete", "Weekly results"))
	require.Contains(t, s.fails(t, "report", "get", "Weekly results"), "There is no report")
}
