package auth

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/db/dbtest"
)

// signBundle is sessions and keys on their own database with a manual clock.
type signBundle struct {
	ctx      context.Context
	pool     *pgxpool.Pool
	policies *Policies
	users    *Users
	sessions *Sessions
	keys     *Keys
	now      time.Time
}

func setupSignIn(t *testing.T) *signBundle {
	t.Helper()
	b := &signBundle{ctx: WithOrigin(t.Context(), Origin{Address: "192.0.2.7", UserAgent: "test"}), pool: dbtest.New(t), now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	var err error
	b.policies, err = NewPolicies(b.ctx, b.pool)
	require.NoError(t, err)
	b.users = NewUsers(b.pool, b.policies)
	now := func() time.Time { return b.now }
	b.sessions = NewSessions(b.pool, b.users, DefaultSessionLimits(), now)
	b.keys, err = NewKeys(b.pool, b.users, []byte("0123456789abcdef0123456789abcdef"), now)
	require.NoError(t, err)
	return b
}

func (b *signBundle) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := b.pool.Exec(b.ctx, sql, args...)
	require.NoError(t, err)
	require.NoError(t, b.policies.Reload(b.ctx))
}

// member creates a user with a role in the local project.
func (b *signBundle) member(t *testing.T, role string) uuid.UUID {
	t.Helper()
	id := uuid.New()
	b.exec(t, "INSERT INTO users (id, name) VALUES ($1, 'mia')", id)
	b.exec(t, "INSERT INTO memberships (id, user_id, node_id, role) VALUES ($1, $2, $3, $4)", uuid.New(), id, LocalProject, role)
	return id
}

// project creates another project of the local team.
func (b *signBundle) project(t *testing.T, name string) uuid.UUID {
	t.Helper()
	id := uuid.New()
	b.exec(t, `INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, namespace)
		SELECT $1, 'project', id, kind, tenant_id, path || $1::uuid, $2, 'ns-' || $2 FROM tenancy_nodes WHERE id = $3`, id, name, LocalTeam)
	return id
}

func (b *signBundle) begin(t *testing.T, user uuid.UUID) string {
	t.Helper()
	token, err := b.sessions.Begin(b.ctx, Login{UserID: user, Provider: "sso"})
	require.NoError(t, err)
	return token
}

func (b *signBundle) over(t *testing.T, token string) {
	t.Helper()
	_, err := b.sessions.Find(b.ctx, token)
	require.True(t, apperr.Is(err, apperr.Unauthenticated), "%v", err)
}

func TestSessionSubject(t *testing.T) {
	t.Parallel()
	b := setupSignIn(t)
	user := b.member(t, ProjectDev)
	s, err := b.sessions.Find(b.ctx, b.begin(t, user))
	require.NoError(t, err)
	require.Equal(t, RoleUser, s.Role)
	require.Equal(t, LocalProject, s.ProjectID)
	require.Equal(t, LocalTenant, s.TenantID)
	require.True(t, s.May(ExecutionLaunch, LocalProject))
	require.False(t, s.May(TypeWrite, LocalProject))
	_, ok := s.SessionID()
	require.True(t, ok)

	s, err = b.sessions.Find(b.ctx, b.begin(t, LocalAdmin))
	require.NoError(t, err)
	require.Equal(t, RoleAdmin, s.Role)
	require.Equal(t, LocalProject, s.ProjectID)
	b.over(t, "")
	b.over(t, "made up")
}

func TestSessionsEndByThemselves(t *testing.T) {
	t.Parallel()
	b := setupSignIn(t)
	user, limits := b.member(t, Viewer), DefaultSessionLimits()
	idle := b.begin(t, user)
	b.now = b.now.Add(limits.Idle)
	b.over(t, idle)

	used, started := b.begin(t, user), b.now
	for b.now.Sub(started) < limits.Absolute-limits.Idle {
		b.now = b.now.Add(limits.Idle - time.Minute)
		_, err := b.sessions.Find(b.ctx, used)
		require.NoError(t, err, "a session in use stays valid")
	}
	b.now = started.Add(limits.Absolute - time.Second)
	_, err := b.sessions.Find(b.ctx, used)
	require.NoError(t, err)
	b.now = started.Add(limits.Absolute)
	b.over(t, used)
}

// TestSessionSeen: the time of the last request is written at most once a minute.
func TestSessionSeen(t *testing.T) {
	t.Parallel()
	b := setupSignIn(t)
	user := b.member(t, Viewer)
	token, started := b.begin(t, user), b.now
	seen := func() time.Time {
		list, err := b.sessions.List(b.ctx, user)
		require.NoError(t, err)
		require.Len(t, list, 1)
		return list[0].SeenAt.UTC()
	}
	for _, step := range []struct{ after, want time.Duration }{{59 * time.Second, 0}, {time.Minute, time.Minute}, {90 * time.Second, time.Minute}} {
		b.now = started.Add(step.after)
		_, err := b.sessions.Find(b.ctx, token)
		require.NoError(t, err)
		require.Equal(t, started.Add(step.want), seen())
	}
}

func TestSessionsAreRevoked(t *testing.T) {
	t.Parallel()
	b := setupSignIn(t)
	user, other := b.member(t, Viewer), b.member(t, Viewer)
	first, second, third := b.begin(t, user), b.begin(t, user), b.begin(t, user)
	theirs := b.begin(t, other)

	ended, ok, err := b.sessions.End(b.ctx, first)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "sso", ended.Provider)
	b.over(t, first)

	s, err := b.sessions.Find(b.ctx, second)
	require.NoError(t, err)
	id, _ := s.SessionID()
	ok, err = b.sessions.EndOf(b.ctx, db.New(b.pool), other, id)
	require.NoError(t, err)
	require.False(t, ok, "a user cannot end another user's session")
	ok, err = b.sessions.EndOf(b.ctx, db.New(b.pool), user, id)
	require.NoError(t, err)
	require.True(t, ok)
	b.over(t, second)

	n, err := b.sessions.EndAll(b.ctx, db.New(b.pool), user)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	b.over(t, third)
	_, err = b.sessions.Find(b.ctx, theirs)
	require.NoError(t, err)
}

// TestSessionsOfAChangedUser: a user who is disabled, or who becomes or ceases to be an
// administrator, needs a new session.
func TestSessionsOfAChangedUser(t *testing.T) {
	t.Parallel()
	b := setupSignIn(t)
	user := b.member(t, Viewer)
	token := b.begin(t, user)
	b.exec(t, "UPDATE users SET installation_admin = true WHERE id = $1", user)
	b.over(t, token)
	asAdmin := b.begin(t, user)
	s, err := b.sessions.Find(b.ctx, asAdmin)
	require.NoError(t, err)
	require.Equal(t, RoleAdmin, s.Role)
	b.exec(t, "UPDATE users SET installation_admin = false WHERE id = $1", user)
	b.over(t, asAdmin)

	last := b.begin(t, user)
	b.exec(t, "UPDATE users SET disabled_at = now() WHERE id = $1", user)
	b.over(t, last)
	_, err = b.sessions.Begin(b.ctx, Login{UserID: user})
	require.True(t, apperr.Is(err, apperr.Forbidden))
}

func TestCurrentProject(t *testing.T) {
	t.Parallel()
	b := setupSignIn(t)
	user := b.member(t, Viewer)
	token := b.begin(t, user)
	other, closed := b.project(t, "other"), b.project(t, "closed")
	b.exec(t, "INSERT INTO memberships (id, user_id, node_id, role) VALUES ($1, $2, $3, 'Viewer')", uuid.New(), user, other)
	find := func() Subject {
		s, err := b.sessions.Find(b.ctx, token)
		require.NoError(t, err)
		return s
	}
	require.NoError(t, b.sessions.SetProject(b.ctx, find(), other))
	require.Equal(t, other, find().ProjectID)
	require.True(t, apperr.Is(b.sessions.SetProject(b.ctx, find(), closed), apperr.NotFound))
	for _, name := range []string{other.String(), "ns-other", "local/other", "local/local/other"} {
		s, err := b.users.InProject(find(), name)
		require.NoError(t, err, name)
		require.Equal(t, other, s.ProjectID)
	}
	for _, name := range []string{closed.String(), "ns-closed", "local/closed", "other", "nothing", uuid.NewString()} {
		_, err := b.users.InProject(find(), name)
		require.True(t, apperr.Is(err, apperr.NotFound), name)
	}
	b.exec(t, "DELETE FROM memberships WHERE user_id = $1 AND node_id = $2", user, other)
	require.Equal(t, LocalProject, find().ProjectID, "the first project replaces one that is no longer allowed")
	b.exec(t, "DELETE FROM memberships WHERE user_id = $1", user)
	require.Equal(t, uuid.Nil, find().ProjectID)
	_, err := Authorize(WithSubject(b.ctx, find()), WorkflowRead)
	require.True(t, apperr.Is(err, apperr.Forbidden))
}
