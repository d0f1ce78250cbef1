package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/db/dbtest"
)

type testBundle struct {
	pool  *pgxpool.Pool
	log   *audit.Log
	admin context.Context
}

func setup(t *testing.T) testBundle {
	t.Helper()
	pool := dbtest.New(t)
	admin := auth.WithOrigin(auth.WithSubject(t.Context(), auth.Local()), auth.Origin{Address: "192.0.2.7", RequestID: "abc"})
	return testBundle{pool: pool, log: audit.NewLog(pool), admin: admin}
}

func (b testBundle) record(ctx context.Context, t *testing.T, e audit.Entry) {
	t.Helper()
	require.NoError(t, db.Tx(ctx, b.pool, func(_ pgx.Tx, q *db.Queries) error { return audit.Record(ctx, q, e) }))
}

// reader returns the context of a subject who may read the log at the given nodes.
func reader(ctx context.Context, places ...uuid.UUID) context.Context {
	may := map[uuid.UUID]bool{}
	for _, p := range places {
		may[p] = true
	}
	return auth.WithSubject(ctx, auth.Subject{ID: uuid.New(), Name: "reader", Role: auth.RoleUser, Policy: auth.PolicyFunc(func(a auth.Action, place uuid.UUID) bool {
		return a == auth.AuditRead && may[place]
	})})
}

func actions(page audit.Page) []string {
	var list []string
	for _, c := range page.Changes {
		list = append(list, c.Action)
	}
	return list
}

func TestRecordKeepsWhoWhatAndWhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	began := time.Now().Add(-time.Second)
	b.record(b.admin, t, audit.Entry{
		Action: "quota.update", Kind: "team", ID: auth.LocalTeam.String(), Name: "local", TenantID: auth.LocalTenant,
		Old: map[string]int{"cpu": 1}, New: map[string]int{"cpu": 2}, Reason: "more people",
	})
	page, err := b.log.List(b.admin, audit.Filter{})
	require.NoError(t, err)
	require.Len(t, page.Changes, 1)
	c := page.Changes[0]
	require.Equal(t, []any{"quota.update", "team", "local", auth.LocalTenant, uuid.Nil, auth.LocalAdmin, "admin", "admin", "192.0.2.7", "abc", "more people"},
		[]any{c.Action, c.Kind, c.ObjectName, c.TenantID, c.ProjectID, c.ActorID, c.Actor, c.ActorKind, c.Address, c.RequestID, c.Reason})
	require.JSONEq(t, `{"cpu": 1}`, string(c.Old))
	require.JSONEq(t, `{"cpu": 2}`, string(c.New))
	require.WithinRange(t, c.At, began, time.Now().Add(time.Second))
}

func TestRecordGoesWithItsTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	err := db.Tx(b.admin, b.pool, func(_ pgx.Tx, q *db.Queries) error {
		require.NoError(t, audit.Record(b.admin, q, audit.Entry{Action: "a.b", Kind: "team", ID: "1"}))
		return apperr.New(apperr.Conflict, "no")
	})
	require.Error(t, err)
	page, err := b.log.List(b.admin, audit.Filter{})
	require.NoError(t, err)
	require.Empty(t, page.Changes)
	require.Error(t, db.Tx(b.admin, b.pool, func(_ pgx.Tx, q *db.Queries) error {
		return audit.Record(b.admin, q, audit.Entry{Action: "a.b", Kind: "team", ID: "1", New: func() {}})
	}), "a value that is not JSON")
}

func TestListShowsWhatTheReaderMayRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rival := uuid.New()
	b.record(b.admin, t, audit.Entry{Action: "user.disable", Kind: "user", ID: "1"})
	b.record(b.admin, t, audit.Entry{Action: "project.create", Kind: "project", ID: auth.LocalProject.String(), TenantID: auth.LocalTenant, ProjectID: auth.LocalProject})
	b.record(b.admin, t, audit.Entry{Action: "team.update", Kind: "team", ID: auth.LocalTeam.String(), TenantID: auth.LocalTenant})
	b.record(b.admin, t, audit.Entry{Action: "tenant.update", Kind: "tenant", ID: rival.String(), TenantID: rival})
	for _, tt := range []struct {
		name string
		ctx  context.Context
		want []string
	}{
		{"administrator of the installation", b.admin, []string{"tenant.update", "team.update", "project.create", "user.disable"}},
		{"administrator of the tenant", reader(t.Context(), auth.LocalTenant, auth.LocalTeam, auth.LocalProject), []string{"team.update", "project.create"}},
		{"auditor of a team", reader(t.Context(), auth.LocalTeam, auth.LocalProject), []string{"team.update", "project.create"}},
		{"auditor of a project", reader(t.Context(), auth.LocalProject), []string{"project.create"}},
	} {
		page, err := b.log.List(tt.ctx, audit.Filter{})
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, actions(page), tt.name)
	}
	_, err := b.log.List(reader(t.Context()), audit.Filter{})
	require.True(t, apperr.Is(err, apperr.Forbidden))
	_, err = b.log.List(reader(t.Context(), rival), audit.Filter{})
	require.True(t, apperr.Is(err, apperr.Forbidden), "a node outside the tree grants nothing")
	_, err = b.log.List(t.Context(), audit.Filter{})
	require.True(t, apperr.Is(err, apperr.Unauthenticated))
	require.Error(t, b.log.Each(reader(t.Context()), audit.Filter{}, func(audit.Change) error { return nil }))
	_, err = b.log.Actions(reader(t.Context()))
	require.True(t, apperr.Is(err, apperr.Forbidden))
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mia := auth.WithSubject(t.Context(), auth.Subject{ID: uuid.New(), Name: "Mia_100%", Role: auth.RoleUser})
	b.record(b.admin, t, audit.Entry{Action: "team.create", Kind: "team", ID: "t1", Name: "Vision", TenantID: auth.LocalTenant})
	b.record(mia, t, audit.Entry{Action: "teams.merge", Kind: "team", ID: "t2", Name: "Speech"})
	b.record(mia, t, audit.Entry{Action: "quota.update", Kind: "project", ID: "p1", Name: "vision-x", TenantID: auth.LocalTenant, ProjectID: auth.LocalProject})
	subject, _ := auth.SubjectOf(mia)
	hour := time.Hour
	for name, tt := range map[string]struct {
		f    audit.Filter
		want []string
	}{
		"noun":           {audit.Filter{Action: "team"}, []string{"team.create"}},
		"action":         {audit.Filter{Action: "quota.update"}, []string{"quota.update"}},
		"actor by name":  {audit.Filter{Actor: "mia"}, []string{"quota.update", "teams.merge"}},
		"wildcards":      {audit.Filter{Actor: "a_1%"}, nil},
		"literal":        {audit.Filter{Actor: "_100%"}, []string{"quota.update", "teams.merge"}},
		"actor by id":    {audit.Filter{Actor: subject.ID.String()}, []string{"quota.update", "teams.merge"}},
		"object by name": {audit.Filter{Object: "VISION"}, []string{"quota.update", "team.create"}},
		"object by id":   {audit.Filter{Object: "t2"}, []string{"teams.merge"}},
		"kind":           {audit.Filter{Kind: "project"}, []string{"quota.update"}},
		"tenant":         {audit.Filter{TenantID: auth.LocalTenant}, []string{"quota.update", "team.create"}},
		"project":        {audit.Filter{Project: auth.LocalProject}, []string{"quota.update"}},
		"since":          {audit.Filter{From: time.Now().Add(-hour)}, []string{"quota.update", "teams.merge", "team.create"}},
		"later":          {audit.Filter{From: time.Now().Add(hour)}, nil},
		"earlier":        {audit.Filter{To: time.Now().Add(-hour)}, nil},
	} {
		page, err := b.log.List(b.admin, tt.f)
		require.NoError(t, err, name)
		require.Equal(t, tt.want, actions(page), name)
	}
	_, err := b.log.List(b.admin, audit.Filter{After: "x"})
	require.True(t, apperr.Is(err, apperr.Invalid))
	list, err := b.log.Actions(b.admin)
	require.NoError(t, err)
	require.Equal(t, []string{"quota.update", "team.create", "teams.merge"}, list)
}

func TestPagesAndEach(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, db.Tx(b.admin, b.pool, func(_ pgx.Tx, q *db.Queries) error {
		for i := range 1003 {
			if err := audit.Record(b.admin, q, audit.Entry{Action: "a.b", Kind: "thing", ID: fmt.Sprint(i)}); err != nil {
				return err
			}
		}
		return nil
	}))
	page, err := b.log.List(b.admin, audit.Filter{Limit: 2})
	require.NoError(t, err)
	require.Equal(t, "1002", page.Changes[0].ObjectID)
	page, err = b.log.List(b.admin, audit.Filter{Limit: 2, After: page.Next})
	require.NoError(t, err)
	require.Equal(t, "1000", page.Changes[0].ObjectID)

	next := 1002
	require.NoError(t, b.log.Each(b.admin, audit.Filter{}, func(c audit.Change) error {
		require.Equal(t, fmt.Sprint(next), c.ObjectID)
		require.Equal(t, json.RawMessage(nil), c.Old)
		next--
		return nil
	}))
	require.Equal(t, -1, next)
	require.ErrorIs(t, b.log.Each(b.admin, audit.Filter{}, func(audit.Change) error { return context.Canceled }), context.Canceled)
}
