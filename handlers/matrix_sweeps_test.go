package handlers_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
)

// sweepRows are about sweeps of another person, which no process drives.
func sweepRows() []row {
	const ok, invalid = http.StatusOK, http.StatusUnprocessableEntity
	const one = "/sweeps/{sweep_id}"
	return []row{
		read("/sweeps", "/sweeps", auth.ExecutionRead), read(one, "/sweeps/{sweep}", auth.ExecutionRead).object(),
		write("POST", "/sweeps", "/sweeps", `{"workflow": "{flow}", "space": []}`, auth.ExecutionLaunch, invalid).object(),
		write("POST", "/sweeps/preview", "/sweeps/preview", `{"workflow": "{flow}", "space": []}`, auth.ExecutionLaunch, ok).object(),
		write("PATCH", one, "/sweeps/{sweep}", `{"name": "of the matrix"}`, auth.ExecutionCancelAny, ok).object(),
		write("POST", one+"/pause", "/sweeps/{sweep}/pause", "", auth.ExecutionCancelAny, ok).object(),
		write("POST", one+"/resume", "/sweeps/{sweep}/resume", "", auth.ExecutionCancelAny, ok).object(),
		write("POST", one+"/stop", "/sweeps/{halted}/stop", `{}`, auth.ExecutionCancelAny, ok).object(),
	}
}

// matrixSweep creates a sweep of the caller of ctx.
func matrixSweep(ctx context.Context, t *testing.T, b *testBundle, workflow string) string {
	t.Helper()
	sw, _, err := b.deps.Sweeps.Create(ctx, sweep.Spec{
		Workflow: workflow, Method: sweep.Random, Runs: 2, Priority: query.Declared,
		Space: space.Space{{Path: "x", Kind: space.Uniform, From: new(0.0), To: new(1.0)}},
	})
	require.NoError(t, err, "%v", apperr.FieldsOf(err))
	return sw.ID.String()
}
