package execution_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// poll sends the request of a sensor, as a runner does. Any other status than 200 means "not yet".
func (p *processLauncher) poll(a launcher.Attempt) {
	started := time.Now().UnixMilli()
	p.report(&flowforgev1.AttemptReport{TaskId: a.TaskId, Token: a.Token, Report: &flowforgev1.AttemptReport_Started{Started: &flowforgev1.Started{Timestamp: started, Host: "test"}}})
	finished := &flowforgev1.Finished{StartedAt: started, Outcome: flowforgev1.Outcome_OUTCOME_NOT_YET, Message: "No answer."}
	if resp, err := http.Get(a.GetHttp().GetUrl()); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		finished.Message = "The server answered " + resp.Status + "."
		switch resp.StatusCode {
		case http.StatusOK:
			finished.Outcome, finished.Message = flowforgev1.Outcome_OUTCOME_SUCCEEDED, ""
			finished.Outputs = []*flowforgev1.Output{{Name: "polls", Content: &flowforgev1.Output_Value{Value: fmt.Sprint(a.GetPoll())}}}
		case http.StatusForbidden:
			finished.Outcome = flowforgev1.Outcome_OUTCOME_FAILED
		}
	}
	finished.FinishedAt = time.Now().UnixMilli()
	p.report(&flowforgev1.AttemptReport{TaskId: a.TaskId, Token: a.Token, Report: &flowforgev1.AttemptReport_Finished{Finished: finished}})
	p.mu.Lock()
	delete(p.known, a.TaskId)
	p.mu.Unlock()
}

// site answers with the status of the n-th request; the last one repeats.
func site(t *testing.T, statuses ...int) (string, *atomic.Int32) {
	t.Helper()
	var requests atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := int(requests.Add(1))
		w.WriteHeader(statuses[min(n, len(statuses))-1])
	}))
	t.Cleanup(s.Close)
	return s.URL, &requests
}

func sensorDoc(name, settings, more string) string {
	return fmt.Sprintf(`
name: %s
version: 1.0.0
operators:
- name: wait
  type: sensor
  outputs: [{name: polls, type: Integer}]
  sensor: {%s}
%s
- name: after
  type: shell
  depends_on: [wait]
  code: {script: "true"}
`, name, settings, more)
}

// untilWaiting waits until the sensor has polled and waits, and checks that it holds nothing then.
func (b *testBundle) untilWaiting(id uuid.UUID, polls int) query.NodeDetail {
	b.t.Helper()
	var n query.NodeDetail
	b.until(id, "a poll", func(query.Execution) bool {
		n = b.node(id, "wait")
		return n.Polling != nil && n.Polling.Polls >= polls && n.Polling.Next != nil
	})
	return n
}

func TestSensorPollsWithoutResources(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, requests := site(t, 404, 404, 200)
	id := b.launch(sensorDoc("w1", fmt.Sprintf("http: {url: %q}, interval: 1s", url), ""), nil)
	n := b.untilWaiting(id, 1)
	require.Equal(t, dag.Retrying, n.State)
	require.Equal(t, execution.ReasonSensor, n.Reason.Code)
	require.Equal(t, "Not yet after 1 poll. The server answered 404 Not Found.", n.Reason.Message)
	var held int
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM reservations WHERE execution_id = $1 AND node_index >= 0", id).Scan(&held))
	require.Zero(t, held, "a waiting sensor holds capacity")
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	n = b.node(id, "wait")
	require.Equal(t, 3, n.Polling.Polls)
	require.Empty(t, n.Polling.Last)
	require.Equal(t, "3", fmt.Sprint(n.Outputs["polls"]))
	require.EqualValues(t, 3, requests.Load())
	require.Equal(t, []string{"NOT_YET", "NOT_YET", "SUCCEEDED"}, []string{n.Attempts[0].Outcome, n.Attempts[1].Outcome, n.Attempts[2].Outcome})
	require.Zero(t, n.Retries)
}

func TestSensorTimeout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, _ := site(t, 404)
	id := b.launch(sensorDoc("w2", fmt.Sprintf("http: {url: %q}, interval: 1h, timeout: 1s", url), ""), nil)
	e := b.finish(id)
	require.Equal(t, query.Failed, e.Status)
	require.Equal(t, "The condition was not met within 1s (1 poll). The server answered 404 Not Found.", b.node(id, "wait").Error.Message)

	id = b.launch(sensorDoc("w3", fmt.Sprintf("http: {url: %q}, interval: 1h, timeout: 1s, on_timeout: skip", url), ""), nil)
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	n := b.node(id, "wait")
	require.Equal(t, dag.Skipped, n.State)
	require.Equal(t, execution.ReasonSensorTimeout, n.Reason.Code)
	require.Equal(t, dag.Skipped, b.node(id, "after").State)
}

// TestSensorFails: a poll that fails follows the retry policy, and a poll with an answer resets it.
func TestSensorFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, _ := site(t, 403, 404, 403, 200)
	id := b.launch(sensorDoc("w4", fmt.Sprintf("http: {url: %q}, interval: 1s", url), "  retry: {limit: 1, initial_delay: 1ms}"), nil)
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	require.Equal(t, 2, b.node(id, "wait").Polling.Polls)
	url, _ = site(t, 403)
	id = b.launch(sensorDoc("w5", fmt.Sprintf("http: {url: %q}, interval: 1s", url), ""), nil)
	require.Equal(t, query.Failed, b.finish(id).Status)
	require.Contains(t, b.node(id, "wait").Error.Message, "The server answered 403 Forbidden.")
}

func TestSensorIsCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, requests := site(t, 404)
	id := b.launch(sensorDoc("w6", fmt.Sprintf("http: {url: %q}, interval: 1h", url), ""), nil)
	b.untilWaiting(id, 1)
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, ""))
	require.Equal(t, query.Cancelled, b.finish(id).Status)
	require.EqualValues(t, 1, requests.Load())

	id = b.launch(sensorDoc("w7", `until: "2999-01-01"`, ""), nil)
	b.until(id, "the wait", func(query.Execution) bool { return b.node(id, "wait").State == dag.Running })
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, ""))
	require.Equal(t, query.Cancelled, b.finish(id).Status)
}

func TestSensorWaitsForATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	doc := `
name: times
version: 1.0.0
inputs: [{name: at, type: DateTime}]
operators:
- name: wait
  type: sensor
  inputs: [{name: at, from: inputs.at}]
  outputs: [{name: time, type: DateTime}]
  sensor: {until: "{{at}}", timeout: 30d}
outputs: [{name: time, type: DateTime, from: wait.time}]
`
	at := time.Now().UTC().Add(1500 * time.Millisecond).Truncate(time.Millisecond)
	id := b.launch(doc, map[string]any{"at": at.Format(time.RFC3339Nano)})
	n := b.untilWaiting(id, 0)
	require.Equal(t, dag.Running, n.State)
	require.Equal(t, "Waiting until "+at.Format("2006-01-02 15:04:05 UTC")+".", n.Reason.Message)
	require.Empty(t, n.Attempts)
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status)
	require.False(t, e.FinishedAt.Before(at), "%s is before %s", e.FinishedAt, at)
}

func TestSensorWaitsForAnExecution(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("name: first\nversion: 1.0.0\noperators: [{name: a, type: shell, outputs: [{name: n, type: Integer}], code: {script: echo 7}}]\noutputs: [{name: n, type: Integer, from: a.n}]")
	id := b.launch(`
name: second
version: 1.0.0
operators:
- name: wait
  type: sensor
  outputs: [{name: execution, type: String}, {name: state, type: String}, {name: outputs, type: JSON}, {name: polls, type: Integer}]
  sensor: {execution: {workflow: first}, interval: 1s}
outputs: [{name: outputs, type: JSON, from: wait.outputs}]
`, nil)
	n := b.untilWaiting(id, 1)
	require.Contains(t, n.Reason.Message, "No execution of first since ")
	why, err := b.engine.Waits.Why(b.ctx, id, "")
	require.NoError(t, err)
	require.Equal(t, "wait", why.Node)
	require.Equal(t, n.Reason.Message, why.Reason.Message)
	first, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "first", Priority: query.Normal})
	require.NoError(t, err)
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	n = b.node(id, "wait")
	require.Equal(t, first.ID.String(), n.Outputs["execution"])
	require.Equal(t, "SUCCEEDED", n.Outputs["state"])
	require.Equal(t, "map[n:7]", fmt.Sprint(n.Outputs["outputs"]))

	// An execution that has ended otherwise will never meet the condition.
	id = b.launch(fmt.Sprintf("name: third\nversion: 1.0.0\noperators: [{name: wait, type: sensor, sensor: {execution: {id: %q, state: FAILED}}}]", first.ID), nil)
	require.Equal(t, query.Failed, b.finish(id).Status)
	require.Contains(t, b.node(id, "wait").Error.Message, "ended in the state SUCCEEDED, not FAILED")
}

// TestSensorContinuesElsewhere: another server continues a wait with its number of polls.
func TestSensorContinuesElsewhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, requests := site(t, 404, 404, 200)
	id := b.launch(sensorDoc("w8", fmt.Sprintf("http: {url: %q}, interval: 3s", url), ""), nil)
	before := b.untilWaiting(id, 1)
	require.Eventually(t, func() bool { return !b.leased(id) }, 20*time.Second, 5*time.Millisecond)
	_, err := b.pool.Exec(b.ctx, "UPDATE executions SET owner_epoch = owner_epoch + 1 WHERE id = $1", id)
	require.NoError(t, err)
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	n := b.node(id, "wait")
	require.Equal(t, 3, n.Polling.Polls)
	require.Equal(t, before.Polling.Since, n.Polling.Since)
	require.EqualValues(t, 3, requests.Load())
}
