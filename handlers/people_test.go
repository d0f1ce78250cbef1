package handlers_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/auth/oidc"
	"github.com/flowforge/flowforge/access/identity"
	"github.com/flowforge/flowforge/web"
)

// identify returns the service that identifies callers.
func (b *testBundle) identify(t *testing.T, now func() time.Time, providers ...*oidc.Provider) {
	t.Helper()
	var err error
	b.policies, err = auth.NewPolicies(t.Context(), b.pool)
	require.NoError(t, err)
	b.users = auth.NewUsers(b.pool, b.policies)
	b.keys, err = auth.NewKeys(b.pool, b.users, bytes.Repeat([]byte("p"), 32), now)
	require.NoError(t, err)
	b.tokens = auth.TokenChain{auth.NewLocalToken(adminToken), b.keys}
	sessions := auth.NewSessions(b.pool, b.users, auth.DefaultSessionLimits(), now)
	b.sessions = web.NewSessions(sessions, false)
	sealer, err := auth.NewSealer(bytes.Repeat([]byte("s"), 32))
	require.NoError(t, err)
	b.identity = identity.New(identity.Config{
		Pool: b.pool, Policies: b.policies, Sessions: sessions, Keys: b.keys, Sealer: sealer, Providers: providers, Now: now,
	})
}

// noSessions are those of a site that only takes tokens.
func noSessions(t *testing.T, pool *pgxpool.Pool, now func() time.Time) *web.Sessions {
	t.Helper()
	policies, err := auth.NewPolicies(t.Context(), pool)
	require.NoError(t, err)
	return web.NewSessions(auth.NewSessions(pool, auth.NewUsers(pool, policies), auth.DefaultSessionLimits(), now), false)
}

// person returns the id of a new user with a role at a node of the tenancy tree;
// no role makes a user without any membership.
func (b *testBundle) person(t *testing.T, name, role string, node uuid.UUID) uuid.UUID {
	t.Helper()
	id := uuid.New()
	_, err := b.pool.Exec(b.ctx, "INSERT INTO users (id, name) VALUES ($1, $2)", id, name)
	require.NoError(t, err)
	if role != "" {
		_, err = b.pool.Exec(b.ctx, "INSERT INTO memberships (id, user_id, node_id, role) VALUES ($1, $2, $3, $4)", uuid.New(), id, node, role)
		require.NoError(t, err)
	}
	require.NoError(t, b.policies.Reload(b.ctx))
	return id
}

// signIn returns a caller with a session of the user, as a browser has it.
func (b *testBundle) signIn(t *testing.T, user uuid.UUID) *caller {
	t.Helper()
	w := httptest.NewRecorder()
	require.NoError(t, b.sessions.SignIn(w, httptest.NewRequest(http.MethodGet, "/", nil), auth.Login{UserID: user}))
	cookie := w.Result().Cookies()[0]
	return &caller{server: b.server.URL, header: http.Header{"Cookie": {cookie.Name + "=" + cookie.Value}}}
}

// tenant makes a tenant with a team and a project, and returns the ids of the
// tenant and the project.
func (b *testBundle) tenant(t *testing.T, name string) (tenant, project uuid.UUID) {
	t.Helper()
	tenant, team, project := uuid.New(), uuid.New(), uuid.New()
	path := []uuid.UUID{auth.Installation, tenant, team, project}
	insert := func(id uuid.UUID, kind, parentKind string, depth int, namespace *string) {
		_, err := b.pool.Exec(b.ctx, `INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, namespace)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, id, kind, path[depth-1], parentKind, tenant, path[:depth+1], name, namespace)
		require.NoError(t, err)
	}
	insert(tenant, "tenant", "installation", 1, nil)
	insert(team, "team", "tenant", 2, nil)
	insert(project, "project", "team", 3, &name)
	require.NoError(t, b.quotas.Levels.Reload(b.ctx))
	require.NoError(t, b.policies.Reload(b.ctx))
	return tenant, project
}
