package handlers_test

import (
	"encoding/json"
	"html"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/platform/release"
	"github.com/flowforge/flowforge/sdk"
)

// TestPythonPage: the commands name this server, and the example works with its wheel: it runs as
// plain Python, and the server accepts the definition.
func TestPythonPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	page := b.member.get(t, "/python")
	require.Equal(t, http.StatusOK, page.status)
	var code []string
	for _, m := range regexp.MustCompile(`(?s)<pre class="code"[^>]*>(.*?)</pre>`).FindAllStringSubmatch(page.body, -1) {
		code = append(code, html.UnescapeString(m[1]))
	}
	require.Len(t, code, 5)
	extension := b.nobody.get(t, strings.TrimPrefix(code[4], "pip install "+b.server.URL))
	require.Equal(t, http.StatusOK, extension.status, "the extension of Metaflow")
	require.Equal(t, "flowforge login "+b.server.URL, code[1])
	wheel := b.nobody.get(t, strings.TrimPrefix(code[0], "pip install "+b.server.URL))
	require.Equal(t, http.StatusOK, wheel.status)

	folder := t.TempDir()
	path := filepath.Join(folder, sdk.WheelName(release.Version))
	require.NoError(t, os.WriteFile(path, []byte(wheel.body), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "flow.py"), []byte(code[2]), 0o600))
	python := func(args ...string) string {
		c := exec.CommandContext(t.Context(), "python3", args...)
		c.Dir, c.Env = folder, append(os.Environ(), "PYTHONPATH="+path)
		out, err := c.Output()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	require.Equal(t, "0.2\n", python("flow.py"))
	definition := strings.ReplaceAll(python("-m", "flowforge", "export", "flow.py"), "package: .", "package: "+b.pack(t, code[2]))
	got := b.member.send(t, http.MethodPost, "/api/v1/workflows", "application/yaml", definition)
	require.Contains(t, []int{http.StatusOK, http.StatusCreated}, got.status, "%s\n%s", got.body, definition)
	launch := b.member.get(t, "/workflows/hello.search/launch")
	require.Equal(t, http.StatusOK, launch.status)
	require.Contains(t, launch.body, "Finds the best score.")
}

// pack uploads a package with one file, flow.py, and returns how a definition names it.
func (b *testBundle) pack(t *testing.T, content string) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "flow.py"), []byte(content), 0o600))
	archive, err := exec.CommandContext(t.Context(), "tar", "-C", folder, "-cz", "flow.py").Output()
	require.NoError(t, err)
	got := b.member.send(t, http.MethodPost, "/api/v1/blobs?filename=package.tar.gz", "application/gzip", string(archive))
	var ref struct {
		SHA256 string `json:"$file"`
	}
	require.NoError(t, json.Unmarshal([]byte(got.body), &ref), got.body)
	return "sha256:" + ref.SHA256
}
