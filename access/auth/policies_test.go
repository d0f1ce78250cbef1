package auth_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db/dbtest"
)

// tree is a small installation: tenant acme › department research (› nested
// vision) › team core › projects one and two, and the tenant rival › team spies ›
// project three alongside it.
type tree struct {
	pool *pgxpool.Pool
	ids  map[string]uuid.UUID
}

func newTree(t testing.TB) tree {
	t.Helper()
	b := tree{pool: dbtest.New(t), ids: map[string]uuid.UUID{"installation": auth.Installation}}
	for _, n := range [][3]string{
		{"acme", "tenant", "installation"}, {"research", "department", "acme"}, {"vision", "department", "research"},
		{"core", "team", "vision"}, {"one", "project", "core"}, {"two", "project", "core"},
		{"rival", "tenant", "installation"}, {"spies", "team", "rival"}, {"three", "project", "spies"},
	} {
		b.node(t, n[0], n[1], n[2])
	}
	return b
}

func (b tree) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func (b tree) node(t testing.TB, name, kind, parent string) {
	t.Helper()
	id := uuid.New()
	b.ids[name] = id
	b.exec(t, `INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, namespace)
		SELECT $1, $2, id, kind, coalesce(tenant_id, $1), path || $1::uuid, $3, CASE WHEN $2 = 'project' THEN 'ff-' || $3 END
		FROM tenancy_nodes WHERE id = $4`, id, kind, name, b.ids[parent])
}

func (b tree) user(t testing.TB, roles ...string) uuid.UUID {
	t.Helper()
	id := uuid.New()
	b.exec(t, "INSERT INTO users (id, name) VALUES ($1, $2)", id, "user "+id.String())
	for i := 0; i+1 < len(roles); i += 2 {
		b.exec(t, "INSERT INTO memberships (id, user_id, role, node_id) VALUES ($1, $2, $3, $4)", uuid.New(), id, roles[i], b.ids[roles[i+1]])
	}
	return id
}

func TestPoliciesFollowTheTree(t *testing.T) {
	t.Parallel()
	b := newTree(t)
	viewer, dev := b.user(t, auth.Viewer, "acme"), b.user(t, auth.ProjectDev, "one")
	team, tenant := b.user(t, auth.TeamAdmin, "core"), b.user(t, auth.TenantAdmin, "acme")
	both := b.user(t, auth.Viewer, "acme", auth.ProjectDev, "core")
	odd := b.user(t, "NoSuchRole", "acme")
	policies, err := auth.NewPolicies(t.Context(), b.pool)
	require.NoError(t, err)
	tests := []struct {
		user   uuid.UUID
		action auth.Action
		yes    string // where allowed; everywhere else it is not
	}{
		{viewer, auth.ExecutionRead, "acme research vision core one two"},
		{viewer, auth.ExecutionLaunch, ""},
		{dev, auth.ExecutionLaunch, "one"},
		{dev, auth.ExecutionCancelAny, ""},
		{dev, auth.TenancyRead, "one"},
		{team, auth.TenancyWrite, "core one two"},
		{team, auth.AuditRead, ""},
		{tenant, auth.AuditRead, "acme research vision core one two"},
		{tenant, auth.Administer, ""},
		{both, auth.WorkflowRead, "acme research vision core one two"},
		{both, auth.WorkflowWrite, "core one two"},
		{odd, auth.WorkflowRead, ""},
		{uuid.New(), auth.WorkflowRead, ""},
	}
	for _, tt := range tests {
		policy := policies.For(tt.user)
		var got []string
		for _, name := range []string{"installation", "acme", "research", "vision", "core", "one", "two", "rival", "spies", "three"} {
			if policy.May(tt.action, b.ids[name]) {
				got = append(got, name)
			}
		}
		require.Equal(t, tt.yes, joined(got), "%s", tt.action)
	}
	require.False(t, policies.For(tenant).May("read", b.ids["acme"]), "a part of an action's name is not an action")
	require.False(t, policies.For(tenant).May(auth.WorkflowRead, uuid.New()), "no role applies to a node that does not exist")
}

func joined(names []string) string {
	text := ""
	for i, n := range names {
		if i > 0 {
			text += " "
		}
		text += n
	}
	return text
}

func TestPoliciesTakeOverChanges(t *testing.T) {
	t.Parallel()
	b := newTree(t)
	user := b.user(t)
	policies, err := auth.NewPolicies(t.Context(), b.pool)
	require.NoError(t, err)
	policy, other, one := policies.For(user), policies.For(b.user(t)), b.ids["one"]
	reload := func() { require.NoError(t, policies.Reload(t.Context())) }

	require.False(t, policy.May(auth.ExecutionLaunch, one))
	b.exec(t, "INSERT INTO memberships (id, user_id, role, node_id) VALUES ($1, $2, 'ProjectDev', $3)", uuid.New(), user, b.ids["research"])
	reload()
	require.True(t, policy.May(auth.ExecutionLaunch, one), "a new role applies")
	require.False(t, other.May(auth.ExecutionLaunch, one))

	b.exec(t, "UPDATE tenancy_nodes SET archived_at = now() WHERE id = $1", one)
	reload()
	require.False(t, policy.May(auth.ExecutionLaunch, one), "nothing starts in an archived project")
	require.True(t, policy.May(auth.ExecutionRead, one), "existing objects stay readable")
	require.Equal(t, []string{"two"}, placeNames(policies.Projects(user)))

	b.exec(t, "UPDATE users SET disabled_at = now() WHERE id = $1", user)
	reload()
	require.False(t, policy.May(auth.ExecutionRead, one), "a disabled user has no permissions")
	b.exec(t, "UPDATE users SET disabled_at = NULL, installation_admin = true WHERE id = $1", user)
	reload()
	require.True(t, policy.May(auth.Administer, auth.Installation))
	require.True(t, policies.IsAdmin(user))
	require.Equal(t, []string{"two", "default", "three"}, placeNames(policies.Projects(user)))
	b.exec(t, "DELETE FROM users WHERE id = $1", user)
	reload()
	require.False(t, policy.May(auth.ExecutionRead, one))
}

func placeNames(places []auth.ProjectRef) []string {
	var names []string
	for _, p := range places {
		names = append(names, p.Name)
	}
	return names
}

// TestPoliciesRun: changes by another server take effect here when the watch reports them.
func TestPoliciesRun(t *testing.T) {
	t.Parallel()
	b, watch := newTree(t), dbtest.NewWatch(t)
	user := b.user(t)
	policies, err := auth.NewPolicies(t.Context(), b.pool)
	require.NoError(t, err)
	watch.Run(1, func(ctx context.Context) { _ = policies.Run(ctx, watch.Watch) })
	b.exec(t, "INSERT INTO memberships (id, user_id, role, node_id) VALUES ($1, $2, 'Viewer', $3)", uuid.New(), user, b.ids["rival"])
	watch.Wakes(func() bool { return policies.For(user).May(auth.WorkflowRead, b.ids["three"]) })
}

func TestProjectsOfAUser(t *testing.T) {
	t.Parallel()
	b := newTree(t)
	policies, err := auth.NewPolicies(t.Context(), b.pool)
	require.NoError(t, err)
	dev := b.user(t, auth.ProjectDev, "two", auth.Viewer, "spies")
	require.NoError(t, policies.Reload(t.Context()))
	places := policies.Projects(dev)
	require.Equal(t, []string{"two", "three"}, placeNames(places))
	require.Equal(t, "acme › research › vision › core › two", places[0].Label())
	require.Equal(t, b.ids["acme"], places[0].TenantID)
	require.Equal(t, "ff-two", places[0].Namespace)
	found, ok := policies.Project(b.ids["two"])
	require.True(t, ok)
	require.Equal(t, places[0], found)
	_, ok = policies.Project(b.ids["core"])
	require.False(t, ok, "a team is not a project")
	require.True(t, slices.ContainsFunc(policies.AllProjects(), func(p auth.ProjectRef) bool { return p.ID == auth.LocalProject }))
}

// BenchmarkPolicies is a check of one of 1,000 users with three roles each, in a
// tree of 10 tenants with 100 teams and 300 projects.
func BenchmarkPolicies(b *testing.B) {
	tr := newTree(b)
	var users, projects []uuid.UUID
	for i := range 100 {
		if i%10 == 0 {
			tr.node(b, fmt.Sprint("tenant", i/10), "tenant", "installation")
		}
		tr.node(b, fmt.Sprint("team", i), "team", fmt.Sprint("tenant", i/10))
		for j := range 3 {
			name := fmt.Sprintf("p%d-%d", i, j)
			tr.node(b, name, "project", fmt.Sprint("team", i))
			projects = append(projects, tr.ids[name])
		}
	}
	for i := range 1000 {
		users = append(users, tr.user(b, auth.ProjectDev, fmt.Sprintf("team%d", i%100), auth.Viewer, fmt.Sprintf("tenant%d", i%100/10), auth.TeamAdmin, fmt.Sprintf("p%d-0", (i+7)%100)))
	}
	policies, err := auth.NewPolicies(b.Context(), tr.pool)
	require.NoError(b, err)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		policies.For(users[i%len(users)]).May(auth.ExecutionLaunch, projects[i%100*3+i%3])
	}
}

// TestPoliciesThatCannotBeLoaded: a load ends although the database does not respond, and a later one
// finds the change.
func TestPoliciesThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	b := newTree(t)
	policies, err := auth.NewPolicies(t.Context(), b.pool)
	require.NoError(t, err)
	policies.LimitLoads(100 * time.Millisecond)
	lock, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = lock.Rollback(t.Context()) }()
	_, err = lock.Exec(t.Context(), "LOCK TABLE tenancy_version IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	require.ErrorIs(t, policies.Reload(context.WithoutCancel(t.Context())), context.DeadlineExceeded)
	require.NoError(t, lock.Rollback(t.Context()))
	policies.LimitLoads(time.Minute)
	user := b.user(t, auth.Viewer, "one")
	require.NoError(t, policies.Reload(t.Context()))
	require.True(t, policies.For(user).May(auth.ExecutionRead, b.ids["one"]))
}
