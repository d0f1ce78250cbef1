package kube_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/launcher/kube/outcome"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// TestEnds ends pods in every way that a simulated machine supports; each end is reported
// with its class and the pod is removed.
func TestEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	for name, row := range map[string]struct {
		annotations map[string]string
		class       launcher.Class
		says        string
	}{
		"out of memory": {map[string]string{"exit-code": "137", "reason": "OOMKilled"}, launcher.ClassOutOfMemory, "16Mi"},
		"evicted":       {map[string]string{"pod-reason": "Evicted", "message": "The node was low on resource: memory."}, launcher.ClassEvicted, "low on resource: memory"},
		"deadline":      {map[string]string{"pod-reason": "DeadlineExceeded", "message": "Pod was active too long"}, launcher.ClassDeadline, "active too long"},
		"init":          {map[string]string{"init-exit-code": "3"}, launcher.ClassInit, "code 3"},
		"no runner":     {map[string]string{"exit-code": "5"}, launcher.ClassError, "code 5"},
	} {
		task := w.start(w.pod(row.annotations))
		end := w.untilEnd(task, row.class)
		if !strings.Contains(end.Message, row.says) {
			t.Errorf("%s: %q does not say %q", name, end.Message, row.says)
		}
		if o := w.last(task); o.Location == nil || o.Location.Namespace != w.namespace || !strings.HasPrefix(o.Location.Machine, "fake-gpu-") {
			t.Errorf("%s: place %+v", name, o.Location)
		}
		w.untilGone(task)
	}
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	large := w.pod(nil)
	large.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse("9")
	large.Spec.Containers[0].Resources.Limits["nvidia.com/gpu"] = resource.MustParse("9")
	task := w.start(large)
	if wait := w.untilWaiting(task, launcher.WaitUnschedulable); !strings.Contains(wait.Message, "Insufficient nvidia.com/gpu") {
		t.Errorf("the scheduler's message is missing: %q", wait.Message)
	}
	w.until(task, "FailedScheduling", func(launcher.Observation) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, e := range w.events[task] {
			if e.Reason == "FailedScheduling" && e.Warning && e.Count > 0 && !e.At.IsZero() {
				return true
			}
		}
		return false
	})
	image := w.start(w.pod(map[string]string{"waiting": "ImagePullBackOff"}))
	w.untilWaiting(image, launcher.WaitImage)
}

// TestReadyPods: the address of a serving pod is reported once the pod is ready.
func TestReadyPods(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	server, other := w.pod(map[string]string{"hold": "true"}), w.pod(map[string]string{"hold": "true"})
	server.Labels[pod.LabelServes] = "true"
	plain, task := w.start(other), w.start(server)
	w.untilRunning(plain)
	o := w.until(task, "that it serves", func(o launcher.Observation) bool { return o.Serving != nil })
	live, err := w.api.CoreV1().Pods(w.namespace).Get(t.Context(), pod.Name(task), metav1.GetOptions{})
	if err != nil || o.Serving.Address == "" || o.Serving.Address != live.Status.PodIP {
		t.Errorf("%+v %s %v", o.Serving, live.Status.PodIP, err)
	}
	if o := w.last(plain); o.Serving != nil {
		t.Errorf("unexpected serving state: %+v", o.Serving)
	}
}

func TestDeletedByHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	task := w.start(w.pod(map[string]string{"hold": "true"}))
	w.untilRunning(task)
	none := int64(0)
	if err := w.api.CoreV1().Pods(w.namespace).Delete(t.Context(), pod.Name(task), metav1.DeleteOptions{GracePeriodSeconds: &none}); err != nil {
		t.Fatal(err)
	}
	w.untilEnd(task, launcher.ClassDeleted)
}

func TestNamespaceGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	task := w.start(w.pod(map[string]string{"hold": "true", "delete-after": "2s"}))
	w.untilRunning(task)
	if err := w.api.CoreV1().Namespaces().Delete(t.Context(), w.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.untilEnd(task, launcher.ClassNamespace)
	_, err := w.api.CoreV1().Pods(w.namespace).Create(t.Context(), w.pod(nil), metav1.CreateOptions{})
	if err == nil {
		return // the namespace is gone and back already
	}
	if end, wait := outcome.Refusal(err); (end == nil || end.Class != launcher.ClassNamespace) && wait == nil {
		t.Errorf("refused: %v", err)
	}
}

// TestMachineLost: a machine stops reporting its state until the cluster itself notices.
// Its pod counts as lost long before the cluster evicts it, and its object is removed by
// force.
func TestMachineLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	name := "watch-" + w.installation
	machine := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"watch": w.installation}}}
	machine.Spec.Taints = []corev1.Taint{{Key: "watch", Value: w.installation, Effect: corev1.TaintEffectNoSchedule}}
	if _, err := w.api.CoreV1().Nodes().Create(t.Context(), machine, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.api.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}) })
	w.ready(name)
	p := w.pod(nil)
	p.Spec.NodeName, p.Spec.NodeSelector = name, nil
	p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	task := w.start(p)
	w.until(task, "its machine", func(o launcher.Observation) bool { return o.Location != nil && o.Location.Machine == name })
	if end := w.untilEnd(task, launcher.ClassMachineLost); !strings.Contains(end.Message, "stopped posting") {
		t.Errorf("the cluster's message is missing: %q", end.Message)
	}
	w.untilGone(task)
}

// ready reports a machine as ready once, as its kubelet does.
func (w *world) ready(name string) {
	w.t.Helper()
	patch := `{"status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"}],"allocatable":{"cpu":"4","memory":"8Gi","pods":"10"},"capacity":{"cpu":"4","memory":"8Gi","pods":"10"}}}`
	if _, err := w.api.CoreV1().Nodes().Patch(w.t.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
		w.t.Fatal(err)
	}
}

// TestOrphans: only the pod of an attempt that is no longer needed is removed.
func TestOrphans(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	orphan := w.start(w.pod(map[string]string{"hold": "true"}))
	desired := w.start(w.pod(map[string]string{"hold": "true"}))
	foreign := w.pod(map[string]string{"hold": "true"})
	foreign.Labels[pod.LabelInstallation] = "another-installation"
	w.start(foreign)
	w.untilRunning(orphan)
	w.kill(orphan)
	w.untilGone(orphan)
	w.untilRunning(desired)
	w.untilRunning(foreign.Labels[pod.LabelTask])
	if o := w.last(orphan); o.End != nil {
		t.Errorf("the removal of an orphan was reported: %+v", o.End)
	}
}

// TestStubborn: a pod that does not end by itself is removed by force.
func TestStubborn(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	p := w.pod(map[string]string{"hold": "true", "delete-after": "1h"})
	grace := int64(1)
	p.Spec.TerminationGracePeriodSeconds = &grace
	task := w.start(p)
	w.untilRunning(task)
	w.kill(task)
	w.untilGone(task)
}

func TestRefusedByPodSecurity(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	p := w.pod(nil)
	yes := true
	p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: &yes}
	_, err := w.api.CoreV1().Pods(w.namespace).Create(t.Context(), p, metav1.CreateOptions{})
	end, wait := outcome.Refusal(err)
	if end == nil || wait != nil || end.Class != launcher.ClassRefused || !strings.Contains(end.Message, "privileged") {
		t.Errorf("%v: %+v %+v", err, end, wait)
	}
}

// TestNamespace follows a project's namespace from creation to deletion.
func TestNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	two, four := int64(2), int64(4000)
	w.projects[0].Limits = kube.Limits{Pods: &two, CPUMillis: &four, GPUs: &two}
	w.run()
	core := w.api.CoreV1()
	quota := func(name corev1.ResourceName, want string) {
		t.Helper()
		w.poll(string(name)+"="+want, func(ctx context.Context) bool {
			q, err := core.ResourceQuotas(w.namespace).Get(ctx, "flowforge", metav1.GetOptions{})
			have := q.Spec.Hard[name]
			return err == nil && have.Cmp(resource.MustParse(want)) == 0
		})
	}
	quota(corev1.ResourcePods, "2")
	quota(corev1.ResourceRequestsCPU, "4")
	quota("requests.nvidia.com/gpu", "2")
	w.poll("the policy", func(ctx context.Context) bool {
		policy, err := w.api.NetworkingV1().NetworkPolicies(w.namespace).Get(ctx, "flowforge", metav1.GetOptions{})
		return err == nil && len(policy.Spec.PolicyTypes) == 2
	})
	space, err := core.Namespaces().Get(t.Context(), w.namespace, metav1.GetOptions{})
	if err != nil || space.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Errorf("namespace: %v %v", space.Labels, err)
	}
	w.unlimited()
	w.refusedByQuota()

	three := int64(3) // the quota changes
	w.mu.Lock()
	w.projects[0].Limits.Pods = &three
	w.mu.Unlock()
	quota(corev1.ResourcePods, "3")

	drift := `{"spec":{"hard":{"pods":"1000"}}}` // a manual change
	if _, err := core.ResourceQuotas(w.namespace).Patch(t.Context(), "flowforge", types.MergePatchType, []byte(drift), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.api.NetworkingV1().NetworkPolicies(w.namespace).Delete(t.Context(), "flowforge", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	quota(corev1.ResourcePods, "3")
	w.poll("the policy again", func(ctx context.Context) bool {
		_, err := w.api.NetworkingV1().NetworkPolicies(w.namespace).Get(ctx, "flowforge", metav1.GetOptions{})
		return err == nil
	})
	servers, err := w.api.NetworkingV1().NetworkPolicies(w.namespace).Get(t.Context(), "flowforge-servers", metav1.GetOptions{})
	if err != nil || servers.Spec.PodSelector.MatchLabels[pod.LabelServes] != "true" || len(servers.Spec.Ingress) != 1 {
		t.Errorf("the policy of pods that serve others: %+v %v", servers.Spec, err)
	}
	w.archive()
}

// unlimited checks that the namespace adds a request to a container that has none, and no limit.
func (w *world) unlimited() {
	w.t.Helper()
	p := w.pod(nil)
	p.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
	made, err := w.api.CoreV1().Pods(w.namespace).Create(w.t.Context(), p, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		w.t.Fatal(err)
	}
	if has := made.Spec.Containers[0].Resources; has.Requests.Memory().IsZero() || len(has.Limits) > 0 {
		w.t.Errorf("requests %v, limits %v", has.Requests, has.Limits)
	}
}

// refusedByQuota checks that a pod that exceeds the quota waits.
func (w *world) refusedByQuota() {
	w.t.Helper()
	for range 2 {
		w.start(w.pod(map[string]string{"hold": "true"}))
	}
	w.poll("a refusal", func(ctx context.Context) bool {
		_, err := w.api.CoreV1().Pods(w.namespace).Create(ctx, w.pod(map[string]string{"hold": "true"}), metav1.CreateOptions{})
		end, wait := outcome.Refusal(err)
		return end == nil && wait != nil && strings.Contains(wait.Message, "exceeded quota")
	})
}

// archive checks that the namespace of an archived project is removed when it is empty.
func (w *world) archive() {
	w.t.Helper()
	w.mu.Lock()
	w.projects[0].Archived = true
	for task := range w.seen {
		w.dead[task] = true
	}
	w.mu.Unlock()
	w.poll("the end of the namespace", func(ctx context.Context) bool {
		ns, err := w.api.CoreV1().Namespaces().Get(ctx, w.namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err) || err == nil && ns.DeletionTimestamp != nil
	})
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	w.until("", "the capacity", func(launcher.Observation) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.capacity.Machines >= 4 && w.capacity.GPUs["FAKE-H200"] > 0 && w.capacity.CPUMillis > 0 && w.capacity.MemoryMiB > 0
	})
}
