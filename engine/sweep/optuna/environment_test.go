package optuna_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/sweep/optuna"
)

// TestProgramsGetNoSecretsOfTheServer: the interpreter sees the listed variables alone.
func TestProgramsGetNoSecretsOfTheServer(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"FLOWFORGE_DATABASE_URL", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD"} {
		t.Setenv(name, "hidden")
	}
	for _, name := range []string{"PIP_INDEX_URL", "https_proxy", "NO_PROXY", "SSL_CERT_FILE", "TMPDIR"} {
		t.Setenv(name, "shown")
	}
	python, seen := filepath.Join(dir, "python3"), filepath.Join(dir, "seen")
	require.NoError(t, os.WriteFile(python, []byte("#!/bin/sh\nenv > '"+seen+"'\necho '[[0.5]]'\n"), 0o700))
	_, err := optuna.New(optuna.Config{Python: python}).Suggest(t.Context(), optuna.Request{N: 1})
	require.NoError(t, err)
	text, err := os.ReadFile(seen)
	require.NoError(t, err)
	require.NotContains(t, string(text), "hidden")
	for _, line := range []string{"PIP_INDEX_URL=shown", "https_proxy=shown", "NO_PROXY=shown", "SSL_CERT_FILE=shown", "TMPDIR=shown", "PATH="} {
		require.Contains(t, string(text), line)
	}
	_, err = optuna.New(optuna.Config{Python: python}).Suggest(t.Context(), optuna.Request{N: 2})
	require.ErrorAs(t, err, new(*optuna.UnavailableError), "it would answer the same again")
}
