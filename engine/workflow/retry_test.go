package workflow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/typeregistry"
)

const protectedDoc = `
name: protected
version: 1.0.0
retry_budget: {retries: 20, window: 1h}
operators:
  - name: call
    type: shell
    code: {script: "true"}
    retry: {limit: 3, policy: on_transient, expression: 'asInt(lastRetry.exitCode) > 1 && retries < 2 && class != "image"'}
    breaker: {failures: 3, window: 5m, open_for: 30s}
  - {name: usual, type: shell, code: {script: "true"}, breaker: true}
  - {name: plain, type: shell, code: {script: "true"}, retry_strategy: {limit: 1, retry_policy: Never, jitter_percent: 0.2}, breaker: false}
`

func TestProtectionIsReadAndWritten(t *testing.T) {
	t.Parallel()
	d, problems := Parse([]byte(protectedDoc), typeregistry.Builtin())
	require.Empty(t, problems)
	require.Equal(t, protect.WindowRule{Retries: 20, Window: time.Hour}, d.RetryBudget)
	call, usual, plain := d.Operators[0], d.Operators[1], d.Operators[2]
	require.Equal(t, protect.OnTransient, call.Retry.Policy)
	require.NotNil(t, call.Retry.Condition)
	require.Equal(t, protect.BreakerRule{Failures: 3, Window: 5 * time.Minute, OpenFor: 30 * time.Second}, call.Breaker)
	require.Equal(t, defaultBreaker(), usual.Breaker)
	require.Equal(t, protect.Always, usual.Retry.Policy)
	require.Equal(t, protect.Never, plain.Retry.Policy)
	require.InDelta(t, 0.2, plain.Retry.Jitter, 0)
	require.False(t, plain.Breaker.On())

	text, hash, err := d.Canonical()
	require.NoError(t, err)
	again, problems := Parse(text, typeregistry.Builtin())
	require.Empty(t, problems)
	_, same, err := again.Canonical()
	require.NoError(t, err)
	require.Equal(t, hash, same)
	require.Equal(t, call.Retry.Condition.String(), again.Operators[0].Retry.Condition.String())
	require.Equal(t, d.RetryBudget, again.RetryBudget)
	require.Equal(t, call.Breaker, again.Operators[0].Breaker)
}

func TestProtectionIsChecked(t *testing.T) {
	t.Parallel()
	_, problems := Parse([]byte(`
name: wrong
version: 1.0.0
retry_budget: {window: 1h}
operators:
  - {name: a, type: shell, code: {script: "true"}, retry: {policy: Sometimes, expression: "inputs.x > 1"}}
  - {name: b, type: shell, code: {script: "true"}, retry: {expression: "lastRetry.code == 1"}, breaker: {failures: 0, window: 10ms}}
  - {name: c, type: noop, breaker: true}
  - {name: d, type: shell, code: {script: "true"}, retry: {expression: "1 +"}, breaker: {failure: 3}}
`), typeregistry.Builtin())
	paths := map[string]string{}
	for _, p := range problems {
		paths[p.Path] = p.Message
	}
	for path, part := range map[string]string{
		"retry_budget.retries":          "number of retries",
		"operators[0].retry.policy":     "Always, OnError, OnTransient, Never",
		"operators[0].retry.expression": `"inputs.x" is not available here`,
		"operators[1].retry.expression": `not "code"`,
		"operators[1].breaker.failures": "from 1 to 100",
		"operators[1].breaker.window":   "1s or longer",
		"operators[2].breaker":          "starts no attempts",
		"operators[3].breaker.failure":  "",
	} {
		require.Contains(t, paths, path)
		require.Contains(t, paths[path], part)
		delete(paths, path)
	}
	require.Contains(t, paths, "operators[3].retry.expression")
	require.Len(t, paths, 1, "%v", paths)
}

func TestFingerprintIsOfWhatRuns(t *testing.T) {
	t.Parallel()
	of := func(doc string) [32]byte {
		d, problems := Parse([]byte("name: f\nversion: 1.0.0\noperators: ["+doc+"]"), typeregistry.Builtin())
		require.Empty(t, problems)
		return d.Operators[0].Fingerprint()
	}
	base := of(`{name: a, type: shell, code: {script: "true"}}`)
	require.Equal(t, base, of(`{name: b, type: shell, code: {script: "true"}, retry: {limit: 4}, resources: {cpu: 2}, breaker: true, timeout: 5m}`))
	require.NotEqual(t, base, of(`{name: a, type: shell, code: {script: "false"}}`))
	require.NotEqual(t, base, of(`{name: a, type: shell, code: {script: "true", image: "busybox:1"}}`))
	require.NotEqual(t, base, of(`{name: a, type: shell, code: {script: "true"}, environment: {A: "1"}}`))
}
