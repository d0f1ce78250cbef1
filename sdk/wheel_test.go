package sdk

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWheel: Python imports the package from the wheel and reads its metadata.
func TestWheel(t *testing.T) {
	t.Parallel()
	content, err := Packages()[0].Wheel("1.2.3")
	require.NoError(t, err)
	again, err := Packages()[0].Wheel("1.2.3")
	require.NoError(t, err)
	require.Equal(t, content, again, "the same version is the same file")
	wheel := filepath.Join(t.TempDir(), WheelName("1.2.3"))
	require.NoError(t, os.WriteFile(wheel, content, 0o600))
	check := exec.CommandContext(t.Context(), "python3", "-c", `
import importlib.metadata, flowforge
assert importlib.metadata.version("flowforge") == "1.2.3"
assert [e.value for e in importlib.metadata.distribution("flowforge").entry_points] == ["flowforge._cli:main"]
lines = importlib.metadata.distribution("flowforge").read_text("RECORD").split()
assert any(line.startswith("flowforge/__init__.py,sha256=") for line in lines), lines
print(flowforge.__file__)`)
	check.Env = append(os.Environ(), "PYTHONPATH="+wheel) // Python imports from a wheel too
	out, err := check.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), wheel)
}

// TestMetaflowWheel: Metaflow's extension is found in its wheel, with its version and what it needs.
func TestMetaflowWheel(t *testing.T) {
	t.Parallel()
	p := Packages()[1]
	content, err := p.Wheel("1.2.3")
	require.NoError(t, err)
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	installed := t.TempDir() // Python finds no namespace packages in archives
	require.NoError(t, os.CopyFS(installed, archive))
	check := exec.CommandContext(t.Context(), "python3", "-c", `
import importlib.metadata, pkgutil
import metaflow_extensions.flowforge.plugins.mfextinit_flowforge as found
from metaflow_extensions.flowforge.plugins.flowforge import graph
assert found.CLIS_DESC == [("flowforge", ".flowforge.cli.cli")]
assert importlib.metadata.version("flowforge-metaflow") == "1.2.3"
assert importlib.metadata.requires("flowforge-metaflow") == ["metaflow>=2.19"]
# Beside another installed extension, Metaflow only loads distributions that name it here.
assert importlib.metadata.distribution("flowforge-metaflow").read_text("top_level.txt").split() == ["metaflow_extensions"]
print(graph.__file__)`)
	check.Env = append(os.Environ(), "PYTHONPATH="+installed)
	out, err := check.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), installed)
}
