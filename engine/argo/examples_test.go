package argo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// documents are those of one file, or what keeps it from being YAML.
func documents(t *testing.T, file string) (found []map[string]any, problem string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var doc any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return found, ""
		}
		if err != nil {
			line, _, _ := strings.Cut(err.Error(), "\n")
			return nil, line
		}
		if doc == nil { // a comment alone
			continue
		}
		text, err := yaml.MarshalWithOptions(doc, yaml.JSON())
		require.NoError(t, err, file)
		numbers := json.NewDecoder(bytes.NewReader(text))
		numbers.UseNumber()
		var fields map[string]any
		require.NoError(t, numbers.Decode(&fields), file)
		found = append(found, fields)
	}
}

// examplesFolder is the folder of Argo's own examples: FLOWFORGE_TEST_ARGO_EXAMPLES, or
// shared/argo/examples alongside the repository. The test is skipped where there is none.
func examplesFolder(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("FLOWFORGE_TEST_ARGO_EXAMPLES")
	if folder != "" {
		require.DirExists(t, folder, "FLOWFORGE_TEST_ARGO_EXAMPLES")
		return folder
	}
	folder = filepath.Join("..", "..", "..", "shared", "argo", "examples")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("not checked: Argo's examples are not in ../shared/argo/examples beside the repository; FLOWFORGE_TEST_ARGO_EXAMPLES may name another folder")
	}
	return folder
}

// TestArgosExamplesAreDocumented: docs/argo.md specifies which of the files that Argo gives as
// examples are taken, and what keeps the others out.
func TestArgosExamplesAreDocumented(t *testing.T) {
	t.Parallel()
	folder := examplesFolder(t)
	files := map[string][]map[string]any{}
	var rows []string
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".yaml" {
			name, _ := filepath.Rel(folder, path)
			docs, problem := documents(t, path)
			files[name] = docs
			if problem != "" {
				rows = append(rows, fmt.Sprintf("| %s | Not valid YAML: `%s` |", name, problem))
			}
		}
		return err
	}))
	require.Greater(t, len(files), 200)
	templates := map[string]json.RawMessage{}
	for _, docs := range files {
		for _, doc := range docs {
			if kind := fmt.Sprint(doc["kind"]); strings.HasSuffix(kind, "WorkflowTemplate") {
				name, _ := Format{}.Names(doc)
				templates[name], _ = json.Marshal(doc)
			}
		}
	}
	in := workflow.Surroundings{Types: typeregistry.Builtin(), Find: func(name string) (json.RawMessage, bool) {
		doc, ok := templates[name]
		return doc, ok
	}}
	for name, docs := range files {
		for _, doc := range docs {
			require.True(t, Format{}.Reads(doc), name)
			if _, problems := (Format{}).Parse(doc, in); len(problems) > 0 {
				rows = append(rows, fmt.Sprintf("| %s | `%s`: %s |", name, problems[0].Path, problems[0].Message))
				break
			}
		}
	}
	slices.Sort(rows)
	section(t, "examples", fmt.Sprintf("Of the %d files, %d are accepted unchanged. The first reason why each other file is rejected:\n\n| file | why |\n|---|---|\n%s",
		len(files), len(files)-len(rows), strings.Join(rows, "\n")))
}
