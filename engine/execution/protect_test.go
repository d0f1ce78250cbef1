package execution_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/platform/testlog"
)

// reasonOf waits until a node has a reason with the code.
func (b *testBundle) reasonOf(id uuid.UUID, node, code string) query.NodeDetail {
	b.t.Helper()
	var n query.NodeDetail
	require.Eventually(b.t, func() bool {
		n = b.node(id, node)
		return n.Reason != nil && n.Reason.Code == code
	}, 10*time.Second, 20*time.Millisecond, "no reason %s", code)
	return n
}

func TestRetryPoliciesDecide(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(`
name: policies
version: 1.0.0
operators:
  - {name: own, type: shell, code: {script: "exit 3"}, retry: {limit: 2, initial_delay: 10ms, policy: OnTransient, fail_fast: false}}
  - {name: unknown, type: shell, code: {script: "exit 255"}, retry: {limit: 1, initial_delay: 10ms, policy: OnTransient, fail_fast: false}}
  - {name: terminated, type: shell, code: {script: "exit 143"}, retry: {limit: 1, initial_delay: 10ms, policy: OnTransient, fail_fast: false}}
  - {name: never, type: shell, code: {script: "exit 137"}, retry: {limit: 2, initial_delay: 10ms, policy: Never, fail_fast: false}}
  - {name: outputs, type: shell, code: {script: "true"}, outputs: [{name: v, type: Integer}], retry: {limit: 2, initial_delay: 10ms, policy: OnError, fail_fast: false}}
  - {name: chosen, type: shell, code: {script: "exit 5"}, retry: {limit: 5, initial_delay: 10ms, expression: 'lastRetry.exitCode == "5" && retries < 2', fail_fast: false}}
  - {name: broken, type: shell, code: {script: "exit 5"}, retry: {limit: 5, initial_delay: 10ms, expression: 'asInt(message) > 1', fail_fast: false}}
`, nil)
	e := b.finish(id)
	require.Equal(t, query.Failed, e.Status)
	for _, c := range []struct {
		node     string
		attempts int
		class    protect.Class
		says     string
	}{
		{"own", 1, protect.UserError, "OnTransient does not retry failures of class user error"},
		{"unknown", 2, protect.UserError, ""},
		{"terminated", 2, protect.Preempted, ""},
		{"never", 1, protect.OutOfMemory, "Never does not retry failures"},
		{"outputs", 1, protect.UserError, "OnError retries only"},
		{"chosen", 3, protect.UserError, "Its retry expression is false."},
		{"broken", 1, protect.UserError, "could not be evaluated"},
	} {
		n := b.node(id, c.node)
		require.Equal(t, dag.Failed, n.State, c.node)
		require.Equal(t, c.attempts, n.Attempt, c.node)
		require.Equal(t, c.class, n.Error.Class, c.node)
		require.Contains(t, n.Error.Message, c.says, c.node)
		require.Equal(t, c.class, n.Attempts[0].ErrorClass, c.node)
	}
}

func TestFinalMessageListsEveryAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tries := t.TempDir() + "/tries"
	id := b.launch(fmt.Sprintf(`
name: tries
version: 1.0.0
operators:
  - name: tries
    type: shell
    code: {script: 'echo x >> %s; n=$(wc -l < %s); test $n -ge 3 && exit 4; exit 1'}
    retry: {limit: 3, initial_delay: 10ms, jitter: 0}
`, tries, tries), nil)
	b.finish(id)
	n := b.node(id, "tries")
	require.Equal(t, 4, n.Attempt)
	message := n.Error.Message
	for _, part := range []string{"Attempts 3 and 4: The task exited with code 4.", "Attempts 1 and 2: The task exited with code 1."} {
		require.Contains(t, message, part)
	}
	require.Len(t, n.Error.Earlier, 2)

	page, err := b.engine.DeadLetters.List(b.ctx, execution.DeadLetterFilter{})
	require.NoError(t, err)
	require.Len(t, page.DeadLetters, 1)
	require.Equal(t, 1, page.Open)
	letter := page.DeadLetters[0]
	defer func() { // its execution has ended, so another one resumes it from there
		in, err := b.engine.DeadLetters.Requeue(b.ctx, letter.ID, "once more")
		require.NoError(t, err)
		require.NotEqual(t, id, in)
		require.Equal(t, dag.Failed, func() dag.State { b.finish(in); return b.node(in, "tries").State }())
		_, err = b.engine.DeadLetters.Get(b.ctx, letter.ID)
		require.True(t, apperr.Is(err, apperr.NotFound))
	}()
	require.Equal(t, "tries", letter.Node)
	require.Equal(t, 4, letter.Attempt)
	require.Equal(t, message, letter.Failure.Message)
	require.Equal(t, query.Failed, letter.Status)
}

const moody = `
name: moody
version: %s
operators:
  - name: call
    type: shell
    code: {script: 'ran=%s/ran; test -e %s/works; code=$?; echo x >> $ran; exit $code'}
    retry: {limit: 0}
    breaker: {failures: 2, window: 1m, open_for: %s}
`

// TestBreaker moves a breaker from closed to open, half-open, open again and closed.
func TestBreaker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	doc := fmt.Sprintf(moody, "1.0.0", dir, dir, "1500ms")
	for range 2 {
		require.Equal(t, query.Failed, b.finish(b.launch(doc, nil)).Status)
	}
	breakers, err := b.engine.Protection.Breakers(b.ctx)
	require.NoError(t, err)
	require.Len(t, breakers, 1)
	require.Equal(t, protect.Open, breakers[0].State)
	require.Equal(t, "call", breakers[0].Operator)
	require.NotEmpty(t, breakers[0].LastError)

	waiting := []uuid.UUID{b.launch(doc, nil), b.launch(doc, nil), b.launch(doc, nil)}
	for _, id := range waiting {
		n := b.reasonOf(id, "call", execution.ReasonBreaker)
		require.Equal(t, dag.Ready, n.State)
		require.Zero(t, n.Attempt)
	}
	require.Len(t, readLines(t, dir+"/ran"), 2, "nothing starts while it is open")
	breakers, err = b.engine.Protection.Breakers(b.ctx)
	require.NoError(t, err)
	require.Equal(t, 3, breakers[0].Waiting)

	// The first trial fails, so one of the three has ended and the breaker is open again.
	require.Eventually(t, func() bool { return len(readLines(t, dir+"/ran")) == 3 }, 15*time.Second, 10*time.Millisecond)
	require.NoError(t, os.WriteFile(dir+"/works", nil, 0o600))
	ended := 0
	for _, id := range waiting {
		if e := b.finish(id); e.Status == query.Succeeded {
			ended++
		}
	}
	require.Equal(t, 2, ended, "two succeeded once it worked again")
	breakers, err = b.engine.Protection.Breakers(b.ctx)
	require.NoError(t, err)
	require.Equal(t, protect.Closed, breakers[0].State)
	require.Empty(t, breakers[0].Failures)
}

func TestBreakerIsReset(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	doc := fmt.Sprintf(moody, "1.0.0", dir, dir, "1h")
	for range 2 {
		b.finish(b.launch(doc, nil))
	}
	id := b.launch(doc, nil)
	b.reasonOf(id, "call", execution.ReasonBreaker)
	// Other code has its own breaker, which is closed.
	other := b.launch(`
name: moody
version: 1.1.0
operators:
  - {name: call, type: shell, code: {script: "true"}, breaker: {failures: 2, window: 1m, open_for: 1h}}
`, nil)
	require.Equal(t, query.Succeeded, b.finish(other).Status)

	breakers, err := b.engine.Protection.Breakers(b.ctx)
	require.NoError(t, err)
	require.Len(t, breakers, 1)
	require.NoError(t, os.WriteFile(dir+"/works", nil, 0o600))
	stranger := auth.WithSubject(t.Context(), auth.Subject{ID: uuid.New(), Name: "stranger", Role: auth.RoleUser, Policy: auth.PolicyFunc(func(auth.Action, uuid.UUID) bool { return false })})
	_, err = b.engine.Protection.ResetBreaker(stranger, breakers[0].ID, "")
	require.True(t, apperr.Is(err, apperr.NotFound))
	reset, err := b.engine.Protection.ResetBreaker(b.ctx, breakers[0].ID, "mended")
	require.NoError(t, err)
	require.Equal(t, protect.Closed, reset.State)
	require.Equal(t, query.Succeeded, b.finish(id).Status, "immediately, and not after an hour")
	var action, reason string
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT action, reason FROM audit_log WHERE object_id = $1", breakers[0].ID.String()).Scan(&action, &reason))
	require.Equal(t, "breaker.reset mended", action+" "+reason)
}

// TestBreakerReleasesLocks: a withheld node releases its mutex for others.
func TestBreakerReleasesLocks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	doc := fmt.Sprintf(moody, "1.0.0", dir, dir, "1h") + "    locks: [press]\n"
	for range 2 {
		b.finish(b.launch(doc, nil))
	}
	waiting := b.launch(doc, nil)
	b.reasonOf(waiting, "call", execution.ReasonBreaker)
	other := b.launch("name: press\nversion: 1.0.0\noperators: [{name: call, type: shell, locks: [press], code: {script: 'true'}}]\n", nil)
	require.Equal(t, query.Succeeded, b.finish(other).Status)

	breakers, err := b.engine.Protection.Breakers(b.ctx)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(dir+"/works", nil, 0o600))
	_, err = b.engine.Protection.ResetBreaker(b.ctx, breakers[0].ID, "mended")
	require.NoError(t, err)
	require.Equal(t, query.Succeeded, b.finish(waiting).Status)
	var waited int
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM events WHERE execution_id = $1 AND kind = 'node.waiting'", waiting).Scan(&waited))
	require.Equal(t, 1, waited, "there is one event, regardless of the number of checks")
}

// TestTrialThatVanishes: after a trial is cancelled, another one runs.
func TestTrialThatVanishes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	doc := fmt.Sprintf(`
name: slow-trial
version: 1.0.0
inputs: [{name: seconds, type: Integer, default: 0}]
operators:
  - name: call
    type: shell
    inputs: [{name: seconds, type: Integer, from: inputs.seconds}]
    code: {script: 'echo x >> %s/ran; test -e %s/works || exit 1; s=$(echo "$INPUTS" | sed "s/.*\"seconds\":\([0-9]*\).*/\1/"); sleep $s'}
    breaker: {failures: 1, window: 1m, open_for: 1s}
`, dir, dir)
	b.finish(b.launch(doc, nil))
	require.NoError(t, os.WriteFile(dir+"/works", nil, 0o600))
	first := b.launch(doc, map[string]any{"seconds": json.Number("60")})
	b.until(first, "the trial runs", func(e query.Execution) bool { return e.Counts.Running == 1 })
	second := b.launch(doc, nil)
	b.reasonOf(second, "call", execution.ReasonBreaker)
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, first, ""))
	require.Equal(t, query.Cancelled, b.finish(first).Status)
	require.Equal(t, query.Succeeded, b.finish(second).Status)
	breakers, err := b.engine.Protection.Breakers(b.ctx)
	require.NoError(t, err)
	require.Equal(t, protect.Closed, breakers[0].State)
}

// TestBreakerUnderLoad: many executions share two breakers that open and close repeatedly,
// and a budget. All of them end, and there is no deadlock.
func TestBreakerUnderLoad(t *testing.T) {
	t.Parallel()
	var log testlog.Buffer
	b := setup(t, func(c *execution.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	dir := t.TempDir()
	doc := fmt.Sprintf(`
name: load
version: 1.0.0
retry_budget: {retries: 200, window: 1s}
operators:
  - name: one
    type: shell
    foreach: {range: {from: 1, to: 4}}
    code: {script: 'n=$(ls %[1]s | wc -l); mktemp %[1]s/one.XXXXXX > /dev/null; test $((n %% 7)) -gt 2'}
    resources: {cpu: 400m}
    retry: {limit: 50, initial_delay: 10ms, max_delay: 50ms}
    breaker: {failures: 2, window: 1m, open_for: 1s}
  - name: two
    type: shell
    code: {script: 'n=$(ls %[1]s | wc -l); mktemp %[1]s/two.XXXXXX > /dev/null; test $((n %% 5)) -gt 1'}
    resources: {cpu: 400m}
    retry: {limit: 50, initial_delay: 10ms, max_delay: 50ms}
    breaker: {failures: 2, window: 1m, open_for: 1s}
`, dir)
	ids := make([]uuid.UUID, 5)
	for k := range ids {
		ids[k] = b.launch(doc, nil)
	}
	for _, id := range ids {
		b.until(id, "it ends", func(e query.Execution) bool { return e.Status.Ended() })
		e, err := b.engine.Get(b.ctx, id)
		require.NoError(t, err)
		require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	}
	var opened, closed, trials int
	require.NoError(t, b.pool.QueryRow(b.ctx, `SELECT count(*) FILTER (WHERE kind = 'breaker.opened'), count(*) FILTER (WHERE kind = 'breaker.closed'),
		count(*) FILTER (WHERE kind = 'breaker.trial') FROM events`).Scan(&opened, &closed, &trials))
	require.Positive(t, opened)
	require.Positive(t, closed)
	require.GreaterOrEqual(t, trials, opened-2)
	require.NotContains(t, log.String(), "deadlock")
	for _, id := range ids {
		b.checkLeftovers(id)
	}
}
