package tenancy_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db/dbtest"
)

// testBundle is a service on its own database, with this tree created by the
// administrator: acme › research › {core › {one, two}, vision}, acme › ops, and rival ›
// spies › three.
type testBundle struct {
	pool     *pgxpool.Pool
	policies *auth.Policies
	service  *tenancy.Service
	log      *audit.Log
	admin    context.Context
	ids      map[string]uuid.UUID
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	b := &testBundle{pool: dbtest.New(t), admin: auth.WithSubject(t.Context(), auth.Local()), ids: map[string]uuid.UUID{"installation": auth.Installation}}
	var err error
	b.policies, err = auth.NewPolicies(t.Context(), b.pool)
	require.NoError(t, err)
	b.service, b.log = tenancy.NewService(b.pool, b.policies, time.Now), audit.NewLog(b.pool)
	for _, n := range [][3]string{
		{"acme", "tenant", "installation"}, {"research", "department", "acme"}, {"core", "team", "research"}, {"one", "project", "core"}, {"two", "project", "core"},
		{"vision", "department", "research"}, {"ops", "team", "acme"},
		{"rival", "tenant", "installation"}, {"spies", "team", "rival"}, {"three", "project", "spies"},
	} {
		made, err := b.service.Create(b.admin, tenancy.NewNode{ParentID: b.ids[n[2]], Kind: tenancy.Kind(n[1]), Name: n[0]})
		require.NoError(t, err)
		b.ids[n[0]] = made.ID
	}
	return b
}

// person creates a user who has signed in, with roles at nodes, and returns the user's
// context and id.
func (b *testBundle) person(t *testing.T, name string, roles ...string) (context.Context, uuid.UUID) {
	t.Helper()
	id := uuid.New()
	_, err := b.pool.Exec(t.Context(), "INSERT INTO users (id, name, email, issuer, subject) VALUES ($1, $2, $3, 'https://idp', $2)", id, name, name+"@example.com")
	require.NoError(t, err)
	for i := 0; i+1 < len(roles); i += 2 {
		_, err := b.service.AddMember(b.admin, b.ids[roles[i+1]], tenancy.Invitation{UserID: id, Role: roles[i]})
		require.NoError(t, err)
	}
	return auth.WithSubject(t.Context(), auth.Subject{ID: id, Name: name, Role: auth.RoleUser, Policy: b.policies.For(id)}), id
}

// actions returns the actions in the audit log after the fixture's, oldest first.
func (b *testBundle) actions(t *testing.T, noun string) []string {
	t.Helper()
	page, err := b.log.List(b.admin, audit.Filter{Action: noun, Limit: 500})
	require.NoError(t, err)
	var list []string
	for _, c := range page.Changes {
		list = append([]string{c.Action + " " + c.ObjectName}, list...)
	}
	return list
}

func code(err error) apperr.Code { return apperr.CodeOf(err) }

// fields returns the paths of the invalid fields.
func fields(err error) []string {
	var paths []string
	for _, f := range apperr.FieldsOf(err) {
		paths = append(paths, f.Path)
	}
	return paths
}

// TestRolesAndActions tries every change as every role, at the node of the role,
// above it, and in another tenant.
func TestRolesAndActions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stranger, _ := b.person(t, "stranger", auth.TenantAdmin, "rival")
	viewer, _ := b.person(t, "viewer", auth.Viewer, "core")
	dev, _ := b.person(t, "dev", auth.ProjectDev, "core")
	team, _ := b.person(t, "team", auth.TeamAdmin, "core")
	tenant, _ := b.person(t, "tenant", auth.TenantAdmin, "acme")
	_, guest := b.person(t, "guest")
	const ok, forbidden, absent = apperr.Code(""), apperr.Forbidden, apperr.NotFound
	create := func(kind tenancy.Kind, parent string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := b.service.Create(ctx, tenancy.NewNode{ParentID: b.ids[parent], Kind: kind, Name: "new " + uuid.NewString()})
			return err
		}
	}
	update := func(name string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := b.service.Update(ctx, b.ids[name], tenancy.Edit{Description: new("as " + uuid.NewString())})
			return err
		}
	}
	add := func(role, node string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := b.service.AddMember(ctx, b.ids[node], tenancy.Invitation{UserID: guest, Role: role})
			return err
		}
	}
	invite := func(role, node string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := b.service.AddGroupRole(ctx, b.ids[node], tenancy.GroupRole{Provider: "sso", Group: "g", Role: role})
			return err
		}
	}
	hire := func(role string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := b.service.CreateServiceAccount(ctx, b.ids["one"], "ci "+uuid.NewString(), role, "")
			return err
		}
	}
	read := func(ctx context.Context) error { _, _, err := b.service.Node(ctx, b.ids["core"]); return err }
	members := func(ctx context.Context) error { _, err := b.service.Members(ctx, b.ids["one"]); return err }
	users := func(ctx context.Context) error { _, err := b.service.Users(ctx, tenancy.UserFilter{}); return err }
	disable := func(ctx context.Context) error { _, err := b.service.SetUserDisabled(ctx, guest, false); return err }
	for _, tt := range []struct {
		name                                      string
		do                                        func(context.Context) error
		stranger, viewer, dev, team, tenant, root apperr.Code
	}{
		{"read a team", read, absent, ok, ok, ok, ok, ok},
		{"read members of a project", members, absent, ok, ok, ok, ok, ok},
		{"create a project", create(tenancy.Project, "core"), absent, forbidden, forbidden, ok, ok, ok},
		{"create a team beside", create(tenancy.Team, "research"), absent, absent, absent, absent, ok, ok},
		{"create a department", create(tenancy.Department, "acme"), absent, absent, absent, absent, ok, ok},
		{"create a tenant", create(tenancy.Tenant, "installation"), absent, absent, absent, absent, absent, ok},
		{"describe a project", update("one"), absent, forbidden, forbidden, ok, ok, ok},
		{"describe the own team", update("core"), absent, forbidden, forbidden, forbidden, ok, ok},
		{"describe the own tenant", update("acme"), absent, absent, absent, absent, forbidden, ok},
		{"add a viewer", add(auth.Viewer, "one"), absent, forbidden, forbidden, ok, ok, ok},
		{"add a team admin", add(auth.TeamAdmin, "core"), absent, forbidden, forbidden, ok, ok, ok},
		{"add a tenant admin to the team", add(auth.TenantAdmin, "core"), absent, forbidden, forbidden, forbidden, ok, ok},
		{"add a member above", add(auth.Viewer, "research"), absent, absent, absent, absent, ok, ok},
		{"add a member of the installation", add(auth.Viewer, "installation"), absent, absent, absent, absent, absent, ok},
		{"invite a group", invite(auth.ProjectDev, "core"), absent, forbidden, forbidden, ok, ok, ok},
		{"invite a group to more", invite(auth.TenantAdmin, "core"), absent, forbidden, forbidden, forbidden, ok, ok},
		{"make a service account", hire(auth.ProjectDev), absent, forbidden, forbidden, ok, ok, ok},
		{"make a service account that may more", hire(auth.TenantAdmin), absent, forbidden, forbidden, forbidden, ok, ok},
		{"list users", users, forbidden, forbidden, forbidden, forbidden, forbidden, ok},
		{"enable a user", disable, forbidden, forbidden, forbidden, forbidden, forbidden, ok},
	} {
		for as, c := range map[string]struct {
			ctx  context.Context
			want apperr.Code
		}{
			"stranger": {stranger, tt.stranger}, "viewer": {viewer, tt.viewer}, "developer": {dev, tt.dev}, "team admin": {team, tt.team},
			"tenant admin": {tenant, tt.tenant}, "administrator": {b.admin, tt.root}, "nobody": {t.Context(), apperr.Unauthenticated},
		} {
			require.Equal(t, c.want, code(tt.do(c.ctx)), "%s as %s", tt.name, as)
		}
		task := auth.WithSubject(t.Context(), auth.ForTask(auth.TaskScope{ProjectID: b.ids["one"]}))
		require.Contains(t, []apperr.Code{absent, forbidden}, code(tt.do(task)), "%s with the token of a task", tt.name)
	}
}
