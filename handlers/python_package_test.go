package handlers_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/views/viewtest"
)

// packed is a tar.gz of the entries. The content of a file is its link target, or zeros.
func packed(t *testing.T, entries ...tar.Header) string {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	files := tar.NewWriter(zipped)
	for _, e := range entries {
		require.NoError(t, files.WriteHeader(&e))
		for left := e.Size; left > 0; left -= min(left, 1<<20) {
			_, err := files.Write(make([]byte, min(left, 1<<20)))
			require.NoError(t, err)
		}
	}
	require.NoError(t, files.Close())
	require.NoError(t, zipped.Close())
	return out.String()
}

// TestHostileCodePackages: authors can upload any bytes as a code package and write any metadata.
// The page reads a bounded part, follows no links, and shows what it found.
func TestHostileCodePackages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	many := []tar.Header{{Name: "flow.py"}}
	for i := range 600 {
		many = append(many, tar.Header{Name: fmt.Sprintf("a/%03d.py", i)})
	}
	for name, test := range map[string]struct {
		content, file, metadata string
		status                  int
		want                    []string
	}{
		"text":  {content: "not an archive", file: "flow.py", want: []string{"The code package is not a tar.gz file."}},
		"short": {content: packed(t, tar.Header{Name: "flow.py"})[:15], file: "flow.py", want: []string{"The code package is not a tar.gz file."}},
		"links": {
			content: packed(t, tar.Header{Name: "flow.py", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, tar.Header{Name: "x.py"}), file: "flow.py", status: http.StatusNotFound,
			want: []string{"has no file flow.py"},
		},
		"outside": {content: packed(t, tar.Header{Name: "../../<b>.py", Size: 3}, tar.Header{Name: "flow.py"}), file: "flow.py", want: []string{"../../&lt;b&gt;.py", "2 files"}},
		"bomb": {
			content: packed(t, tar.Header{Name: "flow.py", Size: 10}, tar.Header{Name: "zeros", Size: 130 << 20}, tar.Header{Name: "last.py"}), file: "flow.py",
			want: []string{"the list is incomplete", "The file is not text"},
		},
		"many":  {content: packed(t, many...), file: "flow.py", want: []string{"601 files", "101 files are not listed."}},
		"lines": {content: packed(t, tar.Header{Name: "flow.py"}), file: "flow.py", metadata: `, function: "f:x", functions: {"f:x": {file: flow.py, first: -5, last: 1000000000}}`, want: []string{"flow.py"}},
		"other": {content: packed(t, tar.Header{Name: "flow.py"}), file: "flow.py", metadata: `, functions: [1], change: 7`, want: []string{"name: hostile.other"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := b.member.send(t, http.MethodPost, "/api/v1/blobs?filename=package.tar.gz", "application/gzip", test.content)
			var ref struct {
				SHA256 string `json:"$file"`
			}
			require.NoError(t, json.Unmarshal([]byte(got.body), &ref), got.body)
			b.register(t, fmt.Sprintf("name: hostile.%s\nversion: 1.0.0\nmetadata: {git: {commit: \"é<b>\", dirty: true}, python: {file: %s%s}}\noperators:\n  - {name: work, type: python, code: {package: \"sha256:%s\", script: pass}}\n",
				name, test.file, test.metadata, ref.SHA256))
			page := b.member.get(t, "/workflows/hostile."+name+"?tab=source")
			require.Equal(t, max(test.status, http.StatusOK), page.status, page.body)
			viewtest.Check(t, page.body)
			for _, want := range test.want {
				require.Contains(t, page.body, want)
			}
			for _, tab := range []string{"", "?tab=versions"} {
				got := b.member.get(t, "/workflows/hostile."+name+tab)
				require.Equal(t, http.StatusOK, got.status, got.body)
				viewtest.Check(t, got.body)
			}
			require.NotContains(t, page.body, "root:x:0")
		})
	}
}
