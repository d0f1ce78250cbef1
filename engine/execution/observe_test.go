package execution_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const onePod = `
name: pod
version: 1.0.0
operators:
  - name: train
    type: command
    code: {image: "torch:2", command: [train]}
    resources: {cpu: 1, memory: 16Gi, shm: 2Gi}
    retry: {limit: 2, initial_delay: 10ms, memory: {factor: 2, limit: 24Gi}}
    pod: {nodeSelector: {zone: a}}
`

func TestPodWaitsAndRuns(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	id := b.launch(onePod, nil)
	task := query.TaskID(id, 0, 1)
	a := b.cluster.pod(t, task)
	require.Equal(t, "torch:2", a.GetImage())
	require.JSONEq(t, `{"nodeSelector":{"zone":"a"},"shmSize":"2048Mi"}`, a.GetPodJson())
	require.Equal(t, int64(16384), a.GetResources().GetMemoryMib())
	for range 3 { // repeated observations change nothing
		b.observe(launcher.Observation{
			TaskID:   task,
			Location: &launcher.Location{Namespace: "ff-demo", Pod: a.GetName()},
			Waiting:  &launcher.Waiting{Code: launcher.WaitUnschedulable, Message: "0/4 nodes are available."},
			Events:   []launcher.Event{{ID: "e1", At: time.Now(), Warning: true, Reason: "FailedScheduling", Message: "0/4", Count: 3}},
		})
	}
	n := b.node(id, "train")
	require.Equal(t, dag.Queued, n.State)
	require.Equal(t, launcher.WaitUnschedulable, n.Reason.Code)
	require.Equal(t, "0/4 nodes are available.", n.Reason.Message)
	b.observe(launcher.Observation{TaskID: task, Location: &launcher.Location{Namespace: "ff-demo", Pod: a.GetName(), Machine: "node-1"}})
	b.begins(a)
	n = b.nodeIs(id, "train", "the begin", func(n query.NodeDetail) bool { return n.State == dag.Running })
	require.Nil(t, n.Reason, "it is no longer waiting")
	b.observe(launcher.Observation{TaskID: task, Waiting: &launcher.Waiting{Code: launcher.WaitStarting, Message: "late"}})
	require.Nil(t, b.node(id, "train").Reason, "a late reason is ignored")
	b.ends(a, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	n = b.node(id, "train")
	require.Equal(t, "node-1", n.Attempts[0].Machine)
	require.Equal(t, a.GetName(), n.Attempts[0].Pod)
	require.Equal(t, 16384, n.Attempts[0].MemoryMiB)
	waited := 0
	for _, kind := range b.kinds(id) {
		if kind == "node.pod_waiting" {
			waited++
		}
	}
	require.Equal(t, 1, waited, "one event for each cause")
	events, err := b.engine.Nodes.PodEvents(b.ctx, id, "train", 0)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, 3, events[0].Count)
}

// TestReportWins: an observed end waits for the report in transit.
func TestReportWins(t *testing.T) {
	t.Parallel()
	b := setupPods(t, func(c *execution.Config) { c.Timing.ReportGrace = time.Hour })
	id := b.launch(onePod, nil)
	task := query.TaskID(id, 0, 1)
	a := b.cluster.pod(t, task)
	b.begins(a)
	b.observe(launcher.Observation{TaskID: task, End: &launcher.End{Class: launcher.ClassDeleted, Message: "Deleted.", FinishedAt: time.Now()}})
	b.ends(a, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	require.Empty(t, b.node(id, "train").Attempts[0].Class)
}

// TestSeenEnds: the ends of attempts whose runner reports nothing.
func TestSeenEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		class   launcher.Class
		begun   bool
		outcome string
		again   bool // without spending a retry
	}{
		{launcher.ClassMachineLost, true, "LOST", true},
		{launcher.ClassEvicted, true, "LOST", true},
		{launcher.ClassDeleted, false, "INTERRUPTED", true},
		{launcher.ClassDeadline, true, "TIMED_OUT", false},
		{launcher.ClassImage, false, "START_FAILED", false},
		{launcher.ClassInit, false, "START_FAILED", false},
		{launcher.ClassError, true, "FAILED", false},
	} {
		t.Run(string(test.class), func(t *testing.T) {
			t.Parallel()
			b := setupPods(t)
			id := b.launch(onePod, nil)
			task := query.TaskID(id, 0, 1)
			a := b.cluster.pod(t, task)
			if test.begun {
				b.begins(a)
			}
			for range 2 {
				b.observe(launcher.Observation{TaskID: task, End: &launcher.End{Class: test.class, Message: "Seen.", FinishedAt: time.Now()}})
			}
			b.cluster.pod(t, query.TaskID(id, 0, 2))
			n := b.node(id, "train")
			require.Equal(t, test.outcome, n.Attempts[0].Outcome)
			require.Equal(t, string(test.class), n.Attempts[0].Class)
			require.Equal(t, "Seen.", n.Attempts[0].Message)
			require.Equal(t, map[bool]int{true: 0, false: 1}[test.again], n.Retries)
		})
	}
}

// TestClassAfterReport: a report without a class gets the observed one.
func TestClassAfterReport(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	id := b.launch(onePod, nil)
	task := query.TaskID(id, 0, 1)
	a := b.cluster.pod(t, task)
	b.begins(a)
	b.ends(a, flowforgev1.Outcome_OUTCOME_INTERRUPTED, "")
	b.cluster.pod(t, query.TaskID(id, 0, 2))
	b.observe(launcher.Observation{TaskID: task, End: &launcher.End{Class: launcher.ClassEvicted, Message: "Evicted.", FinishedAt: time.Now()}})
	require.Eventually(t, func() bool { return b.node(id, "train").Attempts[0].Class == string(launcher.ClassEvicted) }, 10*time.Second, 20*time.Millisecond)
	require.Equal(t, 2, b.node(id, "train").Attempt, "the second attempt continues")
}

// TestMemoryGrows: 16 GiB did not suffice, so the retry requests 24 GiB, the limit.
func TestMemoryGrows(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	id := b.launch(onePod, nil)
	for number, want := range []int64{16384, 24576, 24576} {
		a := b.cluster.pod(t, query.TaskID(id, 0, number+1))
		require.Equal(t, want, a.GetResources().GetMemoryMib(), "attempt %d", number+1)
		require.Equal(t, want, a.GetMemoryLimitMib())
		b.begins(a)
		b.ends(a, flowforgev1.Outcome_OUTCOME_FAILED, "out_of_memory")
	}
	e := b.finish(id)
	require.Equal(t, query.Failed, e.Status)
	require.Equal(t, "out_of_memory", e.Error.Code)
	n := b.node(id, "train")
	require.Equal(t, []int{16384, 24576, 24576}, []int{n.Attempts[0].MemoryMiB, n.Attempts[1].MemoryMiB, n.Attempts[2].MemoryMiB})
	events, err := b.engine.Events.After(b.ctx, id, 0, 0)
	require.NoError(t, err)
	var messages []string
	for _, e := range events {
		if e.Kind == "node.retrying" {
			messages = append(messages, e.Message)
		}
	}
	require.Len(t, messages, 2)
	require.Contains(t, messages[0], "Retrying (attempt 2 of 3, with 24 GiB of memory, because 16 GiB were not enough): ")
}

func TestClusterRefuses(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	b.cluster.refuse = func(a launcher.Attempt) error {
		if a.GetNode() == "bad" {
			return errors.New(`admission webhook "policy" denied the request: no`)
		}
		return nil
	}
	id := b.launch(`
name: refused
version: 1.0.0
operators:
  - {name: bad, type: shell, code: {script: "true"}, retry: {fail_fast: false}}
  - {name: good, type: shell, code: {script: "true"}}
`, nil)
	a := b.cluster.pod(t, query.TaskID(id, 1, 1))
	b.ends(a, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	e := b.finish(id)
	require.Equal(t, query.Failed, e.Status)
	require.Equal(t, "refused", e.Error.Code)
	require.Contains(t, e.Error.Message, "denied the request: no")
	require.Equal(t, dag.Succeeded, b.node(id, "good").State)
}

// TestUnreachableCluster: nothing fails while the cluster does not respond, and it is not polled in
// a tight loop.
func TestUnreachableCluster(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	b.cluster.setUnreachable(true)
	id := b.launch(onePod, nil)
	n := b.nodeIs(id, "train", "the reason", func(n query.NodeDetail) bool { return n.Reason != nil && n.Reason.Code == launcher.WaitCluster })
	require.Equal(t, dag.Queued, n.State)
	<-b.cluster.unreachableCall
	<-b.cluster.unreachableCall
	b.cluster.setUnreachable(false)
	a := b.cluster.pod(t, query.TaskID(id, 0, 1))
	b.nodeIs(id, "train", "the reason to go", func(n query.NodeDetail) bool { return n.Reason == nil })
	b.ends(a, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	require.Len(t, b.node(id, "train").Attempts, 1)
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	require.Less(t, b.cluster.calls, 20)
}

// TestCancelWhileClusterIsUnreachable: attempts that the cluster never received end immediately.
func TestCancelWhileClusterIsUnreachable(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	b.cluster.setUnreachable(true)
	id := b.launch(onePod, nil)
	b.nodeIs(id, "train", "the reason", func(n query.NodeDetail) bool { return n.Reason != nil })
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, "enough"))
	require.Equal(t, query.Cancelled, b.finish(id).Status)
}

// TestRestingPodsAreNotStartedAgain: a loop that resumes does not restart the pods that it
// created before it became idle.
func TestRestingPodsAreNotStartedAgain(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	id := b.launch(`
name: two
version: 1.0.0
operators:
  - {name: one, type: shell, code: {script: "true"}}
  - {name: two, type: shell, code: {script: "true"}}
`, nil)
	first, second := b.cluster.pod(t, query.TaskID(id, 0, 1)), b.cluster.pod(t, query.TaskID(id, 1, 1))
	require.Eventually(t, func() bool {
		var resting bool
		err := b.pool.QueryRow(b.ctx, "SELECT lease_until IS NULL FROM executions WHERE id = $1", id).Scan(&resting)
		return err == nil && resting
	}, 10*time.Second, 20*time.Millisecond)
	b.observe(launcher.Observation{TaskID: second.GetTaskId(), Waiting: &launcher.Waiting{Code: launcher.WaitImage, Message: "pulling"}})
	require.Equal(t, launcher.WaitImage, b.node(id, "two").Reason.Code, "also of an idle loop")
	b.ends(first, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	b.nodeIs(id, "one", "the first end", func(n query.NodeDetail) bool { return n.State.Ended() })
	b.ends(second, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	require.Equal(t, map[string]int{first.GetTaskId(): 1, second.GetTaskId(): 1}, b.cluster.starts)
}

// TestMissingPod: the list reveals a pod that disappeared without an event.
func TestMissingPod(t *testing.T) {
	t.Parallel()
	b := setupPods(t, func(c *execution.Config) { c.Timing.Missing = 100 * time.Millisecond })
	id := b.launch(onePod, nil)
	task := query.TaskID(id, 0, 1)
	b.begins(b.cluster.pod(t, task))
	b.cluster.mu.Lock()
	delete(b.cluster.pods, task)
	b.cluster.mu.Unlock()
	b.cluster.pod(t, query.TaskID(id, 0, 2))
	n := b.node(id, "train")
	require.Equal(t, "LOST", n.Attempts[0].Outcome)
	require.Equal(t, string(launcher.ClassDeleted), n.Attempts[0].Class)
}

// TestNotAdmittedYet: an attempt that the cluster does not admit yet has a reason, blocks no
// other attempt, and starts when it is admitted.
func TestNotAdmittedYet(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	var open atomic.Bool
	b.cluster.admits = func(a launcher.Attempt) bool { return a.GetNode() != "large" || open.Load() }
	id := b.launch(`
name: admitted
version: 1.0.0
operators:
  - {name: large, type: shell, code: {script: "true"}}
  - {name: small, type: shell, code: {script: "true"}}
  - {name: next, type: shell, depends_on: [small], code: {script: "true"}}
`, nil)
	large, small, next := query.TaskID(id, 0, 1), query.TaskID(id, 1, 1), query.TaskID(id, 2, 1)
	b.ends(b.cluster.pod(t, small), flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	b.ends(b.cluster.pod(t, next), flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	n := b.nodeIs(id, "large", "the reason", func(n query.NodeDetail) bool { return n.Reason != nil })
	require.Equal(t, "exceeded quota: flowforge", n.Reason.Message)
	require.Equal(t, dag.Queued, n.State)
	open.Store(true)
	b.ends(b.cluster.pod(t, large), flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	require.Len(t, b.node(id, "large").Attempts, 1)
}
