package handlers_test

import (
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/docs"
	"github.com/flowforge/flowforge/views/viewtest"
)

// TestEveryDocumentIsServed: /docs links every document and every part of the API, and no link
// between them is broken.
func TestEveryDocumentIsServed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	index := b.member.get(t, "/docs")
	index.says(t, http.StatusOK, "Documentation", `href="/docs/settings"`, `href="/docs/api/executions"`)
	names, err := fs.Glob(docs.Files, "*.md")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	link := regexp.MustCompile(`href="(/docs/[a-z/-]+)(?:#([^"]+))?"`)
	pages := map[string]string{}
	for _, name := range names {
		path := "/docs/" + strings.TrimSuffix(name, ".md")
		require.Contains(t, index.body, `href="`+path+`"`, "/docs does not list it")
		got := b.member.get(t, path)
		require.Equal(t, http.StatusOK, got.status, path)
		viewtest.Check(t, got.body)
		pages[path] = got.body
	}
	for _, m := range link.FindAllStringSubmatch(index.body+b.member.get(t, "/docs/api").body+strings.Join(mapValues(pages), ""), -1) {
		if pages[m[1]] == "" {
			got := b.member.get(t, m[1])
			require.Equal(t, http.StatusOK, got.status, m[1])
			viewtest.Check(t, got.body)
			pages[m[1]] = got.body
		}
		if m[2] != "" {
			require.Contains(t, pages[m[1]], `id="`+m[2]+`"`, "the link %s#%s", m[1], m[2])
		}
	}
	require.Contains(t, pages["/docs/settings"], "<code>FLOWFORGE_DATA_DIR</code>")
	require.NotContains(t, pages["/docs/settings"], "| variable |")
	require.Equal(t, http.StatusNotFound, b.member.get(t, "/docs/none").status)
	require.Equal(t, http.StatusNotFound, b.member.get(t, "/docs/api/none").status)
}

// TestTheReferenceShowsFieldsOfTheAPI: parameters, bodies and answers of an operation, with nested
// fields.
func TestTheReferenceShowsFieldsOfTheAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member.get(t, "/docs/api/executions").says(t, http.StatusOK,
		`id="launch-execution"`, "Idempotency-Key", "dry_run", "Body, application/json", "cache.mode", "One of: on, off, refresh", "Response 201, application/json", "Default: 50")
}

func mapValues(m map[string]string) []string {
	var out []string
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// TestMarkdownArtifactsAreRendered: the page of the artifact shows headings and tables, and no
// script.
func TestMarkdownArtifactsAreRendered(t *testing.T) {
	t.Parallel()
	b, e := running(t)
	notes := b.publish(t, e, artifact.New{NodeIndex: 1, Node: "work", Name: "notes", Type: "File", Kind: "File", MediaType: "text/markdown", Filename: "notes.md"},
		"## Findings\n\n| class | count |\n|---|---|\n| seven | 7 |\n\n<script>alert(1)</script>\n")
	got := b.member.get(t, "/artifacts/"+notes.ID.String())
	got.says(t, http.StatusOK, "Findings</h2>", "<td>seven</td>")
	require.NotContains(t, got.body, "alert(1)")
}
