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

	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/workflow"
)

// documents are those of one file.
func documents(t *testing.T, file string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var found []map[string]any
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var doc any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return found
		}
		require.NoError(t, err, file)
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

// TestArgosExamplesAreDocumented: docs/argo.md says which of the files that Argo gives as
// examples are taken, and what keeps the others out.
func TestArgosExamplesAreDocumented(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("FLOWFORGE_TEST_ARGO_EXAMPLES")
	if folder == "" {
		t.Skip("FLOWFORGE_TEST_ARGO_EXAMPLES is not set: scripts/setup argo fetches them, and scripts/environment says where they are")
	}
	files := map[string][]map[string]any{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".yaml" {
			name, _ := filepath.Rel(folder, path)
			files[name] = documents(t, path)
		}
		return err
	}))
	require.Greater(t, len(files), 200)
	templates := map[string]json.RawMessage{}
	for _, docs := range files {
		for _, doc := range docs {
			if kind := fmt.Sprint(doc["kind"]); strings.HasSuffix(kind, "WorkflowTemplate") {
				meta, _ := doc["metadata"].(map[string]any)
				templates[fmt.Sprint(meta["name"])], _ = json.Marshal(doc)
			}
		}
	}
	in := workflow.Surroundings{Types: typeregistry.Builtin(), Find: func(name string) (json.RawMessage, bool) {
		doc, ok := templates[name]
		return doc, ok
	}}
	var rows []string
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
	section(t, "examples", fmt.Sprintf("Of the %d files %d are taken as they are. What keeps the others out first:\n\n| file | why |\n|---|---|\n%s",
		len(files), len(files)-len(rows), strings.Join(rows, "\n")))
}
