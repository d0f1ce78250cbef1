package kube

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	residentPool    = "0123456789abcdef0123456789abcdef"
	residentProject = "p1"
)

func residentTestAttempt() launcher.Attempt {
	return &flowforgev1.AttemptSpec{ProjectId: residentProject, Node: "small", InputsJson: "{}", Resident: true}
}

// floor is an in-memory queue.
type floor struct {
	work   []launcher.ResidentWork
	queued int
}

func (f *floor) Pools(context.Context) ([]launcher.ResidentPool, error) {
	return []launcher.ResidentPool{{ID: residentPool, ProjectID: residentProject, Queued: f.queued, Attempt: residentTestAttempt()}}, nil
}
func (f *floor) List(context.Context) ([]launcher.ResidentWork, error) { return f.work, nil }
func (f *floor) Remove(_ context.Context, tasks []string) error {
	for _, task := range tasks {
		for i, w := range f.work {
			if w.TaskID == task {
				f.work = append(f.work[:i], f.work[i+1:]...)
				break
			}
		}
	}
	return nil
}

// scaled is a scaler with a cluster and a queue, whose informer sees only what show adds.
type scaled struct {
	*ResidentScaler
	api  *fake.Clientset
	seen map[string]launcher.Observation
	now  time.Time
	lost map[string]string
}

func newScaled(f *floor) *scaled {
	s := &scaled{api: fake.NewClientset(), seen: map[string]launcher.Observation{}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), lost: map[string]string{}}
	client := NewFor(Config{
		Installation: "x", Image: "flowforge:1", Now: func() time.Time { return s.now },
		Projects: func(context.Context) ([]Project, error) {
			return []Project{{ID: residentProject, Namespace: "ff-a"}}, nil
		},
	}, s.api, nil)
	s.ResidentScaler = NewResidentScaler(ResidentConfig{
		Client: client, Floor: f, Max: 50, Lost: func(machine string) string { return s.lost[machine] },
		Observe: func(_ context.Context, all []launcher.Observation) error {
			for _, o := range all {
				s.seen[o.TaskID] = o
			}
			return nil
		},
	})
	return s
}

func (s *scaled) created(t *testing.T) []corev1.Pod {
	t.Helper()
	list, err := s.api.CoreV1().Pods("ff-a").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// TestWarmPodsAreMadeOnce runs several rounds before the informer sees the pods.
func TestWarmPodsAreMadeOnce(t *testing.T) {
	t.Parallel()
	s := newScaled(&floor{queued: 3})
	for range 4 {
		if err := s.reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.now = s.now.Add(scaleEvery)
	}
	if pods := s.created(t); len(pods) != 3 {
		t.Errorf("%d pods for 3 attempts", len(pods))
	}
}

// TestWarmPodsThatAreRefused: waiting attempts get the reason once, and the cluster is
// called only every few seconds.
func TestWarmPodsThatAreRefused(t *testing.T) {
	t.Parallel()
	f := &floor{queued: 1, work: []launcher.ResidentWork{{TaskID: "e.1.1", Pool: residentPool}}}
	s := newScaled(f)
	tries := 0
	answer := errors.New("exceeded quota: flowforge")
	s.api.PrependReactor("create", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
		tries++
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "warm", answer)
	})
	for range 4 {
		_ = s.reconcile(t.Context())
		s.now = s.now.Add(scaleEvery)
	}
	if o := s.seen["e.1.1"]; tries != 1 || o.End != nil || o.Waiting == nil || !strings.Contains(o.Waiting.Message, "exceeded quota") {
		t.Errorf("%d tries; waiting: %+v", tries, s.seen["e.1.1"])
	}
	answer = errors.New(`violates PodSecurity "restricted:latest": privileged`)
	s.now = s.now.Add(refusedFor)
	for range 2 {
		_ = s.reconcile(t.Context())
		s.now = s.now.Add(scaleEvery)
	}
	if end := s.seen["e.1.1"].End; end == nil || end.Class != launcher.ClassRefused || len(f.work) != 0 {
		t.Errorf("refused permanently: %+v, left %v", end, f.work)
	}
}

// TestWarmPodOfALostMachine: attempts on a lost machine end immediately, and the pod is
// removed by force.
func TestWarmPodOfALostMachine(t *testing.T) {
	t.Parallel()
	f := &floor{work: []launcher.ResidentWork{{TaskID: "e.1.1", Pool: residentPool, Worker: "warm-1"}}}
	s := newScaled(f)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ff-a", Name: "warm-1", UID: "w1", Labels: map[string]string{labelPool: residentPool, pod.LabelProject: residentProject}},
		Spec:       corev1.PodSpec{NodeName: "gpu-7"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: pod.Container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}},
	}
	var grace *int64
	s.api.PrependReactor("delete", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		if d, ok := a.(ktesting.DeleteActionImpl); ok {
			grace = d.DeleteOptions.GracePeriodSeconds
		}
		return true, nil, nil
	})
	if err := s.pods.GetStore().Add(p); err != nil {
		t.Fatal(err)
	}
	if err := s.reconcile(t.Context()); err != nil || s.seen["e.1.1"].End != nil {
		t.Fatalf("%v: %+v", err, s.seen["e.1.1"])
	}
	s.lost["gpu-7"] = "it is not responding."
	if err := s.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if end := s.seen["e.1.1"].End; end == nil || end.Class != launcher.ClassMachineLost || len(f.work) != 0 {
		t.Errorf("end %+v, left %v", end, f.work)
	}
	if grace == nil || *grace != 0 {
		t.Errorf("removed with grace %v", grace)
	}
}
