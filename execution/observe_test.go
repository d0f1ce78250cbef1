package execution_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/auth"
	"github.com/flowforge/flowforge/dag"
	"github.com/flowforge/flowforge/execution"
	"github.com/flowforge/flowforge/launcher"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/quota"
)

// podLauncher is a cluster in which nothing happens but what a test says.
type podLauncher struct {
	mu       sync.Mutex
	pods     map[string]launcher.Attempt
	starts   map[string]int
	stopped  map[string]bool
	refuse   func(launcher.Attempt) error
	changes  chan struct{}
	calls    int
	away     bool
	awayCall chan struct{} // gets a value with every call while it is away
}

func newPodLauncher() *podLauncher {
	return &podLauncher{
		pods: map[string]launcher.Attempt{}, starts: map[string]int{}, stopped: map[string]bool{},
		changes: make(chan struct{}, 1), awayCall: make(chan struct{}, 100),
	}
}

func (p *podLauncher) Start(_ context.Context, attempts []launcher.Attempt) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if p.away {
		select {
		case p.awayCall <- struct{}{}:
		default:
		}
		return fmt.Errorf("dial: %w", launcher.ErrAway)
	}
	refused := map[string]launcher.End{}
	for _, a := range attempts {
		p.starts[a.GetTaskId()]++
		if p.refuse != nil {
			if err := p.refuse(a); err != nil {
				refused[a.GetTaskId()] = launcher.End{Class: launcher.ClassRefused, Message: err.Error(), FinishedAt: time.Now()}
				continue
			}
		}
		p.pods[a.GetTaskId()] = a
	}
	select {
	case p.changes <- struct{}{}:
	default:
	}
	if len(refused) > 0 {
		return &launcher.StartError{Refused: refused}
	}
	return nil
}

func (p *podLauncher) Stop(_ context.Context, refs []launcher.Ref, _ time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return fmt.Errorf("dial: %w", launcher.ErrAway)
	}
	for _, r := range refs {
		p.stopped[r.TaskID] = true
	}
	select {
	case p.changes <- struct{}{}:
	default:
	}
	return nil
}

func (p *podLauncher) List(context.Context) ([]launcher.Status, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return nil, launcher.ErrAway
	}
	list := make([]launcher.Status, 0, len(p.pods))
	for id := range p.pods {
		list = append(list, launcher.Status{TaskID: id})
	}
	return list, nil
}

func (p *podLauncher) setAway(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

// pod waits for the pod of an attempt.
func (p *podLauncher) pod(t testing.TB, task string) launcher.Attempt {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		p.mu.Lock()
		a, ok := p.pods[task]
		p.mu.Unlock()
		if ok {
			return a
		}
		select {
		case <-p.changes:
		case <-deadline:
			t.Fatalf("no pod was made for %s", task)
		}
	}
}

// podBundle is an engine whose attempts are pods.
type podBundle struct {
	*testBundle
	cluster *podLauncher
}

func setupPods(t *testing.T, options ...option) *podBundle {
	t.Helper()
	cluster := newPodLauncher()
	b := setup(t, append([]option{func(c *execution.Config) {
		c.Launcher, c.Cluster, c.LauncherName = cluster, true, "kube"
		c.Timing.ReportGrace = 300 * time.Millisecond
		c.Capacity = quota.Capacity{CPUMillis: 400_000, MemoryMiB: 1 << 20, Pods: 1000}
	}}, options...)...)
	return &podBundle{b, cluster}
}

// observe tells the engine what was seen of an attempt.
func (b *podBundle) observe(o launcher.Observation) {
	b.t.Helper()
	require.NoError(b.t, b.engine.Observe(b.ctx, []launcher.Observation{o}))
}

// report delivers what the runner in a pod says.
func (b *podBundle) report(a launcher.Attempt, r *flowforgev1.AttemptReport) {
	b.t.Helper()
	r.TaskId, r.Token = a.GetTaskId(), a.GetToken()
	_, err := b.engine.Deliver(auth.AsSystem(b.ctx), []*flowforgev1.AttemptReport{r})
	require.NoError(b.t, err)
}

func (b *podBundle) begins(a launcher.Attempt) {
	b.t.Helper()
	b.report(a, &flowforgev1.AttemptReport{Report: &flowforgev1.AttemptReport_Started{Started: &flowforgev1.Started{Timestamp: time.Now().UnixMilli(), Host: "node-1"}}})
}

func (b *podBundle) ends(a launcher.Attempt, o flowforgev1.Outcome, class string) {
	b.t.Helper()
	b.report(a, &flowforgev1.AttemptReport{Report: &flowforgev1.AttemptReport_Finished{Finished: &flowforgev1.Finished{
		StartedAt: time.Now().UnixMilli(), FinishedAt: time.Now().UnixMilli(), Outcome: o, Class: class, ExitCode: map[bool]int32{true: 0, false: 137}[o == flowforgev1.Outcome_OUTCOME_SUCCEEDED],
	}}})
}

// nodeIs waits until a node is as is says.
func (b *podBundle) nodeIs(id uuid.UUID, name, what string, is func(execution.NodeDetail) bool) execution.NodeDetail {
	b.t.Helper()
	var found execution.NodeDetail
	b.until(id, what, func(execution.Execution) bool {
		found = b.node(id, name)
		return is(found)
	})
	return found
}

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
	task := execution.TaskID(id, 0, 1)
	a := b.cluster.pod(t, task)
	require.Equal(t, "torch:2", a.GetImage())
	require.JSONEq(t, `{"nodeSelector":{"zone":"a"},"shmSize":"2048Mi"}`, a.GetPodJson())
	require.Equal(t, int64(16384), a.GetResources().GetMemoryMib())
	for range 3 { // the same thing seen again changes nothing
		b.observe(launcher.Observation{
			TaskID:  task,
			Place:   &launcher.Place{Namespace: "ff-demo", Pod: a.GetName()},
			Waiting: &launcher.Waiting{Code: launcher.WaitUnschedulable, Message: "0/4 nodes are available."},
			Events:  []launcher.Event{{ID: "e1", At: time.Now(), Warning: true, Reason: "FailedScheduling", Message: "0/4", Count: 3}},
		})
	}
	n := b.node(id, "train")
	require.Equal(t, dag.Queued, n.State)
	require.Equal(t, launcher.WaitUnschedulable, n.Reason.Code)
	require.Equal(t, "0/4 nodes are available.", n.Reason.Message)
	b.observe(launcher.Observation{TaskID: task, Place: &launcher.Place{Namespace: "ff-demo", Pod: a.GetName(), Machine: "node-1"}})
	b.begins(a)
	n = b.nodeIs(id, "train", "the begin", func(n execution.NodeDetail) bool { return n.State == dag.Running })
	require.Nil(t, n.Reason, "it does not wait any more")
	b.observe(launcher.Observation{TaskID: task, Waiting: &launcher.Waiting{Code: launcher.WaitStarting, Message: "late"}})
	require.Nil(t, b.node(id, "train").Reason, "a late reason is none")
	b.ends(a, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	require.Equal(t, execution.Succeeded, b.finish(id).Status)
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
	events, err := b.engine.PodEvents(b.ctx, id, "train", 0)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, 3, events[0].Count)
}

// TestReportWins: an end that was seen waits for the report that is on its way.
func TestReportWins(t *testing.T) {
	t.Parallel()
	b := setupPods(t, func(c *execution.Config) { c.Timing.ReportGrace = time.Hour })
	id := b.launch(onePod, nil)
	task := execution.TaskID(id, 0, 1)
	a := b.cluster.pod(t, task)
	b.begins(a)
	b.observe(launcher.Observation{TaskID: task, End: &launcher.End{Class: launcher.ClassDeleted, Message: "Deleted.", FinishedAt: time.Now()}})
	b.ends(a, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	require.Equal(t, execution.Succeeded, b.finish(id).Status)
	require.Empty(t, b.node(id, "train").Attempts[0].Class)
}

// TestSeenEnds: what becomes of attempts whose runner says nothing.
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
			task := execution.TaskID(id, 0, 1)
			a := b.cluster.pod(t, task)
			if test.begun {
				b.begins(a)
			}
			for range 2 {
				b.observe(launcher.Observation{TaskID: task, End: &launcher.End{Class: test.class, Message: "Seen.", FinishedAt: time.Now()}})
			}
			b.cluster.pod(t, execution.TaskID(id, 0, 2))
			n := b.node(id, "train")
			require.Equal(t, test.outcome, n.Attempts[0].Outcome)
			require.Equal(t, string(test.class), n.Attempts[0].Class)
			require.Equal(t, "Seen.", n.Attempts[0].Message)
			require.Equal(t, map[bool]int{true: 0, false: 1}[test.again], n.Retries)
		})
	}
}

// TestClassAfterReport: a runner that only knows that it was interrupted learns why.
func TestClassAfterReport(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	id := b.launch(onePod, nil)
	task := execution.TaskID(id, 0, 1)
	a := b.cluster.pod(t, task)
	b.begins(a)
	b.ends(a, flowforgev1.Outcome_OUTCOME_INTERRUPTED, "")
	b.cluster.pod(t, execution.TaskID(id, 0, 2))
	b.observe(launcher.Observation{TaskID: task, End: &launcher.End{Class: launcher.ClassEvicted, Message: "Evicted.", FinishedAt: time.Now()}})
	require.Eventually(t, func() bool { return b.node(id, "train").Attempts[0].Class == string(launcher.ClassEvicted) }, 10*time.Second, 20*time.Millisecond)
	require.Equal(t, 2, b.node(id, "train").Attempt, "the second attempt goes on")
}

// TestMemoryGrows: 16 GiB did not suffice, so 24 are asked for, which is the limit.
func TestMemoryGrows(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	id := b.launch(onePod, nil)
	for number, want := range []int64{16384, 24576, 24576} {
		a := b.cluster.pod(t, execution.TaskID(id, 0, number+1))
		require.Equal(t, want, a.GetResources().GetMemoryMib(), "attempt %d", number+1)
		require.Equal(t, want, a.GetMemoryLimitMib())
		b.begins(a)
		b.ends(a, flowforgev1.Outcome_OUTCOME_FAILED, "out_of_memory")
	}
	e := b.finish(id)
	require.Equal(t, execution.Failed, e.Status)
	require.Equal(t, "out_of_memory", e.Error.Code)
	n := b.node(id, "train")
	require.Equal(t, []int{16384, 24576, 24576}, []int{n.Attempts[0].MemoryMiB, n.Attempts[1].MemoryMiB, n.Attempts[2].MemoryMiB})
	events, err := b.engine.Events(b.ctx, id, 0, 0)
	require.NoError(t, err)
	var told []string
	for _, e := range events {
		if e.Kind == "node.retrying" {
			told = append(told, e.Message)
		}
	}
	require.Len(t, told, 2)
	require.Contains(t, told[0], "with 24 GiB after out of memory at 16 GiB")
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
	a := b.cluster.pod(t, execution.TaskID(id, 1, 1))
	b.ends(a, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	e := b.finish(id)
	require.Equal(t, execution.Failed, e.Status)
	require.Equal(t, "refused", e.Error.Code)
	require.Contains(t, e.Error.Message, "denied the request: no")
	require.Equal(t, dag.Succeeded, b.node(id, "good").State)
}

// TestClusterAway: nothing fails while the cluster does not answer, and nothing is
// asked of it in a tight loop.
func TestClusterAway(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	b.cluster.setAway(true)
	id := b.launch(onePod, nil)
	n := b.nodeIs(id, "train", "the reason", func(n execution.NodeDetail) bool { return n.Reason != nil && n.Reason.Code == launcher.WaitCluster })
	require.Equal(t, dag.Queued, n.State)
	<-b.cluster.awayCall
	<-b.cluster.awayCall
	b.cluster.setAway(false)
	a := b.cluster.pod(t, execution.TaskID(id, 0, 1))
	b.nodeIs(id, "train", "the reason to go", func(n execution.NodeDetail) bool { return n.Reason == nil })
	b.ends(a, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	require.Equal(t, execution.Succeeded, b.finish(id).Status)
	require.Len(t, b.node(id, "train").Attempts, 1)
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	require.Less(t, b.cluster.calls, 20)
}

// TestCancelWhileClusterIsAway: what the cluster was never given ends at once.
func TestCancelWhileClusterIsAway(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	b.cluster.setAway(true)
	id := b.launch(onePod, nil)
	b.nodeIs(id, "train", "the reason", func(n execution.NodeDetail) bool { return n.Reason != nil })
	require.NoError(t, b.engine.Cancel(b.ctx, id, "enough"))
	require.Equal(t, execution.Cancelled, b.finish(id).Status)
}

// TestRestingPodsAreNotStartedAgain: a loop that wakes up leaves the pods alone that
// it made before it went to rest.
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
	first, second := b.cluster.pod(t, execution.TaskID(id, 0, 1)), b.cluster.pod(t, execution.TaskID(id, 1, 1))
	require.Eventually(t, func() bool {
		var resting bool
		err := b.pool.QueryRow(b.ctx, "SELECT lease_until IS NULL FROM executions WHERE id = $1", id).Scan(&resting)
		return err == nil && resting
	}, 10*time.Second, 20*time.Millisecond)
	b.observe(launcher.Observation{TaskID: second.GetTaskId(), Waiting: &launcher.Waiting{Code: launcher.WaitImage, Message: "pulling"}})
	require.Equal(t, launcher.WaitImage, b.node(id, "two").Reason.Code, "of a loop that rests, too")
	b.ends(first, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	b.nodeIs(id, "one", "the first end", func(n execution.NodeDetail) bool { return n.State.Ended() })
	b.ends(second, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	require.Equal(t, execution.Succeeded, b.finish(id).Status)
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	require.Equal(t, map[string]int{first.GetTaskId(): 1, second.GetTaskId(): 1}, b.cluster.starts)
}

// TestMissingPod: a pod that went away unseen is found by the list.
func TestMissingPod(t *testing.T) {
	t.Parallel()
	b := setupPods(t, func(c *execution.Config) { c.Timing.Missing = 100 * time.Millisecond })
	id := b.launch(onePod, nil)
	task := execution.TaskID(id, 0, 1)
	b.begins(b.cluster.pod(t, task))
	b.cluster.mu.Lock()
	delete(b.cluster.pods, task)
	b.cluster.mu.Unlock()
	b.cluster.pod(t, execution.TaskID(id, 0, 2))
	n := b.node(id, "train")
	require.Equal(t, "LOST", n.Attempts[0].Outcome)
	require.Equal(t, string(launcher.ClassDeleted), n.Attempts[0].Class)
}
