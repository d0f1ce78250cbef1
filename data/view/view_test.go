package view_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/data/view"
	"github.com/flowforge/flowforge/db/dbtest"
)

type bundle struct {
	*view.Service
	pool *pgxpool.Pool
}

func setup(t *testing.T) *bundle {
	t.Helper()
	pool := dbtest.New(t)
	now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	names := index.New(index.Config{Pool: pool, Now: now, Conn: func() (driver.Conn, error) { return nil, context.Canceled }}) // views need the names alone
	return &bundle{view.NewService(pool, names, now), pool}
}

// as acts for a user with a role in the local project.
func as(t *testing.T, name, role string) context.Context {
	t.Helper()
	held := auth.Everywhere(role)
	return auth.WithSubject(t.Context(), auth.Subject{
		ID: uuid.NewSHA1(uuid.Nil, []byte(name)), Name: name, Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject,
		Policy: auth.PolicyFunc(func(a auth.Action, at uuid.UUID) bool { return at == auth.LocalProject && held.May(a, at) }),
	})
}

func edit(name string, sharing view.Sharing, t *view.Table) view.Edit {
	return view.Edit{Name: &name, Sharing: &sharing, Table: t}
}

func (b *bundle) names(ctx context.Context, t *testing.T) []string {
	t.Helper()
	list, err := b.List(ctx)
	require.NoError(t, err)
	names := []string{}
	for _, v := range list {
		names = append(names, v.Name)
	}
	return names
}

func TestViewsAreSharedAsTheirOwnersSay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mei, jonas, viewer, lead := as(t, "Mei", auth.ProjectDev), as(t, "Jonas", auth.ProjectDev), as(t, "Vera", auth.Viewer), as(t, "Lea", auth.TeamAdmin)
	failed := view.Table{Where: "state:failed since:7d", Sort: "-duration", Columns: []string{"user", "error"}, Group: "workflow"}
	_, err := b.Save(mei, edit("mine", view.Private, &failed))
	require.NoError(t, err)
	shared, err := b.Save(mei, edit("Failed", view.Project, &failed))
	require.NoError(t, err)
	require.Equal(t, failed, shared.Table)
	require.Equal(t, []string{"Failed", "mine"}, b.names(mei, t))
	require.Equal(t, []string{"Failed"}, b.names(jonas, t))
	require.Equal(t, []string{"Failed"}, b.names(viewer, t))
	_, err = b.Get(jonas, "mine")
	require.Equal(t, apperr.NotFound, apperr.CodeOf(err))
	_, err = b.Change(jonas, "failed", edit("x", view.Project, nil))
	require.Equal(t, apperr.Forbidden, apperr.CodeOf(err))
	require.Equal(t, apperr.Forbidden, apperr.CodeOf(b.Delete(jonas, "failed")))
	_, err = b.Save(viewer, edit("x", view.Private, &failed))
	require.Equal(t, apperr.Forbidden, apperr.CodeOf(err))

	_, err = b.Change(lead, "failed", edit("Failed", view.Private, nil))
	require.Equal(t, "sharing", apperr.FieldsOf(err)[0].Path)
	renamed, err := b.Change(lead, "failed", edit("Failures", view.Project, nil))
	require.NoError(t, err)
	require.Equal(t, failed, renamed.Table, "a change of the name leaves the table")
	stale := edit("again", view.Project, nil)
	stale.Based = &shared.UpdatedAt
	_, err = b.Change(mei, "failures", stale)
	require.Equal(t, apperr.Conflict, apperr.CodeOf(err))
	_, err = b.Save(jonas, edit("FAILURES", view.Project, &failed))
	require.Equal(t, apperr.Conflict, apperr.CodeOf(err))
	_, err = b.Save(jonas, edit("FAILURES", view.Private, &view.Table{}))
	require.NoError(t, err)
	own, err := b.Get(jonas, "failures")
	require.NoError(t, err)
	require.Equal(t, view.Private, own.Sharing, "one's own comes first")
	require.NoError(t, b.Delete(mei, "failures"))
	require.Equal(t, []string{"mine"}, b.names(mei, t))
}

func TestTheDefaultViewOfAProject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mei, lead := as(t, "Mei", auth.ProjectDev), as(t, "Lea", auth.TeamAdmin)
	none, err := b.Default(mei)
	require.NoError(t, err)
	require.Equal(t, uuid.Nil, none)
	one, err := b.Save(mei, edit("one", view.Project, &view.Table{Sort: "-created"}))
	require.NoError(t, err)
	two, err := b.Save(mei, edit("two", view.Project, &view.Table{}))
	require.NoError(t, err)
	_, err = b.Save(lead, edit("mine", view.Private, &view.Table{}))
	require.NoError(t, err)
	_, err = b.SetDefault(lead, "mine", true)
	require.Equal(t, apperr.Conflict, apperr.CodeOf(err))
	_, err = b.SetDefault(as(t, "Vera", auth.Viewer), "one", true)
	require.Equal(t, apperr.Forbidden, apperr.CodeOf(err))
	for _, v := range []view.View{one, two} {
		set, err := b.SetDefault(lead, v.Name, true)
		require.NoError(t, err)
		require.True(t, set.Default)
		id, err := b.Default(mei)
		require.NoError(t, err)
		require.Equal(t, v.ID, id)
	}
	_, err = b.Change(mei, "two", edit("two", view.Private, nil))
	require.NoError(t, err)
	id, err := b.Default(mei)
	require.NoError(t, err)
	require.Equal(t, uuid.Nil, id, "no one else sees it")
	_, err = b.SetDefault(lead, "one", true)
	require.NoError(t, err)
	_, err = b.SetDefault(lead, "one", false)
	require.NoError(t, err)
	id, err = b.Default(mei)
	require.NoError(t, err)
	require.Equal(t, uuid.Nil, id)
}

func TestViewsAreCheckedAndRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mei := as(t, "Mei", auth.ProjectDev)
	for path, e := range map[string]view.Edit{
		"name":    edit(" ", view.Private, &view.Table{}),
		"where":   edit("x", view.Private, &view.Table{Where: "nothing = 1"}),
		"sort":    edit("x", view.Private, &view.Table{Sort: "-nothing"}),
		"columns": edit("x", view.Private, &view.Table{Columns: []string{"nothing"}}),
		"group":   edit("x", view.Private, &view.Table{Group: "nothing"}),
		"sharing": edit("x", "everyone", &view.Table{}),
	} {
		_, err := b.Save(mei, e)
		require.Equal(t, apperr.Invalid, apperr.CodeOf(err), path)
		require.Equal(t, path, apperr.FieldsOf(err)[0].Path)
	}
	_, err := b.Save(mei, edit("Failed", view.Project, &view.Table{Where: "state:failed"}))
	require.NoError(t, err)
	_, err = b.Change(mei, "failed", view.Edit{Table: &view.Table{Where: "state:live"}})
	require.NoError(t, err)
	require.NoError(t, b.Delete(mei, "failed"))
	rows, err := b.pool.Query(t.Context(), "SELECT action, old_value, new_value FROM audit_log WHERE object_kind = 'view' ORDER BY id")
	require.NoError(t, err)
	defer rows.Close()
	var actions []string
	for rows.Next() {
		var action string
		var before, after map[string]any
		var rawBefore, rawAfter []byte
		require.NoError(t, rows.Scan(&action, &rawBefore, &rawAfter))
		_ = json.Unmarshal(rawBefore, &before)
		_ = json.Unmarshal(rawAfter, &after)
		actions = append(actions, action)
		if action == "view.update" {
			require.Equal(t, "state:failed", before["where"])
			require.Equal(t, "state:live", after["where"])
		}
	}
	require.Equal(t, []string{"view.create", "view.update", "view.delete"}, slices.Clone(actions))
}

// TestChangesNeedOneConnection: with a second connection inside a transaction, concurrent changes could
// each hold one connection and wait for another.
func TestChangesNeedOneConnection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := as(t, "Ada", auth.ProjectDev)
	v, err := b.Save(ada, edit("mine", view.Private, &view.Table{}))
	require.NoError(t, err)
	single := dbtest.NewSingle(t, b.pool)
	names := index.New(index.Config{Pool: single, Now: time.Now, Conn: func() (driver.Conn, error) { return nil, context.Canceled }})
	ctx, cancel := context.WithTimeout(ada, 20*time.Second)
	defer cancel()
	changed, err := view.NewService(single, names, time.Now).Change(ctx, v.ID.String(), edit("failed", view.Private, &view.Table{Where: "state:failed since:7d"}))
	require.NoError(t, err)
	require.Equal(t, "failed", changed.Name)
}
