package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/secretstore"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/view"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/preset"
	"github.com/flowforge/flowforge/typeregistry"
)

// matrixFixture is a site with one object of each kind in the local project, and a user in
// every role.
type matrixFixture struct {
	*testBundle
	objects []string // pairs of a name in braces and its value
	callers map[string]*caller
	own     map[string][]string // the executions of each caller, as objects
}

// names replaces the names in braces for a caller.
func (f *matrixFixture) names(caller string) *strings.Replacer {
	own, ok := f.own[caller]
	if !ok {
		own = f.own["installation admin"]
	}
	return strings.NewReplacer(append(append([]string{}, f.objects...), own...)...)
}

func newMatrixFixture(t *testing.T) *matrixFixture {
	t.Helper()
	f := &matrixFixture{testBundle: setup(t), callers: map[string]*caller{}, own: map[string][]string{}}
	f.objects = matrixObjects(t, f.testBundle, "matrix")
	_, err := f.pools.Create(f.ctx, "matrix", "")
	require.NoError(t, err)
	_, err = f.stores.Put(f.ctx, secretstore.Edit{Name: "matrix", Kind: secretstore.Environment, Values: map[string]any{"variables": "TEAM_", "projects": "*"}})
	require.NoError(t, err)
	f.signInEverybody(t)
	f.sharedFlow(t)
	for name, c := range f.callers {
		switch name {
		case "developer", "team admin", "tenant admin", "installation admin":
			f.own[name] = []string{"{own}", launchFlow(t, c), "{second own}", launchFlow(t, c)}
		}
	}
	return f
}

// signInEverybody gives every role of the matrix a real session, key or token.
func (f *matrixFixture) signInEverybody(t *testing.T) {
	t.Helper()
	places := map[string]struct {
		role string
		node uuid.UUID
	}{
		"viewer": {auth.Viewer, auth.LocalProject}, "developer": {auth.ProjectDev, auth.LocalProject},
		"team admin": {auth.TeamAdmin, auth.LocalTeam}, "tenant admin": {auth.TenantAdmin, auth.LocalTenant},
	}
	for name, p := range places {
		f.callers[name] = f.signIn(t, f.person(t, name, p.role, p.node))
	}
	elsewhere, project := f.tenant(t, "elsewhere")
	f.callers["other tenant"] = f.signIn(t, f.person(t, "other tenant", auth.TenantAdmin, elsewhere))
	f.callers["installation admin"] = f.signIn(t, auth.LocalAdmin)
	f.callers["key of an administrator for the project"] = f.adminKey(t, auth.LocalProject)
	f.callers["key of an administrator for another tenant's project"] = f.adminKey(t, project)
	f.callers["anonymous"] = f.nobody
	f.callers["expired"] = f.expiredSession(t)
	f.callers["revoked"] = f.revokedKey(t)
	first := uuid.MustParse(strings.NewReplacer(f.objects...).Replace("{execution}"))
	f.callers["task token"] = f.bearer(f.taskToken(t, first, 1))
}

// adminKey is a key of the installation's administrator that is good in one project.
func (b *testBundle) adminKey(t *testing.T, project uuid.UUID) *caller {
	t.Helper()
	key := b.keys.Make()
	_, err := b.pool.Exec(b.ctx, "INSERT INTO api_keys (id, user_id, project_id, name, secret_hmac, created_at, created_by) VALUES ($1, $2, $3, 'ci', $4, now(), $2)",
		key.ID, auth.LocalAdmin, project, key.MAC)
	require.NoError(t, err)
	return b.bearer(key.Token)
}

func (b *testBundle) bearer(token string) *caller {
	return &caller{server: b.server.URL, header: http.Header{"Authorization": {"Bearer " + token}}}
}

// taskToken is the token of an attempt at the first node of an execution that is
// waiting for its process.
func (b *testBundle) taskToken(t *testing.T, id uuid.UUID, attempt int) string {
	t.Helper()
	e, err := b.executions.Get(b.ctx, id)
	require.NoError(t, err)
	_, err = b.pool.Exec(b.ctx, "INSERT INTO attempts (execution_id, node_index, attempt, launcher, queued_at) VALUES ($1, 0, $2, 'test', now())", id, attempt)
	require.NoError(t, err)
	scope := auth.TaskScope{ExecutionID: id, Attempt: attempt, TenantID: e.TenantID, ProjectID: e.ProjectID}
	return b.signer.Sign(scope, time.Now().Add(time.Hour))
}

// expiredSession is a session of an administrator that is over.
func (b *testBundle) expiredSession(t *testing.T) *caller {
	t.Helper()
	user := b.person(t, "expired", auth.TenantAdmin, auth.LocalTenant)
	c := b.signIn(t, user)
	require.Equal(t, http.StatusOK, c.get(t, "/").status)
	_, err := b.pool.Exec(b.ctx, "UPDATE sessions SET expires_at = now() - interval '1 second' WHERE user_id = $1", user)
	require.NoError(t, err)
	return c
}

// revokedKey is an API key of an administrator that was revoked.
func (b *testBundle) revokedKey(t *testing.T) *caller {
	t.Helper()
	user := b.person(t, "revoked", auth.TenantAdmin, auth.LocalTenant)
	key := b.keys.Make()
	_, err := b.pool.Exec(b.ctx, "INSERT INTO api_keys (id, user_id, name, secret_hmac, created_at, created_by) VALUES ($1, $2, 'ci', $3, now(), $2)", key.ID, user, key.MAC)
	require.NoError(t, err)
	c := b.bearer(key.Token)
	require.Equal(t, http.StatusOK, c.get(t, "/api/v1/executions").status)
	_, err = b.pool.Exec(b.ctx, "UPDATE api_keys SET revoked_at = now() WHERE id = $1", key.ID)
	require.NoError(t, err)
	return c
}

// matrixDocument is a workflow whose one node does nothing.
func matrixDocument(name string) string {
	return fmt.Sprintf("name: %s\nversion: 1.0.0\noperators:\n  - {name: wait, type: noop}\n", name)
}

func launchFlow(t *testing.T, c *caller) string {
	t.Helper()
	return c.post(t, "/api/v1/executions", `{"workflow": "matrix.flow"}`).object(t, http.StatusCreated)["execution_id"].(string)
}

// matrixObjects makes the objects that the rows name in the project of b.ctx;
// their names begin with prefix.
func matrixObjects(t *testing.T, b *testBundle, prefix string) []string {
	t.Helper()
	subject, _ := auth.SubjectOf(b.ctx)
	flow := b.register(t, matrixDocument(prefix+".flow"))
	b.register(t, matrixDocument(prefix+".shelf"))
	launch := func() query.Execution {
		e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: prefix + ".flow"})
		require.NoError(t, err)
		return e
	}
	first := launch()
	a := b.publish(t, first, artifact.New{Node: "wait", Name: "report", Type: "Report", Kind: "Report", Filename: "report.html"}, "<p>fine in "+subject.ProjectID.String()+"</p>")
	rows := b.publish(t, first, artifact.New{Node: "wait", Name: "rows", Type: "Table", Kind: "Table", Filename: "rows.csv", MediaType: "text/csv"}, "project\n"+subject.ProjectID.String()+"\n")
	b.register(t, fmt.Sprintf("name: %s.python\nversion: 1.0.0\nmetadata: {python: {file: flow.py}}\noperators:\n  - {name: work, type: python, code: {package: \"sha256:%s\", script: pass}}\n", prefix, a.SHA256))
	for kind, name := range map[typeregistry.Kind]string{typeregistry.KindDataset: ".digits", typeregistry.KindModel: ".net", typeregistry.KindFeatureSet: ".people"} {
		entry := catalogue.Entry{Kind: kind, Name: prefix + name, Version: "1", Blob: &catalogue.BlobRef{SHA256: a.SHA256, Size: a.Size, Filename: "data"}}
		if kind == typeregistry.KindFeatureSet {
			entry.Facts.EntityKey, entry.Facts.Features = "id", []typeregistry.Column{{Name: "age", DType: "Integer"}}
		}
		_, _, err := b.catalogue.Register(b.ctx, entry)
		require.NoError(t, err, "%+v", err)
		if kind == typeregistry.KindModel {
			entry.Version = "2"
			_, _, err = b.catalogue.Register(b.ctx, entry)
			require.NoError(t, err, "%+v", err)
		}
	}
	var group uuid.UUID
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT parent_id FROM tenancy_nodes WHERE id = $1", subject.ProjectID).Scan(&group))
	mark := "Mark_" + prefix
	_, _, err := b.catalogue.RegisterType(b.ctx, []byte(`{"type_name": "`+mark+`", "extends": "Integer(min=1, max=6)", "ui_renderer": {"html": "<p>A page</p>"}}`))
	require.NoError(t, err)
	name, shared := "matrix", preset.Project
	saved, err := b.deps.Presets.Save(auth.WithSubject(b.ctx, subject), flow.WorkflowID.String(), preset.Edit{Name: &name, Sharing: &shared})
	require.NoError(t, err)
	sharing := view.Project
	table, err := b.deps.Views.Save(auth.WithSubject(b.ctx, subject), view.Edit{Name: &name, Sharing: &sharing, Table: &view.Table{}})
	require.NoError(t, err)
	swept := b.register(t, "inputs: [{name: x, type: Float}]\n"+matrixDocument(prefix+".swept")).WorkflowID.String()
	yearly := matrixSchedule(b.ctx, t, b, flow.WorkflowID.String(), prefix+" yearly")
	return []string{
		"{sweep}", matrixSweep(b.ctx, t, b, swept), "{halted}", matrixSweep(b.ctx, t, b, swept),
		"{report}", matrixReport(b.ctx, t, b, prefix+" report"),
		"{notification}", matrixNotification(b.ctx, t, b, subject.ProjectID),
		"{schedule}", yearly, "{backfill}", matrixBackfill(b.ctx, t, b, yearly),
		"{view}", table.ID.String(),
		"{preset}", saved.ID.String(), "{metaflow}", metaflowRun(t, b, prefix),
		"{flow}", prefix + ".flow", "{python}", prefix + ".python", "{flow id}", flow.WorkflowID.String(), "{shelf}", prefix + ".shelf", "{execution}", first.ID.String(), "{second}", launch().ID.String(),
		"{artifact}", a.ID.String(), "{table}", rows.ID.String(), "{sha}", a.SHA256, "{type}", mark, "{dataset}", prefix + ".digits@1", "{model}", prefix + ".net@1", "{net}", prefix + ".net", "{data}", prefix + ".digits", "{featured}", prefix + ".people", "{features}", prefix + ".people@1",
		"{project}", subject.ProjectID.String(), "{team}", group.String(), "{tenant}", subject.TenantID.String(),
		"{letter}", deadLetter(t, b, subject).String(), "{breaker}", openBreaker(t, b, subject, flow.WorkflowID).String(),
	}
}
