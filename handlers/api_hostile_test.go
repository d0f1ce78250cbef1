package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// refused checks that the response is a client error in problem format.
func refused(t *testing.T, place string, r reply) {
	t.Helper()
	assert.GreaterOrEqual(t, r.status, 400, "%s: %s", place, r.body)
	assert.Less(t, r.status, 500, "%s: %s", place, r.body)
	assert.Equal(t, "application/problem+json", r.header.Get("Content-Type"), "%s: %s", place, r.body)
	assert.NotContains(t, r.body, "SQLSTATE", place)
}

// TestHostileAddresses: for any path and query, the response is a problem of the client,
// never a server error.
func TestHostileAddresses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launched(t).String()
	for _, path := range []string{
		"/executions/not-an-id", "/executions/%00", "/executions/" + strings.Repeat("9", 5000), "/executions/%ff%fe", "/executions/..%2f..%2fetc",
		"/executions/" + strings.ToUpper(uuid.Nil.String()), "/workflows/%00", "/workflows/' OR 1=1 --", "/workflows/%25", "/workflows/with.log/versions/'",
		"/artifacts/%2e%2e", "/artifacts/by-hash/" + strings.Repeat("g", 64), "/types/List%3C", "/types/" + strings.Repeat("List%3C", 300), "/datasets/@", "/models/a@b@c",
		"/executions?limit=-1", "/executions?limit=0", "/executions?limit=201", "/executions?limit=9999999999999999999999", "/executions?limit=ten",
		"/executions?page=%00", "/executions?page='", "/executions?page=" + strings.Repeat("x", 500), "/executions?q=%00", "/executions?q=%ff", "/executions?q=%zz",
		"/executions?from=yesterday", "/executions?to=2026-13-01T00:00:00Z", "/executions?status=nonsense", "/executions?user=" + strings.Repeat("u", 300), "/executions?status=" + strings.Repeat("s", 300),
		"/workflows?limit=-5", "/workflows?q=" + strings.Repeat("q", 300), "/artifacts?page=1", "/models?page=!", "/datasets?limit=1e3",
		"/executions/" + id + "/nodes?page=x", "/executions/" + id + "/nodes?limit=-1", "/executions/" + id + "/events?after=-1", "/executions/" + id + "/events?limit=1001",
		"/executions/" + id + "/logs?page=AAAA", "/executions/" + id + "/logs?page=%2f%2f%2f", "/executions/" + id + "/logs?attempt=-1",
		"/executions/" + id + "/logs?attempt=99999999999999999999", "/executions/" + id + "/metrics?max_points=0", "/executions/" + id + "/logs/stream?last-event-id=%2f",
		"/nothing/here", "/executions/" + id + "/nothing",
	} {
		refused(t, path, b.admin.get(t, "/api/v1"+strings.ReplaceAll(path, " ", "%20")))
	}
	for _, path := range []string{
		"/workflows?page=zzz", "/workflows?q=%25_%5C", "/executions?q=%27%3B--", "/executions?q=%25",
		"/executions/" + id + "/logs?q=%25%27&level=none&node=%2C%2C", "/executions/" + id + "/nodes?status=nonsense", "/artifacts?type=nothing", "/models?q=%5C",
	} {
		r := b.admin.get(t, "/api/v1"+path)
		assert.Less(t, r.status, 500, "%s: %s", path, r.body)
	}
}

// TestHostileBodies is the same for request bodies.
func TestHostileBodies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launched(t).String()
	huge := `{"workflow": "with.log", "inputs": {"x": "` + strings.Repeat("x", 40<<20) + `"}}`
	deep := strings.Repeat(`{"inputs":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	for _, path := range []string{"/executions", "/workflows", "/types", "/datasets", "/feature-store/feature-sets", "/models", "/executions/" + id + "/cancel"} {
		for name, body := range map[string]string{
			"huge": huge, "deep": deep, "broken": `{"name": `, "list": "[]", "text": `"x"`, "number": "1", "bytes": "\x00\x01\xff", "nul": `{"name": "a\u0000b", "reason": "\u0000"}`,
			"double": `{"name": "a"} {"name": "b"}`, "wrong kinds": `{"name": {}, "version": [], "workflow": 7, "type_name": null, "reason": 1}`,
			"not UTF-8": "{\"name\": \"\xff\xfe\", \"reason\": [1]}", "null": `{"name": null, "workflow": null, "reason": [null]}`,
		} {
			refused(t, path+" "+name, b.admin.post(t, "/api/v1"+path, body))
		}
		for _, mediaType := range []string{"text/html", "application/x-www-form-urlencoded", "multipart/form-data", "a/b/c", ";;;", "application/cbor"} {
			refused(t, path+" "+mediaType, b.admin.send(t, http.MethodPost, "/api/v1"+path, mediaType, "a=b&c=d"))
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch} {
		refused(t, method, b.admin.send(t, method, "/api/v1/executions/"+id, "application/json", "{}"))
	}
	e := b.admin.get(t, "/api/v1/executions/"+id).object(t, http.StatusOK)
	require.Equal(t, "PENDING", e["status"], "nothing of this did anything")
}

// TestOtherSites: a page of another site cannot act for a reader who is signed in.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.launched(t)
	foreign := b.member.with("Origin", "https://evil.example").with("Sec-Fetch-Site", "cross-site")
	p := foreign.send(t, http.MethodPost, "/api/v1/executions", "text/plain", `{"workflow": "with.log"}`).problem(t, http.StatusForbidden)
	require.Contains(t, p.Detail, "another site")
	require.Equal(t, http.StatusForbidden, foreign.send(t, http.MethodPost, "/logout", "", "").status)
}

// TestFormsWithNul: a form of a page is refused like the API's bodies.
func TestFormsWithNul(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launched(t).String()
	r := b.admin.send(t, http.MethodPost, "/executions/"+id+"/cancel", "application/x-www-form-urlencoded", "reason=a%00b%ff")
	require.Less(t, r.status, 500)
	r = b.admin.send(t, http.MethodPost, "/workflows/with.log/launch", "application/x-www-form-urlencoded", "name=a%00b&version=%00")
	require.Equal(t, http.StatusUnprocessableEntity, r.status)
}
