package handlers_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/feed"
)

const hookSecret = "what GitHub and FlowForge know"

// hook sends a push event as GitHub does, without an account.
func hook(t *testing.T, b *testBundle, url, delivery, secret, body string) (int, map[string]any) {
	t.Helper()
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.server.URL+url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("X-Github-Event", "push")
	req.Header.Set("X-Github-Delivery", delivery)
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	answer := map[string]any{}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&answer), "the answer is JSON")
	return res.StatusCode, answer
}

func TestAWebhookLaunches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, matrixDocument("matrix.flow"))
	require.Less(t, b.admin.send(t, "PUT", "/api/v1/secrets/github-hook", "application/json", `{"value": "`+hookSecret+`"}`).status, 300)
	saved := b.member.submit(t, "/triggers", "kind", "webhook", "name", "on-push", "signature", "github", "secret", "github-hook",
		"filter", `payload.ref == "refs/heads/main"`, "workflow", "matrix.flow", "inputs", "{}", "enabled", "true")
	require.Equal(t, http.StatusSeeOther, saved.status, saved.body)
	page := b.member.follow(t, saved)
	require.Contains(t, page.body, "The trigger was saved.")
	var stored struct {
		HookURL string `json:"hook_url"`
	}
	require.NoError(t, json.Unmarshal([]byte(b.member.get(t, "/api/v1/triggers/on-push").body), &stored))
	address := "/hooks/" + path.Base(stored.HookURL)

	status, answer := hook(t, b, address, "1", "a wrong secret", `{"ref": "refs/heads/main"}`)
	require.Equal(t, http.StatusUnauthorized, status)
	require.NotContains(t, answer["detail"], "secret")
	status, answer = hook(t, b, address, "2", hookSecret, `{"ref": "refs/heads/main"}`)
	require.Equal(t, http.StatusAccepted, status, answer)
	execution, _ := answer["execution_id"].(string)
	require.Contains(t, b.member.get(t, "/executions/"+execution).body, "launched by trigger")
	status, answer = hook(t, b, address, "2", hookSecret, `{"ref": "refs/heads/main"}`)
	require.Equal(t, []any{http.StatusOK, true, execution}, []any{status, answer["repeated"], answer["execution_id"]})
	status, answer = hook(t, b, address, "3", hookSecret, `{"ref": "refs/heads/other"}`)
	require.Equal(t, []any{http.StatusOK, "SKIPPED"}, []any{status, answer["outcome"]})
	status, _ = hook(t, b, address, "4", hookSecret, `not JSON`)
	require.Equal(t, http.StatusUnprocessableEntity, status)
	status, _ = hook(t, b, address, "5", hookSecret, `"`+strings.Repeat("x", 1<<20)+`"`)
	require.Equal(t, http.StatusRequestEntityTooLarge, status)

	body := b.member.get(t, "/triggers/on-push").body
	for _, part := range []string{"Launched", "Skipped", "Rejected", "The filter is false: payload.ref", "/executions/" + execution, "does not match the secret"} {
		require.Contains(t, body, part)
	}
	require.NotContains(t, body, hookSecret)
	require.Contains(t, b.member.get(t, "/triggers").body, "Last 3 events: 1 launched, 1 skipped, 0 failed, 1 rejected")
	for query, shown := range map[string]bool{"?q=PUSH&state=on": true, "?q=webhook": true, "?state=paused": false, "?q=nothing": false} {
		list := b.member.get(t, "/triggers"+query)
		require.Equal(t, shown, strings.Contains(list.body, ">on-push<"), query)
		require.Equal(t, !shown, strings.Contains(list.body, "No triggers match"), query)
	}
	trial := b.member.submit(t, "/triggers/on-push/test", "event", `{"payload": {"ref": "refs/heads/main"}}`)
	require.Contains(t, trial.body, "Would launch")
	trial = b.member.submit(t, "/triggers/on-push/test", "event", "{\n  \"payload\": ,\n}")
	require.Equal(t, http.StatusUnprocessableEntity, trial.status)
	require.Contains(t, trial.body, "The mistake is in line 2")

	viewer := b.signIn(t, b.person(t, "vera", auth.Viewer, auth.LocalProject))
	seen := viewer.get(t, "/triggers/on-push")
	require.Equal(t, http.StatusOK, seen.status)
	require.NotContains(t, seen.body, "/edit")
	other := b.signIn(t, b.person(t, "otto", auth.ProjectDev, auth.LocalProject))
	require.Equal(t, http.StatusForbidden, other.submit(t, "/triggers/on-push/delete").status, "only the owner and administrators change a trigger")
	off := b.member.submit(t, "/triggers/on-push/switch", "on", "false", "back", "list", "query", "state=on")
	require.Equal(t, http.StatusSeeOther, off.status)
	require.Equal(t, "/triggers?state=on", off.header.Get("Location"), "the switch of the list leads back to it")
	status, _ = hook(t, b, address, "6", hookSecret, `{"ref": "refs/heads/main"}`)
	require.Equal(t, http.StatusConflict, status)
	require.Equal(t, http.StatusSeeOther, b.member.submit(t, "/triggers/on-push/delete").status)
	status, _ = hook(t, b, address, "7", hookSecret, `{"ref": "refs/heads/main"}`)
	require.Equal(t, http.StatusNotFound, status)
}

// TestARefusedTriggerKeepsWhatWasTyped: all mistakes are shown at once, at their fields.
func TestARefusedTriggerKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, matrixDocument("matrix.flow"))
	wrong := b.member.submit(t, "/triggers", "kind", "execution", "name", "a b", "sources", "digits.*\n[", "states", "FAILED",
		"filter", "payload.x", "workflow", "absent", "version", "9", "inputs", `{"x": "{{ execution. }}"}`, "priority", "7")
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	for _, part := range []string{
		`value="a b"`, "digits.*\n[</textarea>", ">payload.x</textarea>", `value="absent"`, `value="9"`, "execution. }}", `value="7"`,
		"Unknown name &#34;payload&#34;", "There is no workflow &#34;absent&#34;", "is not a name or a pattern",
	} {
		require.Contains(t, wrong.body, part)
	}
	wrong = b.member.submit(t, "/triggers", "kind", "execution", "name", "ok", "sources", "a", "workflow", "matrix.flow", "inputs", `{"x": `, "priority", "many")
	require.Contains(t, wrong.body, "It ends too early")
	require.Contains(t, wrong.body, "Enter 0 to 100.")
}

// TestATriggerOnAModel is saved in the form, and launches when a version of the model enters the stage.
func TestATriggerOnAModel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, matrixDocument("matrix.flow"))
	form := b.member.get(t, "/triggers/new?kind=model").body
	for _, part := range []string{"Stages that a version enters", "Models", "{{ model.value }}"} {
		require.Contains(t, form, part)
	}
	saved := b.member.submit(t, "/triggers", "kind", "model", "name", "deploy", "sources", "digits", "stages", "production", "filter", `model.version == "1.0.0"`,
		"workflow", "matrix.flow", "inputs", "{}", "enabled", "true")
	require.Equal(t, http.StatusSeeOther, saved.status, saved.body)
	require.Contains(t, b.member.follow(t, saved).body, "Model digits enters production")
	stored := b.member.get(t, "/api/v1/triggers/deploy").object(t, http.StatusOK)
	require.Equal(t, []any{"model", []any{"production"}}, []any{stored["kind"], stored["stages"]})
	trial := b.member.submit(t, "/triggers/deploy/test", "event", `{"model": {"name": "digits", "version": "1.0.0", "stage": "production"}}`)
	require.Contains(t, trial.body, "Would launch")
	for _, kind := range []string{"artifact", "dataset", "event"} {
		require.Equal(t, http.StatusOK, b.member.get(t, "/triggers/new?kind="+kind).status)
	}

	made := b.member.post(t, "/api/v1/models", `{"name": "digits", "version": "1.0.0"}`)
	require.Less(t, made.status, 300, made.body)
	moved := b.member.post(t, "/api/v1/model-registry/digits/versions/1.0.0/stage", `{"stage": "production", "reason": "good"}`)
	require.Less(t, moved.status, 300, moved.body)
	_, err := feed.New(feed.Config{Pool: b.pool}).Relay(b.ctx)
	require.NoError(t, err)
	_, err = b.deps.Triggers.ReceiveEvents(auth.AsSystem(b.ctx))
	require.NoError(t, err)
	body := b.member.get(t, "/triggers/deploy").body
	require.Contains(t, body, "model.stage_changed digits@1.0.0")
	require.Contains(t, body, "Launched")
}
