package kube_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// transport is between a client and a real API server: it counts requests and injects
// faults.
type transport struct {
	http.RoundTripper
	broken func() int // the fault of a request

	mu    sync.Mutex
	count map[string]int // requests by method and resource
	made  map[string]int // objects that the server reports as created, by resource and name
}

const (
	faultNone = iota
	faultBefore
	faultAfter
	faultInternal
	faultBusy
	faults
)

var errBroken = errors.New("the connection broke")

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	fault := faultNone
	if t.broken != nil && r.Method != http.MethodGet {
		fault = t.broken()
	}
	switch fault {
	case faultBefore:
		return nil, errBroken
	case faultInternal, faultBusy:
		status := map[int]int{faultInternal: http.StatusInternalServerError, faultBusy: http.StatusTooManyRequests}[fault]
		return &http.Response{
			StatusCode: status, Status: http.StatusText(status), Proto: r.Proto, ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader("no")), Request: r,
		}, nil
	}
	resp, err := t.RoundTripper.RoundTrip(r)
	t.note(r, resp)
	if fault == faultAfter && err == nil {
		_ = resp.Body.Close()
		return nil, errBroken
	}
	return resp, err
}

func (t *transport) note(r *http.Request, resp *http.Response) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"), "/")
	if len(parts) < 2 {
		return
	}
	resource := parts[1]
	if len(parts) > 3 {
		resource += "/" + parts[3]
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count[r.Method+" "+resource]++
	if resp != nil && resp.StatusCode == http.StatusCreated {
		t.made[resource]++
	}
}

// all returns the requests so far; more can arrive while the caller reads them.
func (t *transport) all() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.count)
}

// ofPods counts the requests caused by pods; a controller's other requests do not grow
// with them.
func (t *transport) ofPods() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for what, c := range t.count {
		if strings.Contains(what, "pods") || strings.Contains(what, "secrets") {
			n += c
		}
	}
	return n
}

// through returns a clientset of the test cluster whose requests pass through a
// transport.
func (w *world) through(broken func() int) (*transport, kubernetes.Interface) {
	w.t.Helper()
	rc := cluster(w.t)
	seen := &transport{broken: broken, count: map[string]int{}, made: map[string]int{}}
	rc.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		seen.RoundTripper = inner
		return seen
	})
	api, err := kubernetes.NewForConfig(rc)
	require.NoError(w.t, err)
	return seen, api
}

// kwokFields place pods on the simulated machines.
const kwokFields = `{"nodeSelector":{"type":"kwok"},"tolerations":[{"key":"kwok.x-k8s.io/node","operator":"Exists"}]`

func (w *world) attempts(n int, fields string) []launcher.Attempt {
	all := attempts(n)
	for _, a := range all {
		a.ProjectId, a.PodJson = w.projects[0].ID, fields
	}
	return all
}

// restarts is how often a launcher loses its state.
const restarts = 4

// TestNeverTwoPodsOnARealServer starts attempts through a network that loses requests and
// responses, with two launchers at a time that are constantly replaced.
func TestNeverTwoPodsOnARealServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	random := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	seen, api := w.through(func() int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(2 * faults) // half of all requests fail, in every way
	})
	config := w.config.Config
	config.Image = "flowforge:1"
	all := w.attempts(60, kwokFields+`,"annotations":{"test.flowforge.io/hold":"true"}}`)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			client, tries := kube.NewFor(config, api, nil), 0
			w.poll("all attempts have begun", func(ctx context.Context) bool {
				if tries++; tries < restarts {
					client = kube.NewFor(config, api, nil)
				}
				return client.Start(ctx, all) == nil
			})
		})
	}
	group.Wait()
	pods, err := w.api.CoreV1().Pods(w.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, pods.Items, len(all))
	require.Equal(t, len(all), seen.made["pods"], "the server created each pod once")
	uids := map[string]types.UID{}
	for _, p := range pods.Items {
		uids[p.Name] = p.UID
	}
	secrets, err := w.api.CoreV1().Secrets(w.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: pod.LabelTask})
	require.NoError(t, err)
	require.Len(t, secrets.Items, len(all))
	for _, s := range secrets.Items {
		require.Equal(t, uids[s.Name], s.OwnerReferences[0].UID)
	}
}

// TestRequestsPerPod counts the API requests of launcher and controller for pods that
// start, run and end.
func TestRequestsPerPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen, api := w.through(nil)
	w.config.API = api
	w.run()
	config := w.config.Config
	config.Image = "flowforge:1"
	client := kube.NewFor(config, api, nil)
	const n = 100
	all := w.attempts(n, kwokFields+`,"annotations":{"test.flowforge.io/duration":"1s"}}`)
	before := seen.ofPods()
	require.NoError(t, client.Start(t.Context(), all))
	for _, a := range all {
		w.until(a.GetTaskId(), "its end", func(o launcher.Observation) bool { return o.End != nil })
	}
	w.poll("all pods are gone", func(ctx context.Context) bool {
		list, err := w.api.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 0
	})
	requests := seen.ofPods() - before
	t.Logf("%.2f requests for each pod: %v", float64(requests)/n, seen.all())
	require.LessOrEqual(t, float64(requests)/n, 6.0)
}

// TestStopOnARealServer checks the grace period with which pods are deleted.
func TestStopOnARealServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	config := w.config.Config
	config.Image = "flowforge:1"
	client := kube.NewFor(config, w.api, nil)
	all := w.attempts(2, kwokFields+`,"annotations":{"test.flowforge.io/hold":"true","test.flowforge.io/delete-after":"30s"}}`)
	require.NoError(t, client.Start(t.Context(), all))
	w.poll("the pods run", func(ctx context.Context) bool {
		list, err := w.api.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
		return err == nil && len(list.Items) == 2
	})
	project := w.projects[0].ID
	require.NoError(t, client.Stop(t.Context(), []launcher.Ref{{TaskID: all[0].GetTaskId(), ProjectID: project}}, 10*time.Second))
	require.NoError(t, client.Stop(t.Context(), []launcher.Ref{{TaskID: all[1].GetTaskId(), ProjectID: project, Preempt: true}}, time.Second))
	for i, grace := range []int64{25, 25} {
		p, err := w.api.CoreV1().Pods(w.namespace).Get(t.Context(), pod.Name(all[i].GetTaskId()), metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, &grace, p.DeletionGracePeriodSeconds)
	}
	require.NoError(t, client.Start(t.Context(), all), "a terminating pod must not be replaced")
}
