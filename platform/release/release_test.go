package release

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	require.NoError(t, err)
	return text
}

// TestOneVersion: the SDK, the chart, the API and the changelog name the same version.
func TestOneVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		path    []string
	}{
		{`(?m)^version = "(.*)"$`, []string{"sdk", "python", "pyproject.toml"}},
		{`(?m)^version: (.*)$`, []string{"deploy", "helm", "flowforge", "Chart.yaml"}},
		{`(?m)^appVersion: "(.*)"$`, []string{"deploy", "helm", "flowforge", "Chart.yaml"}},
		{`(?m)^## ([0-9.]+)`, []string{"CHANGELOG.md"}},
	} {
		found := regexp.MustCompile(c.pattern).FindSubmatch(read(t, c.path...))
		require.NotNil(t, found, "%v has no %s", c.path, c.pattern)
		require.Equal(t, Version, string(found[1]), "%v", c.path)
	}
	var api struct {
		Info struct {
			Version string `json:"version"`
		} `json:"info"`
	}
	require.NoError(t, json.Unmarshal(read(t, "docs", "openapi.json"), &api))
	require.Equal(t, Version, api.Info.Version, "docs/openapi.json")
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	require.Equal(t, Version, describe(nil))
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "false"}}
	require.Equal(t, Version+" (commit 0123456789ab)", describe(settings))
	settings[1].Value = "true"
	require.Equal(t, Version+" (commit 0123456789ab, modified)", describe(settings))
}
