package kube

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/outcome"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// ranked returns a pod of a gang; once started, it runs its task's container.
func ranked(task, rank string, started bool) *corev1.Pod {
	p := podOfTask(task)
	p.Name, p.UID = pod.Name(task)+"-"+rank, types.UID(task+rank)
	p.Labels[pod.LabelGang], p.Labels[pod.LabelRank] = "true", rank
	if started {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: pod.Container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}
	}
	return p
}

// TestGangWaitsForItsSlowest: an attempt reports the most severe reason of its pods, in
// any order of evaluation.
func TestGangWaitsForItsSlowest(t *testing.T) {
	t.Parallel()
	r := newReports()
	put := func(p *corev1.Pod, code, message string) launcher.Waiting {
		r.put(p, outcome.Verdict{Waiting: &launcher.Waiting{Code: code, Message: message}})
		var last launcher.Waiting
		for _, o := range r.take() {
			last = *o.Waiting
		}
		return last
	}
	if w := put(ranked("a", "1", false), launcher.WaitUnschedulable, "no GPU"); w.Code != launcher.WaitUnschedulable {
		t.Errorf("of one: %+v", w)
	}
	put(ranked("other", "0", false), launcher.WaitImage, "elsewhere")
	if w := put(ranked("a", "0", true), launcher.WaitStarting, "runs"); w.Code != launcher.WaitUnschedulable || w.Message != "Pod 1 of the gang: no GPU" {
		t.Errorf("the running pod hides the waiting one: %+v", w)
	}
	if w := put(ranked("a", "1", false), launcher.WaitImage, "slow"); w.Code != launcher.WaitImage {
		t.Errorf("placed: %+v", w)
	}
	if w := put(ranked("a", "1", true), launcher.WaitStarting, "runs"); w.Code != launcher.WaitGang {
		t.Errorf("all have started: %+v", w)
	}
	r.forget("a0")
	r.forget("a1")
	r.forget("other0")
	if len(r.gangs) != 0 {
		t.Errorf("kept: %v", r.gangs)
	}
}

// TestJobSetGoesWithItsAttempt: the JobSet is deleted with its pods; otherwise it would
// create them again and remain with the attempt's Secret.
func TestJobSetGoesWithItsAttempt(t *testing.T) {
	t.Parallel()
	version := schema.GroupVersion{Group: pod.JobSetGroup, Version: pod.JobSetVersion}
	kind := version.WithResource(pod.JobSetResource)
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": version.String(), "kind": "JobSet", "metadata": map[string]any{"name": pod.Name("e.1.1"), "namespace": "ff-a"},
	}}
	dyn := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{kind: "JobSetList"}, set)
	one := ranked("e.1.1", "", false)
	delete(one.Labels, pod.LabelRank)
	one.Labels["batch.kubernetes.io/job-completion-index"] = "0"
	one.Status.Phase = corev1.PodSucceeded
	api := fake.NewClientset(one)
	c := NewController(ControllerConfig{API: api, Dynamic: dyn, Config: Config{Installation: "x"}})
	if rankOf(one) != "0" {
		t.Errorf("rank %q", rankOf(one))
	}
	if err := c.remove(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	left, err := dyn.Resource(kind).Namespace("ff-a").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) != 0 {
		t.Errorf("left: %v %v", left.Items, err)
	}
	if err := c.remove(t.Context(), one); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

// TestCapacityByTheTypesOfOperators counts GPUs by the types that operators use.
func TestCapacityByTheTypesOfOperators(t *testing.T) {
	t.Parallel()
	c := NewController(ControllerConfig{API: fake.NewClientset(), Config: Config{
		Installation: "x", GPUTypes: pod.GPUTypes{"A100": {"NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-PCIE-40GB"}},
	}})
	if err := c.open(); err != nil {
		t.Fatal(err)
	}
	for name, label := range map[string]string{"one": "NVIDIA-A100-SXM4-80GB", "two": "NVIDIA-A100-PCIE-40GB", "three": "H100"} {
		machine := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"nvidia.com/gpu.product": label}},
			Status: corev1.NodeStatus{
				Allocatable: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("4")},
				Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		}
		if err := c.machines.GetStore().Add(machine); err != nil {
			t.Fatal(err)
		}
	}
	if have := c.count(nil); have.GPUs["A100"] != 8 || have.GPUs["H100"] != 4 || len(have.GPUs) != 2 {
		t.Errorf("GPUs: %v", have.GPUs)
	}
}

// TestDeadlineOfAGangWaitsForAll: the pods of a gang have time to find each other.
func TestDeadlineOfAGangWaitsForAll(t *testing.T) {
	t.Parallel()
	deadline := func(pods int32) int64 {
		spec := residentTestAttempt()
		spec.TaskId, spec.TimeoutMs, spec.Pods = "e.1.1", time.Minute.Milliseconds(), pods
		objects, err := pod.Build(spec, pod.Options{Namespace: "ff-a", Installation: "x", Image: "flowforge:1"})
		if err != nil {
			t.Fatal(err)
		}
		return *objects.Pods[0].Spec.ActiveDeadlineSeconds
	}
	if more := deadline(2) - deadline(1); more < 600 {
		t.Errorf("a gang has %d s in addition", more)
	}
}

// TestOnePodThatStaysKeepsNoOther: the cluster permanently refuses to delete one orphan;
// all others are deleted in the first round.
func TestOnePodThatStaysKeepsNoOther(t *testing.T) {
	t.Parallel()
	gone, refused := make(chan string, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/"+pod.Name("e.0.1")) {
			w.WriteHeader(http.StatusForbidden)
			close(refused)
			return
		}
		<-refused
		gone <- r.URL.Path
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
	}))
	defer server.Close()
	api, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	c := NewController(ControllerConfig{
		API: api, Config: Config{Installation: "x"},
		Alive: func(context.Context, []string) (map[string]bool, error) { return nil, nil },
	})
	if err := c.open(); err != nil {
		t.Fatal(err)
	}
	const pods = reapAtOnce // all at the same time
	for i := range pods {
		p := podOfTask(fmt.Sprintf("e.%d.1", i))
		p.UID = types.UID(p.Name)
		if err := c.pods.GetStore().Add(p); err != nil {
			t.Fatal(err)
		}
		c.reaper.add(p, c.now())
	}
	if err := c.reapOnce(t.Context()); err == nil || strings.Contains(err.Error(), "context") {
		t.Errorf("error of the pod that remains: %v", err)
	}
	if len(gone) != pods-1 {
		t.Errorf("%d of %d are deleted", len(gone), pods-1)
	}
}
