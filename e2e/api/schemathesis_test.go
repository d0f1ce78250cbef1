package api

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// budget is how long schemathesis may take: four times what it needs on a quiet machine.
const budget = 12 * time.Minute

// TestAPIIsAsDescribed: every answer to requests that schemathesis generates from the
// description is one that the description has, and valid requests are taken.
func TestAPIIsAsDescribed(t *testing.T) {
	program := os.Getenv("FLOWFORGE_TEST_SCHEMATHESIS")
	if _, err := os.Stat(program); err != nil {
		t.Fatal("there is no schemathesis for tests: run `scripts/setup schemathesis`, and the test by scripts/environment")
	}
	s, err := startServer(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(s.stop)
	settings := configure(t, makeWorld(t, s))
	ctx, cancel := context.WithTimeout(t.Context(), budget)
	defer cancel()
	run := exec.CommandContext(ctx, program, "--config-file", settings, "run", s.base+"/api/v1/openapi.json", "--no-color")
	run.Dir, run.Env = t.TempDir(), append(os.Environ(), "FLOWFORGE_TEST_TOKEN="+s.token)
	began := time.Now()
	out, err := run.CombinedOutput()
	t.Logf("schemathesis ran %s", time.Since(began).Round(time.Second))
	require.NoError(t, ctx.Err(), "schemathesis took longer than %s", budget)
	if err != nil {
		os.Stdout.Write(out) // too much for a message of the test
		t.Fatalf("%v; the server:\n%s", err, s.output())
	}
}

// configure writes schemathesis.toml with the values of a world, and returns its path.
func configure(t *testing.T, w world) string {
	t.Helper()
	settings, err := os.ReadFile("schemathesis.toml")
	require.NoError(t, err)
	var out strings.Builder
	out.Write(settings)
	out.WriteString("\n[dictionaries]\n")
	for name, values := range w {
		list, err := json.Marshal(values) // an array of texts is the same in TOML
		require.NoError(t, err)
		out.WriteString(name + " = { values = " + string(list) + " }\n")
	}
	path := filepath.Join(t.TempDir(), "schemathesis.toml")
	require.NoError(t, os.WriteFile(path, []byte(out.String()), 0o600))
	return path
}
