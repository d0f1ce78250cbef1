package kube_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// machine creates a simulated machine that only this test's pods use.
func (w *world) machine() string {
	w.t.Helper()
	name := "watch-" + w.installation
	amounts := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("20"),
	}
	machine := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"watch": w.installation}, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "watch", Value: w.installation, Effect: corev1.TaintEffectNoSchedule}}},
		Status:     corev1.NodeStatus{Allocatable: amounts, Capacity: amounts},
	}
	if _, err := w.api.CoreV1().Nodes().Create(w.t.Context(), machine, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = w.api.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}) })
	return name
}

// there returns a pod that runs on the test's own machine until it is ended.
func (w *world) there(cpu string) *corev1.Pod {
	p := w.pod(map[string]string{"hold": "true"})
	p.Spec.NodeSelector = map[string]string{"watch": w.installation}
	p.Spec.Tolerations = []corev1.Toleration{{Key: "watch", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	return p
}

// TestDisruptions disrupts pods in every way that the cluster supports.
func TestDisruptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	machine := w.machine()
	preempted := w.start(w.there("1500m"))
	w.untilRunning(preempted)
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "watch-" + w.installation}, Value: 1000}
	if _, err := w.api.SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.api.SchedulingV1().PriorityClasses().Delete(context.Background(), class.Name, metav1.DeleteOptions{})
	})
	important := w.there("1500m")
	important.Spec.PriorityClassName = class.Name
	w.poll("the API server's admission has the class", func(ctx context.Context) bool {
		_, err := w.api.CoreV1().Pods(w.namespace).Create(ctx, important.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil
	})
	evicted := w.start(important)
	if end := w.untilEnd(preempted, launcher.ClassPreempted); !strings.Contains(end.Message, "preempt") {
		t.Errorf("the scheduler's message is missing: %q", end.Message)
	}

	w.untilRunning(evicted)
	err := w.api.PolicyV1().Evictions(w.namespace).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: pod.Name(evicted)}})
	if err != nil {
		t.Fatal(err)
	}
	w.untilEnd(evicted, launcher.ClassEvicted)

	lost := w.start(w.there("100m"))
	w.untilRunning(lost)
	taint := `{"spec":{"taints":[{"key":"watch","value":"gone","effect":"NoExecute"}]}}`
	if _, err := w.api.CoreV1().Nodes().Patch(t.Context(), machine, types.StrategicMergePatchType, []byte(taint), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.untilEnd(lost, launcher.ClassMachineLost)
}

// TestGangGoesTogether: the pods of a gang do not outlive one of them.
func TestGangGoesTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	first, second := w.pod(map[string]string{"hold": "true"}), w.pod(map[string]string{"exit-code": "137", "reason": "OOMKilled"})
	task := first.Labels[pod.LabelTask]
	second.Labels[pod.LabelTask] = task
	for rank, p := range []*corev1.Pod{first, second} {
		p.Labels[pod.LabelRank] = string(rune('0' + rank))
		p.Name = pod.RankName(pod.Name(task), rank)
		w.start(p)
	}
	end := w.untilEnd(task, launcher.ClassOutOfMemory)
	if !strings.HasPrefix(end.Message, "Pod 1 of the gang: ") {
		t.Errorf("the pod is not named: %q", end.Message)
	}
	w.untilGone(task)
}
