package tenancy_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/apperr"
)

func TestMembersAndWhereTheirRolesComeFrom(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ada := b.person(t, "ada", auth.TenantAdmin, "acme")
	_, ben := b.person(t, "ben", auth.ProjectDev, "one")
	g, err := b.service.AddGroupRole(b.admin, b.ids["core"], tenancy.GroupRole{Provider: "sso", Group: "ml/core", Role: auth.Viewer})
	require.NoError(t, err)
	b.byGroup(t, ben, g)
	members, err := b.service.Members(b.admin, b.ids["one"])
	require.NoError(t, err)
	var got []string
	for _, m := range members {
		from := m.From.Name
		if m.Inherited {
			from = "inherited from " + from
		}
		got = append(got, strings.TrimSpace(m.Name+" "+m.Role+" "+from+" "+m.Group))
	}
	require.Equal(t, []string{"ada TenantAdmin inherited from acme", "ben ProjectDev one", "ben Viewer inherited from core ml/core"}, got)
	require.Equal(t, ada, members[0].UserID)
	require.Equal(t, "admin", members[1].CreatedBy)

	groups, err := b.service.GroupRoles(b.admin, b.ids["one"])
	require.NoError(t, err)
	require.Len(t, groups, 1)
	require.Equal(t, []any{"core", true, 1}, []any{groups[0].From.Name, groups[0].Inherited, groups[0].Members})
}

// byGroup gives a person the role of a group, like a sign-in.
func (b *testBundle) byGroup(t *testing.T, user uuid.UUID, g tenancy.GroupRole) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), "INSERT INTO memberships (id, user_id, node_id, role, source) VALUES ($1, $2, $3, $4, $5)",
		uuid.New(), user, g.From.ID, g.Role, "group:"+g.Provider+"/"+g.Group)
	require.NoError(t, err)
	require.NoError(t, b.policies.Reload(t.Context()))
}

func TestAddMember(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, eve := b.person(t, "Eve")
	m, err := b.service.AddMember(b.admin, b.ids["core"], tenancy.Invitation{Email: " eve@EXAMPLE.com ", Role: auth.ProjectDev})
	require.NoError(t, err)
	require.Equal(t, []any{eve, "Eve", auth.ProjectDev}, []any{m.UserID, m.Name, m.Role})
	again, err := b.service.AddMember(b.admin, b.ids["core"], tenancy.Invitation{UserID: eve, Role: auth.ProjectDev})
	require.NoError(t, err)
	require.Equal(t, m, again)
	require.Len(t, b.actions(t, "member.add"), 1, "the second call changes nothing")
	require.True(t, b.policies.For(eve).May(auth.ExecutionLaunch, b.ids["two"]), "the role applies at once")

	_, _ = b.person(t, "twin")
	_, err = b.pool.Exec(t.Context(), "INSERT INTO users (id, name, email) VALUES ($1, 'twin two', 'TWIN@example.com')", uuid.New())
	require.NoError(t, err)
	sa, err := b.service.CreateServiceAccount(b.admin, b.ids["one"], "ci", auth.ProjectDev, "")
	require.NoError(t, err)
	_, gone := b.person(t, "gone")
	_, err = b.service.SetUserDisabled(b.admin, gone, true)
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		in    tenancy.Invitation
		field string
	}{
		"unknown address": {tenancy.Invitation{Email: "eve%", Role: auth.Viewer}, "email"},
		"no address":      {tenancy.Invitation{Role: auth.Viewer}, "email"},
		"two accounts":    {tenancy.Invitation{Email: "twin@example.com", Role: auth.Viewer}, "email"},
		"unknown user":    {tenancy.Invitation{UserID: uuid.New(), Role: auth.Viewer}, "user_id"},
		"service account": {tenancy.Invitation{UserID: sa.ID, Role: auth.Viewer}, "user_id"},
		"disabled":        {tenancy.Invitation{UserID: gone, Role: auth.Viewer}, "email"},
		"unknown role":    {tenancy.Invitation{UserID: eve, Role: "Emperor"}, "role"},
	} {
		_, err := b.service.AddMember(b.admin, b.ids["core"], tt.in)
		require.Equal(t, apperr.Invalid, code(err), name)
		require.Equal(t, []string{tt.field}, fields(err), name)
	}
}

func TestChangeAndRemoveMember(t *testing.T) {
	t.Parallel()
	b := setup(t)
	team, _ := b.person(t, "team", auth.TeamAdmin, "core")
	_, eve := b.person(t, "eve")
	m, err := b.service.AddMember(team, b.ids["core"], tenancy.Invitation{UserID: eve, Role: auth.Viewer})
	require.NoError(t, err)
	m, err = b.service.ChangeMember(team, b.ids["core"], m.ID, auth.ProjectDev)
	require.NoError(t, err)
	require.Equal(t, auth.ProjectDev, m.Role)
	_, err = b.service.ChangeMember(team, b.ids["core"], m.ID, auth.TenantAdmin)
	require.Equal(t, apperr.Forbidden, code(err), "a user cannot give more permissions than they have")
	_, err = b.service.ChangeMember(team, b.ids["one"], m.ID, auth.Viewer)
	require.Equal(t, apperr.NotFound, code(err), "the membership belongs to another node")

	boss, err := b.service.AddMember(b.admin, b.ids["core"], tenancy.Invitation{UserID: eve, Role: auth.TenantAdmin})
	require.NoError(t, err)
	require.Equal(t, apperr.Forbidden, code(b.service.RemoveMember(team, b.ids["core"], boss.ID)), "a user cannot remove a role that they could not give")
	_, err = b.service.ChangeMember(team, b.ids["core"], boss.ID, auth.Viewer)
	require.Equal(t, apperr.Forbidden, code(err))
	_, err = b.service.ChangeMember(b.admin, b.ids["core"], m.ID, auth.TenantAdmin)
	require.Equal(t, apperr.Conflict, code(err), "the role already exists")

	g, err := b.service.AddGroupRole(team, b.ids["core"], tenancy.GroupRole{Provider: "sso", Group: "g", Role: auth.Viewer})
	require.NoError(t, err)
	b.byGroup(t, eve, g)
	members, err := b.service.Members(team, b.ids["core"])
	require.NoError(t, err)
	for _, x := range members {
		if x.Group != "" {
			require.Equal(t, apperr.Conflict, code(b.service.RemoveMember(team, b.ids["core"], x.ID)), "a role of a group is removed with the group")
		}
	}
	require.NoError(t, b.service.RemoveGroupRole(team, b.ids["core"], g.ID))
	require.Equal(t, apperr.NotFound, code(b.service.RemoveGroupRole(team, b.ids["core"], g.ID)))
	require.NoError(t, b.service.RemoveMember(b.admin, b.ids["core"], boss.ID))
	require.NoError(t, b.service.RemoveMember(team, b.ids["core"], m.ID))
	require.False(t, b.policies.For(eve).May(auth.ExecutionRead, b.ids["one"]), "without a role, the user has no permissions")
	require.Equal(t, apperr.NotFound, code(b.service.RemoveMember(team, b.ids["core"], m.ID)))

	page, err := b.log.List(b.admin, audit.Filter{Action: "member.change"})
	require.NoError(t, err)
	require.Len(t, page.Changes, 1)
	require.JSONEq(t, `{"user": "eve", "email": "eve@example.com", "role": "Viewer"}`, string(page.Changes[0].Old))
	require.JSONEq(t, `{"user": "eve", "email": "eve@example.com", "role": "ProjectDev"}`, string(page.Changes[0].New))
	require.Equal(t, b.ids["acme"], page.Changes[0].TenantID)
	require.Equal(t, []string{"group.invite core", "group.remove core"}, b.actions(t, "group"))
}

func TestRolesThatOneMayGive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	team, _ := b.person(t, "team", auth.TeamAdmin, "core")
	dev, _ := b.person(t, "dev", auth.ProjectDev, "core")
	names := func(grants []auth.Grant) (list []string) {
		for _, g := range grants {
			list = append(list, g.Role)
		}
		return list
	}
	roles, err := b.service.Roles(team, b.ids["one"])
	require.NoError(t, err)
	require.Equal(t, []string{auth.Viewer, auth.ProjectDev, auth.TeamAdmin}, names(roles))
	roles, err = b.service.Roles(dev, b.ids["one"])
	require.NoError(t, err)
	require.Empty(t, roles)
	roles, err = b.service.Roles(b.admin, b.ids["one"])
	require.NoError(t, err)
	require.Len(t, roles, 4)
	_, err = b.service.Roles(team, b.ids["rival"])
	require.Equal(t, apperr.NotFound, code(err))
}

// TestTheLastAdminOfATenantStays, even with concurrent changes.
func TestTheLastAdminOfATenantStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	add := func(name string) tenancy.Member {
		_, id := b.person(t, name)
		m, err := b.service.AddMember(b.admin, b.ids["acme"], tenancy.Invitation{UserID: id, Role: auth.TenantAdmin})
		require.NoError(t, err)
		return m
	}
	ada, bob := add("ada"), add("bob")
	var refused atomic.Int32
	var wg sync.WaitGroup
	for _, m := range []tenancy.Member{ada, bob} {
		wg.Go(func() {
			if err := b.service.RemoveMember(b.admin, b.ids["acme"], m.ID); apperr.Is(err, apperr.Conflict) {
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, refused.Load(), "one of the two stays")
	members, err := b.service.Members(b.admin, b.ids["acme"])
	require.NoError(t, err)
	require.Len(t, members, 1)
	_, err = b.service.ChangeMember(b.admin, b.ids["acme"], members[0].ID, auth.Viewer)
	require.Equal(t, apperr.Conflict, code(err))
	_, err = b.service.ChangeMember(b.admin, b.ids["acme"], members[0].ID, auth.TeamAdmin)
	require.NoError(t, err, "a user who may still add members is an administrator")

	_, cyd := b.person(t, "cyd")
	g, err := b.service.AddGroupRole(b.admin, b.ids["rival"], tenancy.GroupRole{Provider: "sso", Group: "bosses", Role: auth.TenantAdmin})
	require.NoError(t, err)
	b.byGroup(t, cyd, g)
	require.Equal(t, apperr.Conflict, code(b.service.RemoveGroupRole(b.admin, b.ids["rival"], g.ID)), "the last one cannot be removed with a group either")
}

func TestGroupRoleChecks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g, err := b.service.AddGroupRole(b.admin, b.ids["core"], tenancy.GroupRole{Provider: " sso ", Group: " g ", Role: auth.Viewer})
	require.NoError(t, err)
	require.Equal(t, []string{"sso", "g"}, []string{g.Provider, g.Group})
	again, err := b.service.AddGroupRole(b.admin, b.ids["core"], tenancy.GroupRole{Provider: "sso", Group: "g", Role: auth.Viewer})
	require.NoError(t, err)
	require.Equal(t, g, again)
	for _, bad := range []tenancy.GroupRole{
		{Group: "g"}, {Provider: "sso"}, {Provider: "a/b", Group: "g"}, {Provider: "sso", Group: strings.Repeat("g", 256)},
	} {
		bad.Role = auth.Viewer
		_, err := b.service.AddGroupRole(b.admin, b.ids["core"], bad)
		require.Equal(t, apperr.Invalid, code(err))
	}
}
