package execution_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

func TestSemaphoresAreListedAndSet(t *testing.T) {
	t.Parallel()
	b := setup(t)
	gate := filepath.Join(t.TempDir(), "gate")
	id := b.launch(fmt.Sprintf(`
name: locked
version: 1.0.0
max_running: 4
operators:
  - {name: a, type: shell, locks: [{name: licences, permits: 1}], code: {script: 'while [ ! -e %[1]s ]; do sleep 0.02; done'}}
  - {name: b, type: shell, locks: [{name: licences, permits: 1}], code: {script: 'while [ ! -e %[1]s ]; do sleep 0.02; done'}}
`, gate), nil)
	running := func() (names []string) {
		for _, name := range []string{"a", "b"} {
			if b.node(id, name).State == dag.Running {
				names = append(names, name)
			}
		}
		return names
	}
	b.until(id, "one holds it", func(query.Execution) bool {
		page, err := b.engine.Semaphores.List(b.ctx, "")
		require.NoError(t, err)
		return len(page.Semaphores) == 2 && page.Semaphores[0].Held == 1 && page.Semaphores[0].Waiting == 1 && len(running()) == 1
	})
	page, err := b.engine.Semaphores.List(b.ctx, "")
	require.NoError(t, err)
	licences, own := page.Semaphores[0], page.Semaphores[1]
	require.Equal(t, []any{"licences", 0, 1, 1}, []any{licences.Name, licences.Permits, licences.Defined, licences.Holds()})
	require.Equal(t, running()[0], licences.Holders[0].Node)
	require.NotEqual(t, running()[0], licences.Waiters[0].Node)
	require.Equal(t, id, licences.Waiters[0].Execution)
	require.Equal(t, []any{"locked", 4, 1, ""}, []any{own.Workflow, own.Holds(), own.Held, own.Holders[0].Node})
	after, err := b.engine.Semaphores.List(b.ctx, "licences")
	require.NoError(t, err)
	require.Len(t, after.Semaphores, 1)

	set, err := b.engine.Semaphores.Set(b.ctx, "licences", 2, "one more was bought")
	require.NoError(t, err)
	require.Equal(t, 2, set.Holds())
	require.NotEmpty(t, set.SetBy)
	b.until(id, "both hold it", func(query.Execution) bool { return len(running()) == 2 })
	var reason, before, now string
	require.NoError(t, b.pool.QueryRow(b.ctx, `SELECT reason, old_value::text, new_value::text FROM audit_log WHERE action = 'semaphore.set'`).Scan(&reason, &before, &now))
	require.Equal(t, "one more was bought", reason)
	require.Contains(t, before, "as defined")
	require.Contains(t, now, "2")
	_, err = b.engine.Semaphores.Set(b.ctx, "licences", 0, "")
	require.NoError(t, err)
	touch(t, gate)
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	page, err = b.engine.Semaphores.List(b.ctx, "")
	require.NoError(t, err)
	require.Empty(t, page.Semaphores, "none is in use, and none has permits set")

	for _, name := range []string{"", "workflow:locked", "a b"} {
		_, err = b.engine.Semaphores.Set(b.ctx, name, 2, "")
		require.Equal(t, "name", apperr.FieldsOf(err)[0].Path, name)
	}
	_, err = b.engine.Semaphores.Set(b.ctx, "licences", -1, "")
	require.Equal(t, "permits", apperr.FieldsOf(err)[0].Path)
	dev := auth.Local()
	dev.Role, dev.Policy = auth.RoleUser, auth.Everywhere(auth.ProjectDev)
	_, err = b.engine.Semaphores.Set(auth.WithSubject(b.ctx, dev), "licences", 2, "")
	require.True(t, apperr.Is(err, apperr.Forbidden), "%v", err)
	_, err = b.engine.Semaphores.List(auth.WithSubject(b.ctx, dev), "")
	require.NoError(t, err)
	other := auth.Local()
	other.ProjectID = uuid.New()
	_, err = b.engine.Semaphores.Set(b.ctx, "licences", 5, "")
	require.NoError(t, err)
	page, err = b.engine.Semaphores.List(auth.WithSubject(b.ctx, other), "")
	require.NoError(t, err)
	require.Empty(t, page.Semaphores, "of another project")
}
