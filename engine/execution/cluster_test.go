package execution_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// podLauncher is a cluster whose events the test controls.
type podLauncher struct {
	mu              sync.Mutex
	pods            map[string]launcher.Attempt
	starts          map[string]int
	stopped         map[string]bool
	refuse          func(launcher.Attempt) error
	admits          func(launcher.Attempt) bool // nil: all
	changes         chan struct{}
	calls           int
	unreachable     bool
	failure         error         // of the next call of Start
	unreachableCall chan struct{} // receives a value with every call while it is away
}

func newPodLauncher() *podLauncher {
	return &podLauncher{
		pods: map[string]launcher.Attempt{}, starts: map[string]int{}, stopped: map[string]bool{},
		changes: make(chan struct{}, 1), unreachableCall: make(chan struct{}, 100),
	}
}

func (p *podLauncher) Start(_ context.Context, attempts []launcher.Attempt) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if err := p.failure; err != nil {
		p.failure = nil
		return err
	}
	if p.unreachable {
		select {
		case p.unreachableCall <- struct{}{}:
		default:
		}
		return fmt.Errorf("dial: %w", launcher.ErrUnreachable)
	}
	refused, waiting := map[string]launcher.End{}, map[string]launcher.Waiting{}
	for _, a := range attempts {
		p.starts[a.GetTaskId()]++
		if p.refuse != nil {
			if err := p.refuse(a); err != nil {
				refused[a.GetTaskId()] = launcher.End{Class: launcher.ClassRefused, Message: err.Error(), FinishedAt: time.Now()}
				continue
			}
		}
		if p.admits != nil && !p.admits(a) {
			waiting[a.GetTaskId()] = launcher.Waiting{Code: launcher.WaitUnschedulable, Message: "exceeded quota: flowforge"}
			continue
		}
		p.pods[a.GetTaskId()] = a
	}
	select {
	case p.changes <- struct{}{}:
	default:
	}
	if len(waiting) > 0 {
		return &launcher.StartError{Refused: refused, Waiting: waiting, Err: fmt.Errorf("start: %w", launcher.ErrUnreachable)}
	}
	if len(refused) > 0 {
		return &launcher.StartError{Refused: refused}
	}
	return nil
}

func (p *podLauncher) Stop(_ context.Context, refs []launcher.Ref, _ time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unreachable {
		return fmt.Errorf("dial: %w", launcher.ErrUnreachable)
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

// listed is the key of a function in the context of List, which is called before its list is returned.
type listed struct{}

func (p *podLauncher) List(ctx context.Context) ([]launcher.Status, error) {
	if f, ok := ctx.Value(listed{}).(func()); ok {
		defer f()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unreachable {
		return nil, launcher.ErrUnreachable
	}
	list := make([]launcher.Status, 0, len(p.pods))
	for id := range p.pods {
		list = append(list, launcher.Status{TaskID: id})
	}
	return list, nil
}

func (p *podLauncher) setUnreachable(unreachable bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unreachable = unreachable
}

// pod waits for the pod of an attempt and returns it.
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
			t.Fatalf("no pod was created for %s", task)
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

// observe sends an observation of an attempt to the engine.
func (b *podBundle) observe(o launcher.Observation) {
	b.t.Helper()
	require.NoError(b.t, b.engine.Supervisor.Observe(b.ctx, []launcher.Observation{o}))
}

// report delivers the report of the runner in a pod.
func (b *podBundle) report(a launcher.Attempt, r *flowforgev1.AttemptReport) {
	b.t.Helper()
	r.TaskId, r.Token = a.GetTaskId(), a.GetToken()
	_, err := b.engine.Supervisor.Deliver(auth.AsSystem(b.ctx), []*flowforgev1.AttemptReport{r})
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

// nodeIs waits until is returns true for a node.
func (b *podBundle) nodeIs(id uuid.UUID, name, what string, is func(query.NodeDetail) bool) query.NodeDetail {
	b.t.Helper()
	var found query.NodeDetail
	b.until(id, what, func(query.Execution) bool {
		found = b.node(id, name)
		return is(found)
	})
	return found
}
