package handlers_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// TestAJoinOfAWebhookAndAnAddress is saved in the form, shows the address of the webhook and what each
// condition received, and launches when both have an event.
func TestAJoinOfAWebhookAndAnAddress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, matrixDocument("matrix.flow"))
	require.Less(t, b.admin.send(t, "PUT", "/api/v1/secrets/github-hook", "application/json", `{"value": "`+hookSecret+`"}`).status, 300)
	var day atomic.Value
	day.Store("sunday")
	portal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"day": "`+day.Load().(string)+`"}`)
	}))
	t.Cleanup(portal.Close)
	form := b.member.get(t, "/triggers/new?kind=all").body
	for _, part := range []string{`<option value="webhook">`, `<option value="http:appears">`, `<option value="s3">`, `<option value="github-hook">`} {
		require.Contains(t, form, part)
	}
	fields := []string{
		"kind", "all", "name", "daily", "all.0.name", "push", "all.0.waits", "webhook", "all.0.signature", "github", "all.0.secret", "github-hook", "all.0.filter", "payload.passed", "all.0.by", "payload.day",
		"all.1.name", "page", "all.1.waits", "http:changes", "all.1.address", portal.URL + "/latest.json", "all.1.every", "10 s", "all.1.existing", "false", "all.1.by", "http.body.day",
		"within", "24 h", "workflow", "matrix.flow", "inputs", "{}", "enabled", "true",
	}
	wrong := b.member.submit(t, "/triggers", append(fields, "all.2.name", "files", "all.2.waits", "s3", "all.2.every", "1 s", "all.2.prefix", "raw/")...)
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	for _, part := range []string{`href="#trigger-all.2.store"`, `href="#trigger-all.2.every"`, `value="raw/"`, `value="` + portal.URL + `/latest.json"`, `<option value="github-hook" selected>`, `value="http:changes" selected`} {
		require.Contains(t, wrong.body, part)
	}
	saved := b.member.submit(t, "/triggers", fields...)
	require.Equal(t, http.StatusSeeOther, saved.status, saved.body)
	require.Contains(t, b.member.get(t, "/triggers/daily/edit").body, `value="`+portal.URL+`/latest.json"`)

	stored := b.member.get(t, "/api/v1/triggers/daily").object(t, http.StatusOK)
	conditions, _ := stored["conditions"].([]any)
	require.Len(t, conditions, 2)
	push, _ := conditions[0].(map[string]any)
	address, err := url.Parse(push["hook_url"].(string))
	require.NoError(t, err)
	require.Contains(t, b.member.get(t, "/triggers/daily").body, push["hook_url"].(string))
	poll := func() string {
		require.Equal(t, http.StatusSeeOther, b.member.submit(t, "/triggers/daily/poll").status)
		_, err := b.deps.Triggers.PollDue(auth.AsSystem(b.ctx))
		require.NoError(t, err)
		return b.member.get(t, "/triggers/daily").body
	}
	require.Contains(t, poll(), "Waiting for the first change")

	status, answer := hook(t, b, address.Path, "1", hookSecret, `{"day": "monday", "passed": false}`)
	require.Equal(t, []any{http.StatusOK, "SKIPPED"}, []any{status, answer["outcome"]})
	require.Contains(t, b.member.get(t, "/triggers/daily").body, "The filter is false: payload.passed")
	status, answer = hook(t, b, address.Path, "2", hookSecret, `{"day": "monday", "passed": true}`)
	require.Equal(t, []any{http.StatusOK, "WAITING"}, []any{status, answer["outcome"]})
	status, answer = hook(t, b, address.Path, "2", hookSecret, `{"day": "monday", "passed": true}`)
	require.Equal(t, []any{http.StatusOK, "WAITING", true}, []any{status, answer["outcome"], answer["repeated"]})
	body := b.member.get(t, "/triggers/daily").body
	for _, part := range []string{"monday", "missing", "Last event:"} {
		require.Contains(t, body, part)
	}
	day.Store("monday")
	body = poll()
	require.Contains(t, body, "Launched")
	require.Contains(t, body, "Nothing is waiting")
	status, _ = hook(t, b, "/hooks/"+stored["id"].(string), "3", hookSecret, "{}")
	require.Equal(t, http.StatusNotFound, status)
}
