package tenancy_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/apperr"
)

func TestServiceAccounts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	team, _ := b.person(t, "team", auth.TeamAdmin, "core")
	one := b.ids["one"]
	sa, err := b.service.CreateServiceAccount(team, one, "ci", auth.ProjectDev, "key")
	require.NoError(t, err)
	require.Equal(t, []any{"ci", auth.ProjectDev, 0, "team"}, []any{sa.Name, sa.Role, sa.Keys, sa.CreatedBy})
	again, err := b.service.CreateServiceAccount(team, one, "ci", auth.ProjectDev, "key")
	require.NoError(t, err)
	require.Equal(t, sa.ID, again.ID)
	policy := b.policies.For(sa.ID)
	require.True(t, policy.May(auth.ExecutionLaunch, one))
	require.False(t, policy.May(auth.ExecutionLaunch, b.ids["two"]))

	_, err = b.service.CreateServiceAccount(team, one, "CI", auth.Viewer, "")
	require.Equal(t, apperr.Conflict, code(err))
	_, err = b.service.CreateServiceAccount(team, one, "", auth.Viewer, "")
	require.Equal(t, apperr.Invalid, code(err))
	_, err = b.service.CreateServiceAccount(team, b.ids["core"], "x", auth.Viewer, "")
	require.Equal(t, apperr.NotFound, code(err), "a team has none")
	_, err = b.service.SetServiceAccountDisabled(team, b.ids["two"], sa.ID, true)
	require.Equal(t, apperr.NotFound, code(err), "it belongs to another project")

	off, err := b.service.SetServiceAccountDisabled(team, one, sa.ID, true)
	require.NoError(t, err)
	require.NotNil(t, off.DisabledAt)
	require.False(t, policy.May(auth.ExecutionRead, one))
	_, err = b.service.CreateServiceAccount(team, one, "ci", auth.Viewer, "")
	require.NoError(t, err, "the name of a disabled account is free")
	_, err = b.service.SetServiceAccountDisabled(team, one, sa.ID, false)
	require.Equal(t, apperr.Conflict, code(err))
	boss, err := b.service.CreateServiceAccount(b.admin, one, "boss", auth.TenantAdmin, "")
	require.NoError(t, err)
	_, err = b.service.SetServiceAccountDisabled(team, one, boss.ID, true)
	require.Equal(t, apperr.Forbidden, code(err))
	list, err := b.service.ServiceAccounts(team, one)
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, sa.ID, list[2].ID, "disabled ones are last")
	require.Equal(t, []string{"service_account.create ci", "service_account.disable ci", "service_account.create ci", "service_account.create boss"}, b.actions(t, "service_account"))
}

func TestUsers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, eve := b.person(t, "eve", auth.Viewer, "one", auth.ProjectDev, "core")
	_, _ = b.person(t, "finn")
	_, err := b.pool.Exec(t.Context(), `INSERT INTO sessions (token_hash, id, user_id, admin, created_at, seen_at, expires_at) VALUES (decode(repeat('ab', 32), 'hex'), $1, $2, false, now(), now(), $3)`,
		uuid.New(), eve, time.Now().Add(time.Hour))
	require.NoError(t, err)
	page, err := b.service.Users(b.admin, tenancy.UserFilter{Text: "EVE@"})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	require.Equal(t, []int{2, 1}, []int{page.Items[0].Roles, page.Items[0].Sessions})
	page, err = b.service.Users(b.admin, tenancy.UserFilter{Status: "admin"})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)

	u, roles, err := b.service.User(b.admin, eve)
	require.NoError(t, err)
	require.Equal(t, "eve", u.Name)
	require.Equal(t, []string{"core", "one"}, []string{roles[0].Name, roles[1].Name})
	_, _, err = b.service.User(b.admin, uuid.New())
	require.Equal(t, apperr.NotFound, code(err))

	u, err = b.service.SetUserDisabled(b.admin, eve, true)
	require.NoError(t, err)
	require.NotNil(t, u.DisabledAt)
	var sessions int
	require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT count(*) FROM sessions").Scan(&sessions))
	require.Zero(t, sessions, "sessions end with the account")
	require.False(t, b.policies.For(eve).May(auth.ExecutionRead, b.ids["one"]))
	_, err = b.service.SetUserAdmin(b.admin, eve, true)
	require.Equal(t, apperr.Conflict, code(err), "a disabled account cannot be an administrator")
	page, err = b.service.Users(b.admin, tenancy.UserFilter{Status: "disabled"})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	_, err = b.service.SetUserDisabled(b.admin, eve, false)
	require.NoError(t, err)
	_, err = b.service.SetUserDisabled(b.admin, eve, false)
	require.NoError(t, err)
	require.Equal(t, []string{"user.disable eve", "user.enable eve"}, b.actions(t, "user"))

	page, err = b.service.Users(b.admin, tenancy.UserFilter{Limit: 2})
	require.NoError(t, err)
	require.Len(t, page.Items, 2)
	rest, err := b.service.Users(b.admin, tenancy.UserFilter{Limit: 2, After: page.Next})
	require.NoError(t, err)
	require.Len(t, rest.Items, 1)
	_, err = b.service.Users(b.admin, tenancy.UserFilter{After: "x"})
	require.Equal(t, apperr.Invalid, code(err))
}

// TestChangesOfAUserAreOneChange: if one is refused, none happens.
func TestChangesOfAUserAreOneChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, eve := b.person(t, "eve")
	_, err := b.service.ChangeUser(b.admin, eve, tenancy.UserEdit{Disabled: new(true), Admin: new(true)})
	require.Equal(t, apperr.Conflict, code(err), "a disabled account cannot be an administrator")
	u, _, err := b.service.User(b.admin, eve)
	require.NoError(t, err)
	require.Nil(t, u.DisabledAt)
	require.Empty(t, b.actions(t, "user"))
	u, err = b.service.ChangeUser(b.admin, eve, tenancy.UserEdit{Disabled: new(false), Admin: new(true)})
	require.NoError(t, err)
	require.True(t, u.Admin)
	require.Equal(t, []string{"user.make_admin eve"}, b.actions(t, "user"))
}

// TestAdministratorsOfTheInstallation: the last one who can sign in cannot be removed,
// nor can the local one.
func TestAdministratorsOfTheInstallation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ada := b.person(t, "ada")
	_, bob := b.person(t, "bob")
	for _, id := range []uuid.UUID{ada, bob} {
		u, err := b.service.SetUserAdmin(b.admin, id, true)
		require.NoError(t, err)
		require.True(t, u.Admin)
	}
	as := func(id uuid.UUID) auth.Subject { return auth.Subject{ID: id, Name: "a", Role: auth.RoleAdmin} }
	_, err := b.service.SetUserDisabled(auth.WithSubject(t.Context(), as(ada)), ada, true)
	require.Equal(t, apperr.Conflict, code(err), "users cannot disable themselves")
	var refused atomic.Int32
	var wg sync.WaitGroup
	for _, pair := range [][2]uuid.UUID{{ada, bob}, {bob, ada}} {
		wg.Go(func() {
			if _, err := b.service.SetUserAdmin(auth.WithSubject(t.Context(), as(pair[0])), pair[1], false); apperr.Is(err, apperr.Conflict) {
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, refused.Load())
	for _, change := range []func() error{
		func() error { _, err := b.service.SetUserDisabled(b.admin, auth.LocalAdmin, true); return err },
		func() error { _, err := b.service.SetUserAdmin(b.admin, auth.LocalAdmin, false); return err },
	} {
		require.Equal(t, apperr.Conflict, code(change()))
	}
	require.Equal(t, []string{"user.make_admin ada", "user.make_admin bob"}, b.actions(t, "user.make_admin"))
}
