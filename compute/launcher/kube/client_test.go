package kube_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	projectID = "01900000-0000-7000-8000-000000000003"
	namespace = "ff-local-default-000000000003"
)

// fakeAPI is a fake API server that assigns UIDs and counts created objects.
type fakeAPI struct {
	*fake.Clientset
	uids    atomic.Int64
	mu      sync.Mutex
	created map[string][]types.UID // pods by task id, in creation order
}

func newFakeAPI() *fakeAPI {
	c := &fakeAPI{Clientset: fake.NewSimpleClientset(), created: map[string][]types.UID{}}
	c.PrependReactor("create", "*", func(action ktesting.Action) (bool, runtime.Object, error) {
		return false, nil, c.identify(action)
	})
	return c
}

// identify assigns a UID to a new object and counts it unless its name is taken.
func (c *fakeAPI) identify(action ktesting.Action) error {
	object := action.(ktesting.CreateAction).GetObject()
	meta := object.(metav1.Object)
	uid := types.UID(fmt.Sprintf("uid-%d", c.uids.Add(1)))
	if p, ok := object.(*corev1.Pod); ok {
		if _, err := c.Tracker().Get(action.GetResource(), p.Namespace, p.Name); err == nil {
			return nil
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.created[p.Labels[pod.LabelTask]] = append(c.created[p.Labels[pod.LabelTask]], uid)
	}
	meta.SetUID(uid)
	return nil
}

// on adds a reactor in front of all others.
func (c *fakeAPI) on(verb, resource string, react func(ktesting.Action) (bool, runtime.Object, error)) {
	c.PrependReactor(verb, resource, react)
}

// carryOut executes a create, like a server whose response is lost.
func (c *fakeAPI) carryOut(action ktesting.Action) error {
	if err := c.identify(action); err != nil {
		return err
	}
	create := action.(ktesting.CreateAction)
	return c.Tracker().Create(create.GetResource(), create.GetObject().DeepCopyObject(), create.GetNamespace())
}

func (c *fakeAPI) client() *kube.Client {
	return kube.NewFor(kube.Config{
		Installation: "i1", Image: "flowforge:1",
		Projects: func(context.Context) ([]kube.Project, error) {
			return []kube.Project{{ID: projectID, Namespace: namespace}}, nil
		},
	}, c.Clientset, nil)
}

func attempts(n int) []launcher.Attempt {
	all := make([]launcher.Attempt, n)
	for i := range all {
		id := fmt.Sprintf("019aa5c8-7f3e-7c11-9a40-%012d", i)
		all[i] = &flowforgev1.AttemptSpec{
			TaskId: id + ".0.1", ExecutionId: id, ProjectId: projectID, Attempt: 1, Node: "train", InputsJson: "{}", GraceMs: 10_000,
			Resources: &flowforgev1.Resources{CpuMillis: 100, MemoryMib: 64}, MemoryLimitMib: 64,
		}
	}
	return all
}

// oneEach checks that every attempt has had exactly one pod, and a Secret that the pod
// owns.
func (c *fakeAPI) oneEach(t *testing.T, all []launcher.Attempt) {
	t.Helper()
	pods, err := c.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, pods.Items, len(all))
	uids := map[string]types.UID{}
	for _, p := range pods.Items {
		uids[p.Labels[pod.LabelTask]] = p.UID
	}
	secrets, err := c.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, secrets.Items, len(all))
	for _, s := range secrets.Items {
		require.Len(t, s.OwnerReferences, 1)
		require.Equal(t, uids[s.Labels[pod.LabelTask]], s.OwnerReferences[0].UID)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range all {
		require.Len(t, c.created[a.GetTaskId()], 1, a.GetTaskId())
	}
}

// startAll starts attempts until all have started; next returns the client for each try.
func startAll(t *testing.T, all []launcher.Attempt, next func() *kube.Client) {
	t.Helper()
	for range 20 {
		err := next().Start(t.Context(), all)
		if err == nil {
			return
		}
		var failed *launcher.StartError
		require.ErrorAs(t, err, &failed)
		require.Empty(t, failed.Refused)
		require.ErrorIs(t, err, launcher.ErrUnreachable)
	}
	require.Fail(t, "the attempts do not start")
}

// once calls react only for the first use of each object name.
func once(react func(ktesting.Action) (bool, runtime.Object, error)) func(ktesting.Action) (bool, runtime.Object, error) {
	var seen sync.Map
	return func(action ktesting.Action) (bool, runtime.Object, error) {
		name := ""
		switch a := action.(type) {
		case ktesting.CreateAction:
			name = a.GetObject().(metav1.Object).GetName()
		case ktesting.GetAction:
			name = a.GetName()
		}
		if _, again := seen.LoadOrStore(name, true); again {
			return false, nil, nil
		}
		return react(action)
	}
}

func fails(err error) func(ktesting.Action) (bool, runtime.Object, error) {
	return func(ktesting.Action) (bool, runtime.Object, error) { return true, nil, err }
}

// many is how often each fault occurs.
func many() int {
	if testing.Short() {
		return 50
	}
	return 1000
}

var podResource = schema.GroupResource{Resource: "pods"}

func TestNeverTwoPods(t *testing.T) {
	t.Parallel()
	timeout := apierrors.NewTimeoutError("the request timed out", 1)
	for _, c := range []struct {
		name   string
		inject func(*fakeAPI)
	}{
		{"nothing", func(*fakeAPI) {}},
		{"a create that times out and was carried out", func(c *fakeAPI) {
			c.on("create", "pods", once(func(a ktesting.Action) (bool, runtime.Object, error) {
				return true, nil, orError(c.carryOut(a), timeout)
			}))
		}},
		{"a create that times out and was not", func(c *fakeAPI) { c.on("create", "pods", once(fails(timeout))) }},
		{"a Secret that times out and was created", func(c *fakeAPI) {
			c.on("create", "secrets", once(func(a ktesting.Action) (bool, runtime.Object, error) {
				return true, nil, orError(c.carryOut(a), timeout)
			}))
		}},
		{"a Secret that was not created", func(c *fakeAPI) { c.on("create", "secrets", once(fails(timeout))) }},
		{"a stale cache without the pod", func(c *fakeAPI) {
			c.on("create", "pods", once(func(a ktesting.Action) (bool, runtime.Object, error) {
				return true, nil, orError(c.carryOut(a), timeout)
			}))
			c.on("get", "pods", once(fails(apierrors.NewNotFound(podResource, "p"))))
		}},
		{"conflict", func(c *fakeAPI) {
			c.on("create", "pods", once(fails(apierrors.NewConflict(podResource, "p", context.Canceled))))
		}},
		{"429", func(c *fakeAPI) {
			c.on("create", "pods", once(fails(apierrors.NewTooManyRequests("slowly", 1))))
			c.on("create", "secrets", once(fails(apierrors.NewTooManyRequests("slowly", 1))))
		}},
		{"500", func(c *fakeAPI) {
			c.on("create", "pods", once(fails(apierrors.NewInternalError(context.Canceled))))
			c.on("create", "secrets", once(fails(apierrors.NewInternalError(context.Canceled))))
		}},
		{"503", func(c *fakeAPI) { c.on("create", "pods", once(fails(apierrors.NewServiceUnavailable("etcd")))) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cluster := newFakeAPI()
			c.inject(cluster)
			all := attempts(many())
			client := cluster.client()
			startAll(t, all, func() *kube.Client { return client })
			cluster.oneEach(t, all)
			require.NoError(t, client.Start(t.Context(), all), "starting twice is success")
			// A controller that restarts has no state of its predecessor.
			startAll(t, all, cluster.client)
			cluster.oneEach(t, all)
		})
	}
}

func orError(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// TestRestartsBetweenTheRequests stops the launcher between the pod and its Secret;
// another launcher completes the attempt.
func TestRestartsBetweenTheRequests(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), attempts(many())
	var broken atomic.Bool
	broken.Store(true)
	cluster.on("create", "secrets", func(ktesting.Action) (bool, runtime.Object, error) {
		return broken.Load(), nil, context.Canceled
	})
	require.Error(t, cluster.client().Start(t.Context(), all))
	broken.Store(false)
	startAll(t, all, cluster.client)
	cluster.oneEach(t, all)
}

// TestSeveralLaunchersAtOnce starts the same attempts from a zombie, its successor and a
// third launcher.
func TestSeveralLaunchersAtOnce(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), attempts(many())
	var group sync.WaitGroup
	for range 3 {
		client := cluster.client()
		group.Go(func() { startAll(t, all, func() *kube.Client { return client }) })
	}
	group.Wait()
	pods, err := cluster.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, pods.Items, len(all))
}

// TestLateCreate delivers a create after its retry.
func TestLateCreate(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), attempts(many())
	var late sync.Map
	cluster.on("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		name := a.(ktesting.CreateAction).GetObject().(metav1.Object).GetName()
		if first, again := late.LoadOrStore(name, a.DeepCopy()); again {
			// The first create arrives just before its retry.
			_ = cluster.carryOut(first.(ktesting.Action))
			return false, nil, nil
		}
		return true, nil, apierrors.NewTimeoutError("the request timed out", 1)
	})
	client := cluster.client()
	startAll(t, all, func() *kube.Client { return client })
	cluster.oneEach(t, all)
}
