package kube

import (
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/flowforge/flowforge/compute/launcher/kube/outcome"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// Indexes of pods.
const (
	byMachine = "machine"
	byGang    = "gang" // pods of attempts with several pods
)

// open creates the informers. They keep only the parts of objects that evaluation needs:
// with thousands of pods the other parts would use most of the memory.
func (c *Controller) open() error {
	ours := pod.Selector(c.config.Installation)
	c.pods = newInformer(c.api, c.api.CoreV1().Pods(metav1.NamespaceAll), &corev1.Pod{}, ours)
	c.namespaces = newInformer(c.api, c.api.CoreV1().Namespaces(), &corev1.Namespace{}, ours)
	c.machines = newInformer(c.api, c.api.CoreV1().Nodes(), &corev1.Node{}, "")
	err := errors.Join(
		c.pods.SetTransform(slimPod), c.machines.SetTransform(slimMachine), c.namespaces.SetTransform(slimNamespace),
		c.pods.AddIndexers(cache.Indexers{
			byMachine: func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil }, //nolint:forcetypeassert // the informer holds pods alone
			byGang: func(obj any) ([]string, error) {
				if p := obj.(*corev1.Pod); rankOf(p) != "" { //nolint:forcetypeassert // the informer holds pods alone
					return []string{taskOf(p)}, nil
				}
				return nil, nil
			},
		}),
	)
	_, errPods := c.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { c.enqueue(obj) },
		UpdateFunc: func(_, obj any) { c.enqueue(obj) },
		DeleteFunc: c.onDelete,
	})
	_, errMachines := c.machines.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.machineChanged,
		UpdateFunc: func(_, obj any) { c.machineChanged(obj) },
		DeleteFunc: c.machineGone,
	})
	return errors.Join(err, errPods, errMachines)
}

// enqueue queues a pod for evaluation.
func (c *Controller) enqueue(obj any) {
	p, ok := obj.(*corev1.Pod)
	if !ok || taskOf(p) == "" {
		return
	}
	key := keyOf(p)
	c.mu.Lock()
	events := c.early[p.UID]
	delete(c.early, p.UID)
	c.mu.Unlock()
	if len(events) > 0 {
		c.reports.events(taskOf(p), events)
	}
	c.queue.Add(key)
}

// onDelete queues a deleted pod for evaluation. After a gap in the watch the informer
// knows only that the pod existed: a live lookup decides.
func (c *Controller) onDelete(obj any) {
	unsure := false
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj, unsure = tombstone.Obj, true
	}
	p, ok := obj.(*corev1.Pod)
	if !ok || taskOf(p) == "" {
		return
	}
	key := keyOf(p)
	c.mu.Lock()
	c.deletedPods[key] = deletedPod{p, unsure}
	c.mu.Unlock()
	c.queue.Add(key)
}

func keyOf(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

// taskOf returns the attempt of a pod; "" for a warm pod.
func taskOf(p *corev1.Pod) string { return p.Labels[pod.LabelTask] }

// rankOf returns a pod's rank in its gang; "" for a pod that runs its attempt alone.
func rankOf(p *corev1.Pod) string {
	if rank := p.Labels[pod.LabelRank]; rank != "" || p.Labels[pod.LabelGang] == "" {
		return rank
	}
	return p.Labels[batchv1.JobCompletionIndexAnnotation] // pod of a JobSet
}

// slimPod keeps the parts of a pod that evaluating, counting and removing it need.
func slimPod(obj any) (any, error) {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	slim := &corev1.Pod{
		ObjectMeta: slimMeta(&p.ObjectMeta),
		Spec: corev1.PodSpec{
			NodeName: p.Spec.NodeName, TerminationGracePeriodSeconds: p.Spec.TerminationGracePeriodSeconds,
			InitContainers: slimContainers(p.Spec.InitContainers), Containers: slimContainers(p.Spec.Containers),
		},
		Status: corev1.PodStatus{
			Phase: p.Status.Phase, Reason: p.Status.Reason, Message: p.Status.Message,
			InitContainerStatuses: slimStatuses(p.Status.InitContainerStatuses),
			ContainerStatuses:     slimStatuses(p.Status.ContainerStatuses),
		},
	}
	serves := p.Labels[pod.LabelServes] != ""
	for _, cond := range p.Status.Conditions {
		if cond.Type == corev1.PodScheduled || cond.Type == corev1.DisruptionTarget || serves && cond.Type == corev1.PodReady {
			slim.Status.Conditions = append(slim.Status.Conditions, cond)
		}
	}
	if serves {
		slim.Status.PodIP = p.Status.PodIP
	}
	return slim, nil
}

func slimMeta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Labels: m.Labels,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, DeletionGracePeriodSeconds: m.DeletionGracePeriodSeconds,
	}
}

func slimContainers(all []corev1.Container) []corev1.Container {
	slim := make([]corev1.Container, 0, len(all))
	for i := range all {
		one := corev1.Container{Name: all[i].Name, RestartPolicy: all[i].RestartPolicy}
		one.Resources.Requests = all[i].Resources.Requests
		if q, ok := all[i].Resources.Limits[corev1.ResourceMemory]; ok {
			one.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: q}
		}
		slim = append(slim, one)
	}
	return slim
}

func slimStatuses(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	slim := make([]corev1.ContainerStatus, 0, len(all))
	for i := range all {
		s := &all[i]
		slim = append(slim, corev1.ContainerStatus{Name: s.Name, Image: s.Image, State: s.State, LastTerminationState: s.LastTerminationState})
	}
	return slim
}

// slimMachine keeps the capacity and the conditions of a cluster node.
func slimMachine(obj any) (any, error) {
	n, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	slim := &corev1.Node{
		ObjectMeta: slimMeta(&n.ObjectMeta),
		Spec:       corev1.NodeSpec{Unschedulable: n.Spec.Unschedulable, Taints: n.Spec.Taints},
		Status:     corev1.NodeStatus{Allocatable: n.Status.Allocatable},
	}
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady {
			cond.LastHeartbeatTime = metav1.Time{} // changes constantly
			slim.Status.Conditions = append(slim.Status.Conditions, cond)
		}
	}
	return slim, nil
}

func slimNamespace(obj any) (any, error) {
	n, ok := obj.(*corev1.Namespace)
	if !ok {
		return obj, nil
	}
	return &corev1.Namespace{ObjectMeta: slimMeta(&n.ObjectMeta), Status: corev1.NamespaceStatus{Phase: n.Status.Phase}}, nil
}

// started reports whether a pod's task was started.
func started(p *corev1.Pod) bool { return outcome.Started(p, outcome.Config{Container: pod.Container}) }
