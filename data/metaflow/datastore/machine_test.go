package datastore_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/metaflow/datastore"
)

// TestMachine: Python computes the same on the same machine.
func TestMachine(t *testing.T) {
	t.Parallel()
	source := filepath.Join("..", "..", "..", "sdk", "metaflow", "metaflow_extensions", "flowforge", "plugins", "flowforge", "deploy.py")
	program := `
import ast, sys
tree = ast.parse(open(sys.argv[1]).read())
tree.body = [n for n in tree.body if getattr(n, "name", "") == "_machine"]
import hashlib, os
from pathlib import Path
exec(compile(tree, sys.argv[1], "exec"))
print(_machine())
`
	out, err := exec.CommandContext(t.Context(), "python3", "-c", program, source).Output()
	require.NoError(t, err)
	require.Len(t, datastore.Machine(), 64)
	require.Equal(t, strings.TrimSpace(string(out)), datastore.Machine())
}
