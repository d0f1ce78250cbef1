package trigger_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/trigger"
)

func mac(parts string) []byte {
	m := hmac.New(sha256.New, []byte(signing))
	m.Write([]byte(parts))
	return m.Sum(nil)
}

func standard(id string, at time.Time, body string) http.Header {
	seconds := strconv.FormatInt(at.Unix(), 10)
	return header("Webhook-Id", id, "Webhook-Timestamp", seconds, "Webhook-Signature", "v1,AAAA v1,"+base64.StdEncoding.EncodeToString(mac(id+"."+seconds+"."+body)))
}

func github(id, body string) http.Header {
	return header("X-Github-Event", "push", "X-Github-Delivery", id, "X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac(body)))
}

const push = `{"after": "3f1c9ab", "ref": "refs/heads/main", "score": 0.5, "files": ["train.py"]}`

func webhook(signature trigger.Signature) trigger.Spec {
	return trigger.Spec{
		Name: "gate-" + string(signature), Kind: trigger.OnWebhook, Signature: signature, Secret: "hook", Filter: `payload.ref == "refs/heads/main"`,
		Inputs: map[string]any{"ref": "commit {{ payload.after }}", "accuracy": "{{ payload.score ?? 0 }}", "files": "{{ payload.files }}"},
	}
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for signature, tries := range map[trigger.Signature]struct {
		good http.Header
		bad  []http.Header
	}{
		trigger.GitHub:   {github("1", push), []http.Header{{}, github("2", push+" "), header("X-Hub-Signature-256", "sha256=00"), header("X-Hub-Signature", "sha1=00")}},
		trigger.GitLab:   {header("X-Gitlab-Token", signing, "X-Gitlab-Event", "Push Hook"), []http.Header{{}, header("X-Gitlab-Token", signing+" ")}},
		trigger.Standard: {standard("a", b.now, push), []http.Header{{}, standard("a", b.now, push+" "), standard("b", b.now.Add(-6*time.Minute), push), standard("c", b.now.Add(6*time.Minute), push)}},
		trigger.Bearer:   {header("Authorization", "Bearer "+signing), []http.Header{{}, header("Authorization", "Bearer "), header("Authorization", signing)}},
	} {
		tr := b.put(webhook(signature))
		for i, h := range tries.bad {
			_, err := b.triggers.Receive(t.Context(), tr.ID, trigger.Request{Header: h, Body: []byte(push)})
			require.True(t, apperr.Is(err, apperr.Unauthenticated), "%s %d: %v", signature, i, err)
			got := b.deliveries(tr.Name)[0]
			require.Equal(t, trigger.Rejected, got.Outcome)
			require.Nil(t, got.Payload, "what strangers send is not kept")
			require.NotContains(t, got.Message, signing)
		}
		d, err := b.triggers.Receive(t.Context(), tr.ID, trigger.Request{Header: tries.good, Body: []byte(push)})
		require.NoError(t, err)
		require.Equal(t, map[string]any{"ref": "commit 3f1c9ab", "accuracy": json.Number("0.5"), "files": []any{"train.py"}}, b.inputsOf(d), signature)
		require.NotContains(t, string(d.Payload), signing, "no secret is in a delivery")
	}
	require.Equal(t, 4, b.executions())
}

// TestASecretThatCannotBeRead: users see why on the page of the trigger, and the sender learns nothing
// about the secret store.
func TestASecretThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tr := b.put(webhook(trigger.GitHub))
	request := trigger.Request{Header: github("1", push), Body: []byte(push)}
	b.unread = apperr.New(apperr.Conflict, `The secret "hook" has no value. The secret store "vault" has no path team/hook.`)
	_, err := b.triggers.Receive(t.Context(), tr.ID, request)
	require.Equal(t, apperr.Unauthenticated, apperr.CodeOf(err))
	require.NotContains(t, apperr.MessageOf(err), "vault")
	require.Contains(t, b.deliveries(tr.Name)[0].Message, "has no path team/hook")
	b.unread = apperr.New(apperr.Unavailable, `The secret "hook" has no value. The secret store "vault" does not respond.`)
	_, err = b.triggers.Receive(t.Context(), tr.ID, request)
	require.Equal(t, apperr.Unavailable, apperr.CodeOf(err))
	require.NotContains(t, apperr.MessageOf(err), "vault")
	b.unread = nil
	d, err := b.triggers.Receive(t.Context(), tr.ID, request)
	require.NoError(t, err)
	require.Equal(t, trigger.Launched, d.Outcome)
}

// TestTextsThatPostgresCannotStore: a sender that repeated the request would get the same error again.
func TestTextsThatPostgresCannotStore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tr := b.put(trigger.Spec{Name: "odd", Kind: trigger.OnWebhook, Signature: trigger.Bearer, Secret: "hook", Inputs: map[string]any{"ref": "{{ query.branch }}"}})
	request := trigger.Request{Header: header("Authorization", "Bearer "+signing, "Idempotency-Key", "\xff1"), Query: url.Values{"branch": {"ma\x00in\xff"}, "\x00": {""}}, Body: []byte("{}")}
	d, err := b.triggers.Receive(t.Context(), tr.ID, request)
	require.NoError(t, err)
	require.Equal(t, "main", b.inputsOf(d)["ref"])
	d, err = b.triggers.Receive(t.Context(), tr.ID, request)
	require.NoError(t, err)
	require.True(t, d.Repeated)
	require.Equal(t, 1, b.executions())
}

func TestEventsLaunchOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tr := b.put(webhook(trigger.GitHub))
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			_, err := b.triggers.Receive(context.WithoutCancel(t.Context()), tr.ID, trigger.Request{Header: github("same", push), Body: []byte(push)})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, b.executions())
	require.Len(t, b.deliveries(tr.Name), 1)
	d, err := b.triggers.Receive(t.Context(), tr.ID, trigger.Request{Header: github("same", push), Body: []byte(push)})
	require.NoError(t, err)
	require.True(t, d.Repeated)
	_, err = b.triggers.Receive(t.Context(), tr.ID, trigger.Request{Header: github("other", push), Body: []byte(push)})
	require.NoError(t, err)
	require.Equal(t, 2, b.executions())
}

// TestCrashes: a server that stops at any point of a launch makes the event repeat, not the execution.
func TestCrashes(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"launch.begin", "launch.within", "launch.committed"} {
		b := setup(t)
		e := b.ended("digits.train", "SUCCEEDED", nil)
		b.put(trigger.Spec{Name: "after", Kind: trigger.OnExecution, Sources: []string{"digits.train"}})
		config := b.config
		config.Crash = func(at string) {
			if at == point {
				panic(point)
			}
		}
		system := auth.AsSystem(t.Context())
		require.PanicsWithValue(t, point, func() { _ = trigger.New(config).ExecutionEnded(system, e) })
		require.NoError(t, b.triggers.ExecutionEnded(system, e))
		require.NoError(t, b.triggers.ExecutionEnded(system, e))
		require.Equal(t, 1, b.executions(), point)
		require.Len(t, b.deliveries("after"), 1, point)
	}
}

func TestExecutionEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	system := auth.AsSystem(t.Context())
	b.put(trigger.Spec{
		Name: "good", Kind: trigger.OnExecution, Sources: []string{"digits.*"}, Filter: "execution.outputs.accuracy > 0.9",
		Inputs: map[string]any{"accuracy": "{{ execution.outputs.accuracy }}", "ref": "{{ execution.workflow }}@{{ execution.version }} {{ execution.state }}"},
	})
	b.put(trigger.Spec{Name: "failed", Kind: trigger.OnExecution, Sources: []string{"digits.train"}, States: []string{"FAILED"}})
	require.NoError(t, b.triggers.ExecutionEnded(system, b.ended("digits.train", "SUCCEEDED", map[string]any{"accuracy": json.Number("0.95")})))
	require.NoError(t, b.triggers.ExecutionEnded(system, b.ended("digits.train", "SUCCEEDED", map[string]any{"accuracy": 0.5})))
	require.NoError(t, b.triggers.ExecutionEnded(system, b.ended("digits.train", "SUCCEEDED", map[string]any{})))
	require.NoError(t, b.triggers.ExecutionEnded(system, b.ended("other", "SUCCEEDED", map[string]any{"accuracy": 0.99})))
	require.NoError(t, b.triggers.ExecutionEnded(system, b.ended("digits.train", "FAILED", nil)))
	got := b.deliveries("good")
	require.Len(t, got, 3)
	require.Equal(t, []trigger.Outcome{trigger.Failed, trigger.Skipped, trigger.Launched}, []trigger.Outcome{got[0].Outcome, got[1].Outcome, got[2].Outcome})
	require.Contains(t, got[0].Message, "accuracy", "a name that is missing is an error and not false")
	require.Equal(t, "The filter is false: execution.outputs.accuracy > 0.9", got[1].Message)
	require.Equal(t, map[string]any{"accuracy": json.Number("0.95"), "ref": "digits.train@1.0.0 SUCCEEDED", "files": []any{}}, b.inputsOf(got[2]))
	require.Len(t, b.deliveries("failed"), 1)

	require.NoError(t, b.triggers.Switch(b.ctx, "good", false))
	require.NoError(t, b.triggers.ExecutionEnded(system, b.ended("digits.train", "SUCCEEDED", map[string]any{"accuracy": 1.0})))
	require.Len(t, b.deliveries("good"), 3, "a trigger that is off does not count events")
}

// TestLoopsEnd: a workflow whose end launches itself stops after MaxDepth launches.
func TestLoopsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(trigger.Spec{Name: "loop", Kind: trigger.OnExecution, Sources: []string{"retrain"}})
	e := b.ended("retrain", "SUCCEEDED", nil)
	for range trigger.MaxDepth + 1 {
		require.NoError(t, b.triggers.ExecutionEnded(auth.AsSystem(t.Context()), e))
		last := b.deliveries("loop")[0]
		if last.ExecutionID == nil {
			break
		}
		e = b.ended("retrain", "SUCCEEDED", nil)
		e.ID = *last.ExecutionID
	}
	got := b.deliveries("loop")
	require.Len(t, got, trigger.MaxDepth+1)
	require.Equal(t, trigger.ReasonDepth, got[0].Reason)
	require.Equal(t, trigger.MaxDepth, b.executions())
	origin, err := b.triggers.OriginOf(b.ctx, *got[1].ExecutionID)
	require.NoError(t, err)
	require.Equal(t, "loop", origin.Trigger)
}

func TestRefusedLaunchesCanBeRepeated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tr := b.put(webhook(trigger.GitHub))
	b.denied.Store(true)
	d, err := b.triggers.Receive(t.Context(), tr.ID, trigger.Request{Header: github("1", push), Body: []byte(push)})
	require.NoError(t, err)
	require.Equal(t, []any{trigger.Failed, trigger.ReasonAccess}, []any{d.Outcome, d.Reason})
	recorded := func() (n int) {
		require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM audit_log WHERE action = 'trigger.fail' AND object_id = $1 AND actor_kind = 'system'", tr.ID.String()).Scan(&n))
		return n
	}
	require.Equal(t, 1, recorded())
	_, err = b.triggers.Receive(t.Context(), tr.ID, trigger.Request{Header: github("1b", push), Body: []byte(push)})
	require.NoError(t, err)
	require.Equal(t, 1, recorded(), "once until it launches again")
	b.denied.Store(false)
	d, err = b.triggers.Redeliver(b.ctx, tr.Name, d.ID)
	require.NoError(t, err)
	require.Equal(t, "commit 3f1c9ab", b.inputsOf(d)["ref"])

	wrong := `{"ref": "refs/heads/main", "after": "x", "score": "high", "files": []}`
	d, err = b.triggers.Receive(t.Context(), tr.ID, trigger.Request{Header: github("2", wrong), Body: []byte(wrong)})
	require.NoError(t, err)
	require.Equal(t, trigger.ReasonInputs, d.Reason)
	require.Contains(t, d.Message, "accuracy")
	require.Equal(t, 2, recorded())
}

// TestUnknownNamesAreRefused: also below the name of the event.
func TestUnknownNamesAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for filter, want := range map[string]string{
		"execution.output.score > 1":      `Unknown name "execution.output". Did you mean "execution.outputs"?`,
		"execution.whatever == 1":         `Unknown name "execution.whatever". execution has id, workflow, version, name, state, inputs, outputs, submitted_by, error, seconds.`,
		"execution.outputs.anything == 1": "",
	} {
		_, err := b.triggers.Put(b.ctx, "", trigger.Spec{Name: "after", Kind: trigger.OnExecution, Sources: []string{"digits.train"}, Filter: filter, Workflow: "retrain"})
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, []apperr.Field{{Path: "filter", Message: want}}, apperr.FieldsOf(err))
	}
}

func TestTry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tr := b.put(webhook(trigger.Bearer))
	trial, err := b.triggers.Try(b.ctx, tr.Name, map[string]any{"payload": map[string]any{"ref": "refs/heads/main", "after": "x", "files": []any{}}})
	require.NoError(t, err)
	require.Equal(t, trigger.Launched, trial.Outcome, trial.Message)
	require.Equal(t, map[string]any{"ref": "commit x", "accuracy": int64(0), "files": []any{}}, trial.Inputs)
	trial, err = b.triggers.Try(b.ctx, tr.Name, map[string]any{"payload": map[string]any{"ref": "refs/heads/other"}})
	require.NoError(t, err)
	require.Equal(t, trigger.ReasonFilter, trial.Reason)
	_, err = b.triggers.Try(b.ctx, tr.Name, map[string]any{"body": 1})
	require.Equal(t, "event.body", apperr.FieldsOf(err)[0].Path)
	require.Zero(t, b.executions(), "a test launches nothing")
}

func TestPayloadOfOldDeliveriesIsRemoved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tr := b.put(webhook(trigger.GitHub))
	for i := range trigger.KeptPayload + 2 {
		_, err := b.triggers.Receive(t.Context(), tr.ID, trigger.Request{Header: github(fmt.Sprint(i), push), Body: []byte(push)})
		require.NoError(t, err)
		_, err = b.triggers.Receive(t.Context(), tr.ID, trigger.Request{Body: []byte(push)})
		require.Error(t, err)
	}
	kept, rejected := 0, 0
	for _, d := range b.deliveries(tr.Name) {
		if d.Payload != nil {
			kept++
		}
		if d.Outcome == trigger.Rejected {
			rejected++
		}
	}
	require.Equal(t, []int{trigger.KeptPayload, trigger.KeptPayload}, []int{kept, rejected})
	require.Len(t, b.deliveries(tr.Name), 2*trigger.KeptPayload+2, "the other deliveries stay, without payload")
}

func TestTriggersAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := webhook(trigger.GitHub)
	good.Workflow = "retrain"
	for field, change := range map[string]func(*trigger.Spec){
		"name":          func(s *trigger.Spec) { s.Name = "a/b" },
		"kind":          func(s *trigger.Spec) { s.Kind = "moon" },
		"signature":     func(s *trigger.Spec) { s.Signature = "none" },
		"secret":        func(s *trigger.Spec) { s.Secret = "absent" },
		"filter":        func(s *trigger.Spec) { s.Filter = "execution.state == 'FAILED'" },
		"workflow":      func(s *trigger.Spec) { s.Workflow = "absent" },
		"version":       func(s *trigger.Spec) { s.Version = "9.9.9" },
		"inputs.nob":    func(s *trigger.Spec) { s.Inputs = map[string]any{"nob": "{{ payload.x }}"} },
		"inputs.ref":    func(s *trigger.Spec) { s.Inputs = map[string]any{"ref": "{{ payload. }}"} },
		"inputs.files":  func(s *trigger.Spec) { s.Inputs = map[string]any{"files": 3} },
		"priority":      func(s *trigger.Spec) { s.Priority = new(101) },
		"inputs.absent": func(s *trigger.Spec) { s.Inputs = map[string]any{"absent": 1} },
		"sources":       func(s *trigger.Spec) { *s = trigger.Spec{Name: "x", Kind: trigger.OnExecution, Workflow: "retrain"} },
		"states": func(s *trigger.Spec) {
			*s = trigger.Spec{Name: "x", Kind: trigger.OnExecution, Sources: []string{"a"}, States: []string{"RUNNING"}, Workflow: "retrain"}
		},
	} {
		sp := good
		change(&sp)
		_, err := b.triggers.Put(b.ctx, "", sp)
		require.Len(t, apperr.FieldsOf(err), 1, "%s: %v %v", field, err, apperr.FieldsOf(err))
		require.Equal(t, field, apperr.FieldsOf(err)[0].Path)
	}
	_, err := b.triggers.Put(b.ctx, "", good)
	require.NoError(t, err)
	_, err = b.triggers.Put(b.ctx, "", good)
	require.True(t, apperr.Is(err, apperr.Conflict))
	_, err = b.triggers.Receive(t.Context(), uuid.New(), trigger.Request{})
	require.True(t, apperr.Is(err, apperr.NotFound))
}

// TestChangesAreRecorded: the audit log has the old and the new value of each setting.
func TestChangesAreRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sp := webhook(trigger.Standard)
	b.put(sp)
	sp.Workflow, sp.Enabled, sp.Signature, sp.Priority, sp.Inputs = "retrain", true, trigger.Bearer, new(80), map[string]any{"ref": "fixed"}
	_, err := b.triggers.Put(b.ctx, sp.Name, sp)
	require.NoError(t, err)
	var changed []string
	require.NoError(t, b.pool.QueryRow(b.ctx, `SELECT array_agg(n.key ORDER BY n.key) FROM audit_log a, jsonb_each(a.new_value) n
		WHERE a.action = 'trigger.update' AND a.old_value -> n.key IS DISTINCT FROM n.value`).Scan(&changed))
	require.Equal(t, []string{"inputs", "priority", "signature"}, changed)
}
