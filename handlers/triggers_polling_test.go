package handlers_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/feed"
)

// TestATriggerPolls: it is saved in the form, polls with a connection, and its page shows what it does.
func TestATriggerPolls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, matrixDocument("matrix.flow"))
	var version atomic.Value
	version.Store(`{"version": 1}`)
	portal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer a token of the portal" || r.URL.Path != "/v1/latest.json" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, version.Load().(string))
	}))
	t.Cleanup(portal.Close)
	made := b.admin.send(t, "PUT", "/api/v1/connections/portal", "application/json", `{"kind": "http", "values": {"base_url": "`+portal.URL+`/v1", "authentication": "bearer", "token": "a token of the portal"}}`)
	require.Less(t, made.status, 300, made.body)
	require.Contains(t, b.member.get(t, "/triggers/new?kind=http").body, `<option value="portal">`)

	wrong := b.member.submit(t, "/triggers", "kind", "http", "name", "page", "address", "example.com/latest.json", "when", "appears", "every", "1 s", "workflow", "matrix.flow", "inputs", "{}")
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	for _, part := range []string{`value="example.com/latest.json"`, "Enter a URL that begins with https://", `href="#trigger-every"`, "Enter 10 s to 31 days", `value="appears" checked`} {
		require.Contains(t, wrong.body, part)
	}
	saved := b.member.submit(t, "/triggers", "kind", "http", "name", "page", "connection", "portal", "address", "latest.json", "when", "changes", "every", "10s",
		"existing", "false", "filter", "http.body.version > 1", "workflow", "matrix.flow", "inputs", "{}", "enabled", "true")
	require.Equal(t, http.StatusSeeOther, saved.status, saved.body)
	page := b.member.follow(t, saved)
	for _, part := range []string{"portal/latest.json changes", "none yet", "Poll now", "10 s"} {
		require.Contains(t, page.body, part)
	}
	poll := func() string {
		require.Equal(t, http.StatusSeeOther, b.member.submit(t, "/triggers/page/poll").status)
		_, err := b.deps.Triggers.PollDue(auth.AsSystem(b.ctx))
		require.NoError(t, err)
		return b.member.get(t, "/triggers/page").body
	}
	require.Contains(t, poll(), "Waiting for the first change")
	version.Store(`{"version": 2}`)
	body := poll()
	require.Contains(t, body, "/v1/latest.json changed")
	require.Contains(t, body, "Launched")
	require.NotContains(t, body, "a token of the portal")

	require.Less(t, b.admin.send(t, "PUT", "/api/v1/connections/portal", "application/json", `{"kind": "http", "values": {"base_url": "`+portal.URL+`/v1", "authentication": "bearer", "token": "another token"}}`).status, 300)
	body = poll()
	require.Contains(t, body, "Poll failed")
	require.Contains(t, body, "responded with 403 Forbidden")
	require.Contains(t, b.member.get(t, "/triggers").body, "responded with 403 Forbidden")
	stored := b.member.get(t, "/api/v1/triggers/page").object(t, http.StatusOK)
	require.Equal(t, map[string]any{"connection": "portal", "path": "latest.json", "when": "changes", "every": "10s"}, stored["http"])
	polls, _ := stored["polls"].(map[string]any)
	require.EqualValues(t, "1", polls["failures"])
	require.Equal(t, http.StatusAccepted, b.member.post(t, "/api/v1/triggers/page/poll", "").status)
	require.Equal(t, http.StatusSeeOther, b.member.submit(t, "/triggers/page/switch", "on", "false").status)
	require.Equal(t, http.StatusConflict, b.member.post(t, "/api/v1/triggers/page/poll", "").status)
	require.Contains(t, b.member.get(t, "/triggers/page/edit").body, `value="latest.json"`)
}

// TestATriggerOnSeveralEvents: conditions are added in the form, and its page shows what is missing.
func TestATriggerOnSeveralEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, matrixDocument("matrix.flow"))
	fields := []string{
		"kind", "all", "name", "daily", "all.0.name", "images", "all.0.waits", "model", "all.0.sources", "images", "all.1.name", "labels", "all.1.waits", "model:production", "all.1.sources", "labels, other",
		"by", "model.version", "within", "24 h", "workflow", "matrix.flow", "inputs", "{}", "enabled", "true",
	}
	more := b.member.submit(t, "/triggers", append([]string{"add", "condition"}, fields...)...)
	require.Equal(t, http.StatusOK, more.status)
	for _, part := range []string{"Condition 3", `name="remove" value="2"`, `value="labels, other"`, `value="model:production" selected`} {
		require.Contains(t, more.body, part)
	}
	fewer := b.member.submit(t, "/triggers", append([]string{"remove", "0"}, fields...)...)
	require.NotContains(t, fewer.body, `value="images"`)
	wrong := b.member.submit(t, "/triggers", "kind", "all", "name", "daily", "all.0.name", "Images", "all.0.waits", "model", "all.0.sources", "", "workflow", "matrix.flow", "inputs", "{}")
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	for _, part := range []string{`href="#trigger-all"`, `href="#trigger-all.0.name"`, `href="#trigger-all.0.sources"`, "Enter 2 to 10 conditions."} {
		require.Contains(t, wrong.body, part)
	}
	saved := b.member.submit(t, "/triggers", fields...)
	require.Equal(t, http.StatusSeeOther, saved.status, saved.body)
	require.Contains(t, b.member.follow(t, saved).body, "Nothing is waiting")
	require.Contains(t, b.member.get(t, "/triggers/daily/edit").body, `value="labels, other"`)
	receive := func() string {
		_, err := feed.New(feed.Config{Pool: b.pool}).Relay(b.ctx)
		require.NoError(t, err)
		_, err = b.deps.Triggers.ReceiveEvents(auth.AsSystem(b.ctx))
		require.NoError(t, err)
		return b.member.get(t, "/triggers/daily").body
	}
	require.Less(t, b.member.post(t, "/api/v1/models", `{"name": "images", "version": "1.0.0"}`).status, 300)
	body := receive()
	for _, part := range []string{"1.0.0", "images@1.0.0", "missing"} {
		require.Contains(t, body, part)
	}
	var joins struct {
		Joins []struct {
			Key        string
			Conditions []struct{ Name, Subject string }
		}
		Count int
	}
	require.NoError(t, json.Unmarshal([]byte(b.member.get(t, "/api/v1/triggers/daily/joins").body), &joins))
	require.Equal(t, []any{1, "1.0.0", "labels", ""}, []any{joins.Count, joins.Joins[0].Key, joins.Joins[0].Conditions[1].Name, joins.Joins[0].Conditions[1].Subject})
	require.Less(t, b.member.post(t, "/api/v1/models", `{"name": "labels", "version": "1.0.0"}`).status, 300)
	require.Less(t, b.member.post(t, "/api/v1/model-registry/labels/versions/1.0.0/stage", `{"stage": "production", "reason": "good"}`).status, 300)
	body = receive()
	require.Contains(t, body, "Launched")
	require.Contains(t, body, "Nothing is waiting")
	trial := b.member.submit(t, "/triggers/daily/test", "event", `{"images": {"version": "1"}, "labels": {}, "join": {"key": "1"}}`)
	require.Contains(t, trial.body, "Would launch")
}
