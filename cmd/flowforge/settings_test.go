package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inTasks are the files that read variables which FlowForge sets for tasks.
var inTasks = []string{"task.go", "taskclient.go"}

var variable = regexp.MustCompile(`^FLOWFORGE_[A-Z0-9_]*[A-Z0-9]$`)

// readSettings returns the variables that users set and this program reads.
func readSettings(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var names []string
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") || slices.Contains(inTasks, path) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil && variable.MatchString(text) {
					names = append(names, text)
				}
			}
			return true
		})
	}
	for name := range kubeSettings() {
		names = append(names, kubePrefix+name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// documented returns the first cells of the tables of settings. Each cell is a list of the
// possible full names of each of its names. A name that starts with an underscore is a suffix: it
// replaces the part after an underscore of the first name in the cell, or is appended to it.
func documented(t *testing.T, paths ...string) (names [][]string) {
	t.Helper()
	span := regexp.MustCompile("`([A-Z0-9_]+)`")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			cells := strings.Split(line, "|")
			if len(cells) < 4 || !strings.HasPrefix(cells[1], " `FLOWFORGE_") {
				continue
			}
			first := ""
			for _, match := range span.FindAllStringSubmatch(cells[1], -1) {
				name := match[1]
				if !strings.HasPrefix(name, "_") {
					first = name
					names = append(names, []string{name})
					continue
				}
				may := []string{first + name}
				for i := range first {
					if first[i] == '_' {
						may = append(may, first[:i]+name)
					}
				}
				names = append(names, may)
			}
		}
	}
	return names
}

// TestSettingsAreDocumented checks that the tables of settings contain exactly the variables that
// the program reads.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	read := readSettings(t)
	require.Greater(t, len(read), 60)
	tables := documented(t, "../../docs/settings.md", "../../docs/kubernetes.md")
	named := slices.Concat(tables...)
	for _, name := range read {
		require.Contains(t, named, name, "no table of settings contains it")
	}
	elsewhere := []string{"FLOWFORGE_SECRET_NAME"} // a family, which package secret reads
	for _, may := range tables {
		known := slices.ContainsFunc(may, func(name string) bool { return slices.Contains(read, name) || slices.Contains(elsewhere, name) })
		require.True(t, known, "%s is in a table of settings, but the program does not read it", may[0])
	}
}
