package registry_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/typeregistry"
)

type bundle struct {
	t         *testing.T
	admin     context.Context
	mia, jon  context.Context // developers
	vera      context.Context // a viewer
	pool      *pgxpool.Pool
	catalogue *catalogue.Service
	registry  *registry.Service
}

func person(t *testing.T, name, role string) context.Context {
	t.Helper()
	s := auth.Subject{ID: uuid.New(), Name: name, Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, Policy: auth.Everywhere(role)}
	return auth.WithSubject(t.Context(), s)
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{
		t: t, admin: auth.WithSubject(t.Context(), auth.Local()), pool: dbtest.New(t),
		mia: person(t, "mia", auth.ProjectDev), jon: person(t, "jon", auth.ProjectDev), vera: person(t, "vera", auth.Viewer),
	}
	b.catalogue = catalogue.NewService(b.pool, time.Now)
	b.registry = registry.NewService(b.pool, b.catalogue, time.Now)
	return b
}

func (b *bundle) register(version string, accuracy float64, testSet string) catalogue.Entry {
	b.t.Helper()
	e, created, err := b.registry.Register(b.mia, catalogue.Entry{
		Kind: typeregistry.KindModel, Name: "net", Version: version, Facts: catalogue.Facts{Metrics: map[string]float64{"accuracy": accuracy}, TestSet: testSet},
	})
	require.NoError(b.t, err, "%+v", apperr.FieldsOf(err))
	require.True(b.t, created)
	return e
}

func (b *bundle) model() registry.Model {
	b.t.Helper()
	m, err := b.registry.Get(b.mia, "net", "")
	require.NoError(b.t, err)
	return m
}

func (b *bundle) stages() map[string]registry.Stage {
	b.t.Helper()
	out := map[string]registry.Stage{}
	for _, v := range b.model().Versions {
		out[v.Version] = v.Stage
	}
	return out
}

func TestOneVersionIsInProduction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("1", 0.9, "")
	b.register("2", 0.91, "")
	for _, v := range []string{"1", "2"} {
		request, err := b.registry.Move(b.mia, "net", v, registry.Production, "better")
		require.NoError(t, err)
		require.Nil(t, request)
	}
	require.Equal(t, map[string]registry.Stage{"1": registry.Archived, "2": registry.Production}, b.stages())
	m := b.model()
	require.Equal(t, "2", m.Production.Version)
	var actions []string
	for _, h := range m.History {
		actions = append(actions, h.Version+" "+h.Action+" "+h.Detail)
	}
	require.Equal(t, []string{"2 moved from none to production", "1 archived replaced by 2", "1 moved from none to production", "2 registered ", "1 registered "}, actions)
	require.Equal(t, "better", m.History[0].Reason)
	require.Equal(t, "mia", m.History[0].By)
	e, err := b.catalogue.Get(b.mia, typeregistry.KindModel, "net@production")
	require.NoError(t, err)
	require.Equal(t, "2", e.Version)
	var audited int
	require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT count(*) FROM audit_log WHERE action IN ('model.moved', 'model.archived')").Scan(&audited))
	require.Equal(t, 3, audited)

	_, err = b.registry.Move(b.mia, "net", "2", registry.Production, "again")
	require.True(t, apperr.Is(err, apperr.Conflict))
	_, err = b.registry.Move(b.mia, "net", "1", registry.Production, " ")
	require.Equal(t, "reason", apperr.FieldsOf(err)[0].Path)
	_, err = b.registry.Move(b.mia, "net", "1", "live", "x")
	require.Equal(t, "stage", apperr.FieldsOf(err)[0].Path)
	_, err = b.registry.Move(b.vera, "net", "1", registry.Staging, "")
	require.True(t, apperr.Is(err, apperr.Forbidden))
	_, err = b.registry.Move(b.mia, "net", "9", registry.Staging, "")
	require.True(t, apperr.Is(err, apperr.NotFound))
}

func TestAnotherPersonApproves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("1", 0.9, "")
	err := b.registry.SetPolicy(b.mia, "", registry.Policy{Approval: true})
	require.True(t, apperr.Is(err, apperr.Forbidden), "developers follow the policy")
	require.NoError(t, b.registry.SetPolicy(b.admin, "", registry.Policy{Approval: true}))
	request, err := b.registry.Move(b.mia, "net", "1", registry.Production, "good")
	require.NoError(t, err)
	require.Equal(t, "open", request.State)
	require.Equal(t, map[string]registry.Stage{"1": registry.None}, b.stages())
	_, err = b.registry.Move(b.jon, "net", "1", registry.Production, "good")
	require.True(t, apperr.Is(err, apperr.Conflict), "one request at a time")

	require.True(t, apperr.Is(b.registry.Decide(b.mia, request.ID, registry.Approve, ""), apperr.Forbidden), "not one's own")
	require.True(t, apperr.Is(b.registry.Decide(b.vera, request.ID, registry.Approve, ""), apperr.Forbidden))
	require.True(t, apperr.Is(b.registry.Decide(b.jon, request.ID, registry.Withdraw, ""), apperr.Forbidden))
	require.Equal(t, "reason", apperr.FieldsOf(b.registry.Decide(b.jon, request.ID, registry.Reject, ""))[0].Path)
	stranger := auth.Subject{ID: uuid.New(), Role: auth.RoleUser, Policy: auth.PolicyFunc(func(auth.Action, uuid.UUID) bool { return false })}
	require.True(t, apperr.Is(b.registry.Decide(auth.WithSubject(t.Context(), stranger), request.ID, registry.Approve, ""), apperr.NotFound))

	require.NoError(t, b.registry.Decide(b.jon, request.ID, registry.Approve, "checked"))
	require.Equal(t, map[string]registry.Stage{"1": registry.Production}, b.stages())
	require.Equal(t, "from none to production, approved by jon", b.model().History[0].Detail)
	require.True(t, apperr.Is(b.registry.Decide(b.jon, request.ID, registry.Reject, "late"), apperr.Conflict))

	leave, err := b.registry.Move(b.mia, "net", "1", registry.Archived, "")
	require.NoError(t, err)
	require.NotNil(t, leave, "leaving production needs approval, too")
	open, err := b.registry.OpenRequests(b.jon, 10)
	require.NoError(t, err)
	require.Len(t, open, 1, "the other was approved")
	require.Equal(t, []any{"net", "1", registry.Archived, false}, []any{open[0].Model, open[0].Version, open[0].Stage, open[0].Mine})
	require.NoError(t, b.registry.Decide(b.mia, leave.ID, registry.Withdraw, ""))
	require.Equal(t, map[string]registry.Stage{"1": registry.Production}, b.stages())
	require.Empty(t, b.model().Requests)

	_, err = b.registry.Move(b.mia, "net", "1", registry.None, "")
	require.NoError(t, err)
	b.register("2", 0.91, "")
	better, err := b.registry.Move(b.mia, "net", "2", registry.Production, "better")
	require.NoError(t, err)
	require.NoError(t, b.registry.Decide(b.jon, better.ID, registry.Approve, ""))
	require.Equal(t, map[string]registry.Stage{"1": registry.Archived, "2": registry.Production}, b.stages())
	require.Empty(t, b.model().Requests, "the version has moved, so the request to move it is withdrawn")
}

func TestRulesProposeBetterVersions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rule := registry.Rule{Metric: "accuracy", Better: registry.Higher, SameTestSet: true}
	require.Equal(t, "loss at least 0.01 lower than in production", registry.Rule{Metric: "loss", Better: registry.Lower, Margin: 0.01}.Text())
	require.NoError(t, b.registry.SetPolicy(b.admin, "", registry.Policy{Approval: true, Propose: true, Rules: []registry.Rule{rule}}))
	b.register("1", 0.9, "test@1")
	first := b.model().Requests
	require.Len(t, first, 1)
	require.True(t, first[0].Proposed)
	require.NoError(t, b.registry.Decide(b.jon, first[0].ID, registry.Approve, ""))

	b.register("2", 0.89, "test@1")
	b.register("3", 0.95, "test@2")
	require.Empty(t, b.model().Requests, "worse, and measured on another test set")
	b.register("4", 0.9, "test@1")
	open := b.model().Requests
	require.Len(t, open, 1)
	require.Equal(t, "4", open[0].Version)
	require.Equal(t, []registry.Check{{Text: "accuracy at least as high as in production, on the same test set", OK: true, Detail: "0.9, 0.9 in production"}}, open[0].Checks)

	b.register("5", 0.95, "test@1")
	newest := b.model().Requests[0]
	require.Equal(t, "5", newest.Version)
	require.NoError(t, b.registry.Decide(b.jon, newest.ID, registry.Approve, ""))
	open = b.model().Requests
	require.Len(t, open, 1)
	require.Equal(t, "4", open[0].Version)
	require.False(t, open[0].Checks[0].OK, "a better version is in production now")
	require.Equal(t, "0.9, 0.95 in production", open[0].Checks[0].Detail)

	require.NoError(t, b.registry.SetPolicy(b.admin, "net", registry.Policy{}))
	require.False(t, b.model().Policy.Approval, "the model has its own policy")
	err := b.registry.SetPolicy(b.admin, "", registry.Policy{Rules: []registry.Rule{{Better: "best", Margin: -1}}})
	require.Len(t, apperr.FieldsOf(err), 3)
}

// TestMarginsIgnoreRounding: 0.7 is 0.1 more than 0.6, although the difference of the two floating-point
// numbers is less.
func TestMarginsIgnoreRounding(t *testing.T) {
	t.Parallel()
	entry := func(value float64) catalogue.Entry {
		return catalogue.Entry{Facts: catalogue.Facts{Metrics: map[string]float64{"m": value}}}
	}
	for _, c := range []struct {
		better              string
		margin, before, now float64
		ok                  bool
	}{
		{registry.Higher, 0.1, 0.6, 0.7, true}, {registry.Higher, 0.1, 0.6, 0.699, false}, {registry.Lower, 0.01, 0.35, 0.34, true}, {registry.Lower, 0.01, 0.35, 0.3401, false},
		{registry.Higher, 0, 0.6, 0.6, true}, {registry.Higher, 0, 0.6, math.Nextafter(0.6, 0), false},
	} {
		before := entry(c.before)
		checks := registry.Judge([]registry.Rule{{Metric: "m", Better: c.better, Margin: c.margin}}, entry(c.now), &before)
		require.Equal(t, c.ok, checks[0].OK, "%+v", c)
	}
}

func TestAliases(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("1", 0.9, "")
	b.register("v2", 0.9, "")
	require.NoError(t, b.registry.SetAlias(b.mia, "net", "champion", "1"))
	require.NoError(t, b.registry.SetAlias(b.mia, "net", "champion", "v2"))
	e, err := b.catalogue.Get(b.mia, typeregistry.KindModel, "net@champion")
	require.NoError(t, err)
	require.Equal(t, "v2", e.Version)
	require.Equal(t, []string{"champion"}, b.model().Versions[0].Aliases)
	for _, alias := range []string{"production", "latest", "2x", "a b", "v2"} {
		require.Equal(t, "alias", apperr.FieldsOf(b.registry.SetAlias(b.mia, "net", alias, "1"))[0].Path, alias)
	}
	require.NoError(t, b.registry.RemoveAlias(b.mia, "net", "champion"))
	require.True(t, apperr.Is(b.registry.RemoveAlias(b.mia, "net", "champion"), apperr.NotFound))
	exists, err := b.catalogue.Exists(b.mia, typeregistry.KindModel, "net@champion")
	require.NoError(t, err)
	require.False(t, exists)
	require.True(t, apperr.Is(b.registry.SetAlias(b.vera, "net", "champion", "1"), apperr.Forbidden))
}

func TestModelsOfTheProject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("1", 0.9, "")
	b.register("2", 0.9, "")
	_, err := b.registry.Move(b.mia, "net", "1", registry.Production, "first")
	require.NoError(t, err)
	list, next, err := b.registry.List(b.vera, "", "")
	require.NoError(t, err)
	require.Empty(t, next)
	require.Len(t, list, 1)
	require.Equal(t, registry.Summary{Name: "net", Versions: 2, Newest: "2", NewestAt: list[0].NewestAt, Production: "1"}, list[0])
	_, err = b.registry.Get(b.vera, "other", "")
	require.True(t, apperr.Is(err, apperr.NotFound))
	elsewhere := auth.Subject{ID: uuid.New(), Role: auth.RoleUser, TenantID: uuid.New(), ProjectID: uuid.New(), Policy: auth.Everywhere(auth.Viewer)}
	_, err = b.registry.Get(auth.WithSubject(t.Context(), elsewhere), "net", "")
	require.True(t, apperr.Is(err, apperr.NotFound))
}

func TestCompare(t *testing.T) {
	t.Parallel()
	before := catalogue.Entry{Facts: catalogue.Facts{
		Metrics: map[string]float64{"accuracy": 0.9, "loss": 0.3, "size": 4}, TestSet: "t",
		Inputs: []typeregistry.Column{{Name: "image", DType: "Float32"}},
	}}
	now := catalogue.Entry{Facts: catalogue.Facts{
		Metrics: map[string]float64{"accuracy": 0.95, "loss": 0.4, "size": 5}, Metadata: map[string]any{"f1": 0.8, "note": "x"}, TestSet: "t",
		Inputs: []typeregistry.Column{{Name: "image", DType: "Int8"}, {Name: "mask", DType: "Int8"}},
	}}
	rows := registry.Compare(before, now, nil)
	require.Len(t, rows, 4)
	require.True(t, rows[0].Improved)
	require.True(t, rows[1].Worse)
	require.False(t, rows[2].Improved || rows[2].Worse, "it is unknown which sizes are better")
	require.Nil(t, rows[3].Before)
	require.Equal(t, []string{"Input image is Int8 instead of Float32.", "Input mask is new."}, registry.SignatureChanges(before, now))
}
