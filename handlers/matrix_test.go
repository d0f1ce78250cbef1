package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/artifact"
	"github.com/flowforge/flowforge/auth"
	"github.com/flowforge/flowforge/catalogue"
	"github.com/flowforge/flowforge/execution"
	"github.com/flowforge/flowforge/typeregistry"
)

// toLogin stands for a redirect to the sign-in page.
const toLogin = -1

// row says what one request to a route answers to each caller. A name in braces
// in path is that of an object of the fixture.
type row struct {
	route        string // as chi has it
	path         string
	media, body  string
	nobody, task int
	member       int
	admin        int
	// open routes name no object, or answer to names that are not known.
	open bool
}

// head is the same row for HEAD, which sends no one to the sign-in page.
func (r row) head() row {
	r.route = strings.Replace(r.route, "GET", "HEAD", 1)
	r.nobody, r.task = http.StatusUnauthorized, http.StatusUnauthorized
	return r
}

func (r row) method() string { m, _, _ := strings.Cut(r.route, " "); return m }

// page is a page for everybody who is signed in.
func page(route, path string) row {
	return row{route: "GET " + route, path: path, nobody: toLogin, task: toLogin, member: http.StatusOK, admin: http.StatusOK}
}

// form is a form that a page sends.
func form(route, path, body string, member, admin int) row {
	return row{
		route: "POST " + route, path: path, media: "application/x-www-form-urlencoded", body: body,
		nobody: http.StatusUnauthorized, task: http.StatusUnauthorized, member: member, admin: admin,
	}
}

// read is a GET of the API.
func read(path, concrete string) row {
	return row{
		route: "GET /api/v1" + path, path: "/api/v1" + concrete,
		nobody: http.StatusUnauthorized, task: http.StatusUnauthorized, member: http.StatusOK, admin: http.StatusOK,
	}
}

// write is a POST of the API.
func write(path, concrete, body string, member, admin int) row {
	return row{
		route: "POST /api/v1" + path, path: "/api/v1" + concrete, media: "application/json", body: body,
		nobody: http.StatusUnauthorized, task: http.StatusUnauthorized, member: member, admin: admin,
	}
}

// forTasks is a route that the token of an attempt alone opens.
func forTasks(route, path, body string, task int) row {
	return row{
		route: route, path: path, media: "application/json", body: body, open: true,
		nobody: http.StatusUnauthorized, task: task, member: http.StatusUnauthorized, admin: http.StatusUnauthorized,
	}
}

// public is a route for everybody.
func public(route, path string) row {
	ok := http.StatusOK
	return row{route: route, path: path, nobody: ok, task: ok, member: ok, admin: ok, open: true}
}

// anywhere marks a row whose path names no object.
func anywhere(rows ...row) []row {
	for i := range rows {
		rows[i].open = true
	}
	return rows
}

// matrix has at least one row per route, in the order in which they are sent.
func matrix() []row {
	const ok, created, forbidden, moved = http.StatusOK, http.StatusCreated, http.StatusForbidden, http.StatusSeeOther
	afterLogin := func(r row) row { r.task = http.StatusUnauthorized; return r }
	return slices.Concat([]row{
		public("GET /healthz", "/healthz"),
		public("GET /readyz", "/readyz"),
		afterLogin(public("GET /api/v1/openapi.json", "/api/v1/openapi.json")),
		afterLogin(public("GET /api/v1/openapi.yaml", "/api/v1/openapi.yaml")),
		afterLogin(public("GET /api/v1/openapi-3.0.json", "/api/v1/openapi-3.0.json")),
		afterLogin(public("GET /api/v1/openapi-3.0.yaml", "/api/v1/openapi-3.0.yaml")),
		afterLogin(public("GET /api/v1/schemas/{schema}", "/api/v1/schemas/Problem.json")),
		afterLogin(public("GET /login", "/login")),
		{route: "POST /login", path: "/login", media: "application/x-www-form-urlencoded", body: "token=wrong", nobody: 401, task: 401, member: 401, admin: 401, open: true},
		{route: "POST /preferences/theme", path: "/preferences/theme", media: "application/x-www-form-urlencoded", body: "theme=dark", nobody: moved, task: 401, member: moved, admin: moved, open: true},
		{route: "POST /preferences/keys", path: "/preferences/keys", media: "application/x-www-form-urlencoded", body: "keys=off", nobody: moved, task: 401, member: moved, admin: moved, open: true},
		{route: "POST /logout", path: "/logout", nobody: moved, task: 401, member: moved, admin: moved, open: true},

		forTasks("POST /flowforge.v1.TaskService/*", "/flowforge.v1.TaskService/GetCheckpoint", "{}", ok),
		forTasks("GET /api/v1/task/blobs/{sha}", "/api/v1/task/blobs/{sha}", "", ok),
		forTasks("HEAD /api/v1/task/blobs/{sha}", "/api/v1/task/blobs/{sha}", "", ok),
		forTasks("PUT /api/v1/task/blobs/{sha}", "/api/v1/task/blobs/{sha}", "", http.StatusConflict),
	}, anywhere(
		page("/", "/"), page("/home/stream", "/home/stream"), page("/search", "/search?q=matrix"), page("/docs", "/docs"),
		page("/workflows", "/workflows"), page("/executions", "/executions"), page("/executions/stream", "/executions/stream?top="+uuid.Nil.String()),
		page("/artifacts", "/artifacts"), page("/types", "/types"),
		page("/typeahead", "/typeahead?q=dig&type=Dataset"), page("/typeahead/preview", "/typeahead/preview?ref=digits@1&type=Dataset"),
		page("/dev/gallery", "/dev/gallery"),
		form("/uploads", "/uploads?type=File&name=inputs.x", "", http.StatusUnprocessableEntity, http.StatusUnprocessableEntity),
		read("/workflows", "/workflows"), read("/executions", "/executions"), read("/artifacts", "/artifacts"), read("/types", "/types"),
		read("/datasets", "/datasets"), read("/models", "/models"), read("/feature-store/feature-sets", "/feature-store/feature-sets"),
		read("/feature-store/features", "/feature-store/features"),
		write("/blobs", "/blobs?filename=a.txt", "some bytes", created, created),
		write("/workflows", "/workflows", `{"name": "by.anybody", "version": "1.0.0", "operators": [{"name": "wait", "type": "noop"}]}`, created, created),
		write("/types", "/types", `{"type_name": "Grade", "extends": "Integer(min=1, max=6)"}`, forbidden, created),
		write("/datasets", "/datasets", `{"name": "rows", "version": "1"}`, created, created),
		write("/models", "/models", `{"name": "net", "version": "2"}`, created, created),
		write("/feature-store/feature-sets", "/feature-store/feature-sets", `{"name": "more", "version": "1", "entity_key": "id", "features": [{"name": "age", "dtype": "Integer"}]}`, created, created),
		write("/login-links", "/login-links", "", forbidden, ok),
	), []row{
		page("/workflows/{name}", "/workflows/{flow}"),
		page("/workflows/{name}/versions/{version}", "/workflows/{flow}/versions/1.0.0"),
		page("/workflows/{name}/launch", "/workflows/{flow}/launch"),
		form("/workflows/{name}/launch", "/workflows/{flow}/launch", "version=1.0.0", moved, moved),
		launchByID(),
		page("/executions/{id}", "/executions/{execution}"), page("/executions/{id}/stream", "/executions/{execution}/stream"),
		page("/executions/{id}/cancel", "/executions/{execution}/cancel"),
		page("/executions/{id}/nodes/{node}", "/executions/{execution}/nodes/wait"),
		page("/executions/{id}/logs", "/executions/{execution}/logs"), page("/executions/{id}/logs/stream", "/executions/{execution}/logs/stream"),
		page("/executions/{id}/logs.txt", "/executions/{execution}/logs.txt"),
		page("/artifacts/{id}", "/artifacts/{artifact}"), page("/artifacts/{id}/download", "/artifacts/{artifact}/download"),
		page("/artifacts/{id}/download", "/artifacts/{artifact}/download").head(), read("/artifacts/{id}/download", "/artifacts/{artifact}/download").head(),
		page("/artifacts/{id}/frame", "/artifacts/{artifact}/frame"),
		page("/types/{name}", "/types/{type}"), page("/dev/gallery/{view}", "/dev/gallery/{view}"),

		read("/workflows/{workflow_id}", "/workflows/{flow}"),
		read("/workflows/{workflow_id}/versions/{version}", "/workflows/{flow}/versions/latest"),
		read("/workflows/{workflow_id}/versions/{version}/ui-schema", "/workflows/{flow}/versions/1.0.0/ui-schema"),
		read("/executions/{execution_id}", "/executions/{execution}"), read("/executions/{execution_id}/nodes", "/executions/{execution}/nodes"),
		read("/executions/{execution_id}/artifacts", "/executions/{execution}/artifacts"),
		read("/executions/{execution_id}/events", "/executions/{execution}/events"),
		read("/executions/{execution_id}/metrics", "/executions/{execution}/metrics"),
		read("/executions/{execution_id}/logs", "/executions/{execution}/logs"),
		read("/executions/{execution_id}/logs/stream", "/executions/{execution}/logs/stream"),
		read("/artifacts/{artifact_id}", "/artifacts/{artifact}"), read("/artifacts/{id}/download", "/artifacts/{artifact}/download"),
		read("/artifacts/by-hash/{sha256}", "/artifacts/by-hash/{sha}"),
		read("/types/{type_name}", "/types/{type}"), read("/types/{type_name}/ui-schema", "/types/{type}/ui-schema"),
		read("/datasets/{ref}", "/datasets/{dataset}"), read("/models/{ref}", "/models/{model}"),
		read("/feature-store/feature-sets/{ref}", "/feature-store/feature-sets/{features}"),
		write("/executions", "/executions", `{"workflow": "{flow}"}`, created, created),

		// Members cancel what they launched, administrators everything.
		write("/executions/{execution_id}/cancel", "/executions/{execution}/cancel", "{}", forbidden, ok),
		write("/executions/{execution_id}/cancel", "/executions/{own}/cancel", "", ok, ok),
		form("/executions/{id}/cancel", "/executions/{second}/cancel", "reason=enough", forbidden, moved),
		form("/executions/{id}/cancel", "/executions/{second own}/cancel", "", moved, moved),
		write("/workflows/{workflow_id}/archive", "/workflows/{shelf}/archive", "", forbidden, ok),
		write("/workflows/{workflow_id}/unarchive", "/workflows/{shelf}/unarchive", "", forbidden, ok),
		form("/workflows/{name}/archive", "/workflows/{shelf}/archive", "", forbidden, moved),
	})
}

// launchByID redirects to the form of the workflow.
func launchByID() row {
	r := page("/launch/{id}", "/launch/{flow}")
	r.member, r.admin = http.StatusSeeOther, http.StatusSeeOther
	return r
}

// matrixDocument is a workflow whose one node does nothing.
func matrixDocument(name string) string {
	return fmt.Sprintf("name: %s\nversion: 1.0.0\noperators:\n  - {name: wait, type: noop}\n", name)
}

// matrixNames makes the objects that the rows name.
func matrixNames(t *testing.T, b *testBundle) *strings.Replacer {
	t.Helper()
	launch := func(c *caller) string {
		return c.post(t, "/api/v1/executions", `{"workflow": "matrix.flow"}`).object(t, http.StatusCreated)["execution_id"].(string)
	}
	b.register(t, matrixDocument("matrix.flow"))
	b.register(t, matrixDocument("matrix.shelf"))
	first := launch(b.admin)
	e, err := b.executions.Get(b.ctx, uuid.MustParse(first))
	require.NoError(t, err)
	a := b.publish(t, e, artifact.New{Node: "wait", Name: "report", Type: "Report", Kind: "Report", Filename: "report.html"}, "<p>fine</p>")
	for kind, name := range map[typeregistry.Kind]string{typeregistry.KindDataset: "digits", typeregistry.KindModel: "net", typeregistry.KindFeatureSet: "people"} {
		entry := catalogue.Entry{Kind: kind, Name: name, Version: "1"}
		if kind == typeregistry.KindFeatureSet {
			entry.Facts.EntityKey, entry.Facts.Features = "id", []typeregistry.Column{{Name: "age", DType: "Integer"}}
		}
		_, _, err := b.catalogue.Register(b.ctx, entry)
		require.NoError(t, err, "%+v", err)
	}
	_, _, err = b.catalogue.RegisterType(b.ctx, []byte(`{"type_name": "Mark", "extends": "Integer(min=1, max=6)"}`))
	require.NoError(t, err)
	return strings.NewReplacer("{flow}", "matrix.flow", "{shelf}", "matrix.shelf", "{execution}", first, "{second}", launch(b.admin),
		"{own}", launch(b.member), "{second own}", launch(b.member), "{artifact}", a.ID.String(), "{sha}", a.SHA256, "{type}", "Mark",
		"{dataset}", "digits@1", "{model}", "net@1", "{features}", "people@1", "{view}", "workflows")
}

// begin sends the row's request and returns the answer's status and header; a
// stream is left after its beginning.
func (r row) begin(t *testing.T, c *caller, names *strings.Replacer) (int, http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	res := c.open(ctx, t, r.method(), names.Replace(r.path), r.media, strings.NewReader(names.Replace(r.body)))
	defer res.Body.Close()
	return res.StatusCode, res.Header
}

func TestEveryRouteForEveryCaller(t *testing.T) {
	t.Parallel()
	b := setup(t)
	names := matrixNames(t, b)
	scope := auth.TaskScope{ExecutionID: uuid.MustParse(names.Replace("{execution}")), NodeIndex: 0, Attempt: 1}
	task := &caller{server: b.server.URL, header: http.Header{"Authorization": {"Bearer " + b.signer.Sign(scope, time.Now().Add(time.Hour))}}}
	for _, r := range matrix() {
		for _, as := range []struct {
			name   string
			caller *caller
			want   int
		}{{"nobody", b.nobody, r.nobody}, {"task", task, r.task}, {"member", b.member, r.member}, {"admin", b.admin, r.admin}} {
			status, header := r.begin(t, as.caller, names)
			place := fmt.Sprintf("%s %s as %s", r.method(), names.Replace(r.path), as.name)
			if as.want == toLogin {
				assert.Equal(t, http.StatusSeeOther, status, place)
				assert.True(t, strings.HasPrefix(header.Get("Location"), "/login?next="), "%s leads to %s", place, header.Get("Location"))
				continue
			}
			assert.Equal(t, as.want, status, place)
			if status >= 400 && strings.HasPrefix(r.path, "/api/") {
				assert.Equal(t, "application/problem+json", header.Get("Content-Type"), place)
			}
		}
	}
}

// TestEveryRouteHasARow: a route that nobody thought about who may use it fails.
func TestEveryRouteHasARow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rows := map[string]bool{}
	for _, r := range matrix() {
		rows[r.route] = true
	}
	seen := map[string]bool{}
	err := chi.Walk(b.routes.(chi.Routes), func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if strings.HasPrefix(route, "/static/") {
			return nil // for everybody, with any method
		}
		if strings.HasPrefix(route, "/flowforge.v1.TaskService/") && method != http.MethodPost {
			return nil // the protocol refuses other methods itself
		}
		seen[method+" "+route] = true
		if !rows[method+" "+route] {
			t.Errorf("%s %s has no row in the matrix", method, route)
		}
		return nil
	})
	require.NoError(t, err)
	for route := range rows {
		require.True(t, seen[route], "there is no route %s", route)
	}
}

// TestUnknownNames: what does not exist, and what belongs to another project, is
// not found. Both look alike.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	names := matrixNames(t, b)
	elsewhere, _ := b.tenant(t, "elsewhere")
	stranger := b.signIn(t, b.person(t, "stranger", auth.TenantAdmin, elsewhere))
	some := uuid.NewString()
	unknown := strings.NewReplacer("{flow}", "nowhere", "{shelf}", "nowhere", "{execution}", some, "{second}", "no-id", "{own}", "1", "{second own}", some,
		"{artifact}", some, "{sha}", strings.Repeat("ab", 32), "{type}", "Nothing", "{dataset}", "nowhere@1", "{model}", "gone", "{features}", "x@9", "{view}", "nothing")
	for _, r := range matrix() {
		if r.open {
			continue
		}
		status, header := r.begin(t, b.admin, unknown)
		assert.Equal(t, http.StatusNotFound, status, "%s %s", r.method(), unknown.Replace(r.path))
		if strings.HasPrefix(r.path, "/api/") {
			assert.Equal(t, "application/problem+json", header.Get("Content-Type"), r.path)
		}
		if strings.Contains(r.path, "{view}") {
			continue // the same for everybody
		}
		status, _ = r.begin(t, stranger, names)
		assert.Equal(t, http.StatusNotFound, status, "%s %s as a stranger", r.method(), names.Replace(r.path))
	}
	e, err := b.executions.Get(b.ctx, uuid.MustParse(names.Replace("{execution}")))
	require.NoError(t, err)
	require.Equal(t, execution.Pending, e.Status, "nothing was changed")
}
