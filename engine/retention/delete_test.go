package retention

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// TestDeletedExecutionsAreRemoved: a deletion removes what an expiry would, and nothing that has
// expired in the meantime.
func TestDeletedExecutionsAreRemoved(t *testing.T) {
	t.Parallel()
	requests := 0
	b := setup(t, nil, func(c *Config) {
		c.Requested = func(context.Context, pgx.Tx) error { requests++; return nil }
	})
	p := auth.LocalProject
	gone, expired := b.execution(p, "FAILED", `{}`), b.execution(p, "SUCCEEDED", `{}`)
	out := b.publish(p, gone, b.upload(p, "out"), "")
	b.expire(expired)
	b.clock.add(aWhile)
	require.NoError(t, b.MayDelete(b.ctx, gone))
	require.NoError(t, b.Delete(b.ctx, gone))
	require.Equal(t, 1, requests)
	require.True(t, apperr.Is(b.Delete(b.ctx, gone), apperr.Conflict), "it is being deleted")
	require.True(t, apperr.Is(b.Keep(b.ctx, gone), apperr.Conflict))
	marked, err := b.Deleted(b.ctx, []uuid.UUID{gone, expired})
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{gone}, marked)

	require.NoError(t, b.RemoveDeleted(b.ctx))
	require.Zero(t, b.count(`SELECT count(*) FROM executions WHERE id = $1`, gone))
	require.Zero(t, b.count(`SELECT count(*) FROM nodes WHERE execution_id = $1`, gone))
	require.Zero(t, b.count(`SELECT count(*) FROM artifacts WHERE id = $1`, out))
	require.EqualValues(t, 1, b.count(`SELECT count(*) FROM executions WHERE id = $1`, expired), "only sweeps expire executions")
	require.EqualValues(t, 1, b.count(`SELECT count(*) FROM audit_log WHERE action = 'execution.delete'`))
	require.True(t, apperr.Is(b.Delete(b.ctx, gone), apperr.NotFound))
}

// TestDeletionsThatAreRefused names why, and changes nothing.
func TestDeletionsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	p := auth.LocalProject
	refused := func(ctx context.Context, id uuid.UUID, code apperr.Code, says string) {
		t.Helper()
		for _, err := range []error{b.MayDelete(ctx, id), b.Delete(ctx, id)} {
			require.True(t, apperr.Is(err, code), "%v", err)
			require.Contains(t, apperr.MessageOf(err), says)
		}
	}
	live, id := b.execution(p, "RUNNING", `{}`), b.execution(p, "FAILED", `{}`)
	refused(b.ctx, live, apperr.Conflict, "Cancel it first")
	refused(b.ctx, uuid.New(), apperr.NotFound, "There is no execution")
	refused(t.Context(), id, apperr.Unauthenticated, "")
	viewer := auth.Everywhere(auth.Viewer)
	refused(auth.WithSubject(t.Context(), auth.Subject{ID: uuid.New(), Name: "vera", Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: p,
		Policy: auth.PolicyFunc(viewer.May)}), id, apperr.Forbidden, "")
	require.NoError(t, b.Keep(b.ctx, id))
	refused(b.ctx, id, apperr.Conflict, "Stop keeping")
	require.NoError(t, b.Release(b.ctx, id))
	b.exec(`UPDATE executions SET resume_of = $2 WHERE id = $1`, live, id)
	refused(b.ctx, id, apperr.Conflict, "resumed from it")
	require.Zero(t, b.count(`SELECT count(*) FROM executions WHERE removal_began_at IS NOT NULL`))
}

// TestDeletionsAreTriedAgain: an execution whose end is still being reported is removed later.
func TestDeletionsAreTriedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	id := b.execution(auth.LocalProject, "SUCCEEDED", `{}`)
	require.NoError(t, b.Delete(b.ctx, id))
	b.exec(`INSERT INTO river_job (kind, args, state, max_attempts, queue) VALUES ('finished', jsonb_build_object('execution_id', $1::text), 'available', 25, 'notify')`, id.String())
	require.ErrorIs(t, b.RemoveDeleted(b.ctx), river.JobSnooze(removeLater))
	b.exec(`DELETE FROM river_job`)
	require.NoError(t, b.RemoveDeleted(b.ctx))
	require.Zero(t, b.count(`SELECT count(*) FROM executions`))
}

// TestDeletionsWaitForASweep: two processes never remove at the same time.
func TestDeletionsWaitForASweep(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	id := b.execution(auth.LocalProject, "SUCCEEDED", `{}`)
	b.upload(auth.LocalProject, "x")
	result := b.atPoint("blobs.marked", func() error {
		require.NoError(t, b.Delete(context.WithoutCancel(b.ctx), id))
		return b.RemoveDeleted(context.WithoutCancel(b.ctx))
	})
	b.sweep()
	require.ErrorIs(t, result(), river.JobSnooze(removeAgain))
	require.NoError(t, b.RemoveDeleted(b.ctx))
	require.Zero(t, b.count(`SELECT count(*) FROM executions`))
}
