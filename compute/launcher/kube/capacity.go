package kube

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// Capacity is the allocatable capacity of the cluster's ready, schedulable machines, and
// what the pods of other installations use of it.
type Capacity struct {
	Amounts

	InUse    Amounts
	Machines int
}

// Amounts is a sum of pod requests.
type Amounts struct {
	CPUMillis, MemoryMiB, Pods int64
	GPUs                       map[string]int // by type; "": the machine does not report one
}

func (a Amounts) equal(other Amounts) bool {
	return maps.Equal(a.GPUs, other.GPUs) && a.CPUMillis == other.CPUMillis && a.MemoryMiB == other.MemoryMiB && a.Pods == other.Pods
}

func (c Capacity) equal(other Capacity) bool {
	return c.Amounts.equal(other.Amounts) && c.InUse.equal(other.InUse) && c.Machines == other.Machines
}

// countForever reports the capacity of the cluster and its state whenever they change.
func (c *Controller) countForever(ctx context.Context) {
	others := map[string]corev1.ResourceList{}
	next := c.now()
	every(ctx, c.config.Timing.Probe, func(ctx context.Context) {
		if now := c.now(); !now.Before(next) {
			next = now.Add(c.config.Timing.Capacity)
			taken, err := c.taken(ctx)
			switch {
			case err == nil:
				others = taken
			case ctx.Err() == nil:
				c.logger.Warn("The requests of other pods cannot be read.", "error", err)
			}
		}
		c.snapshots.take(ctx, c, others)
		if c.health.unreachableReason() != "" || c.config.Capacity == nil {
			return // keep the last known values
		}
		capacity := c.count(others)
		c.mu.Lock()
		changed := !capacity.equal(c.capacity)
		c.capacity = capacity
		c.mu.Unlock()
		if changed {
			c.config.Capacity(capacity)
		}
	})
}

// taken returns what pods of other installations request, by machine.
func (c *Controller) taken(ctx context.Context) (map[string]corev1.ResourceList, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, err := c.api.CoreV1().Pods("").List(ctx, metav1.ListOptions{
		LabelSelector:   pod.LabelInstallation + "!=" + c.config.Installation,
		FieldSelector:   "status.phase!=Succeeded,status.phase!=Failed",
		ResourceVersion: "0",
	})
	if err != nil {
		return nil, fmt.Errorf("list the pods of others: %w", err)
	}
	taken := map[string]corev1.ResourceList{}
	for i := range list.Items {
		p := &list.Items[i]
		if p.Spec.NodeName == "" {
			continue
		}
		if taken[p.Spec.NodeName] == nil {
			taken[p.Spec.NodeName] = corev1.ResourceList{}
		}
		addTo(taken[p.Spec.NodeName], requests(&p.Spec))
		addTo(taken[p.Spec.NodeName], corev1.ResourceList{corev1.ResourcePods: *onePod()})
	}
	return taken, nil
}

// requests returns what a machine reserves for a pod: the sum of its containers, or its
// largest init container if that is more.
func requests(spec *corev1.PodSpec) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for i := range spec.Containers {
		addTo(sum, spec.Containers[i].Resources.Requests)
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			addTo(sum, c.Resources.Requests)
			continue
		}
		for name, q := range c.Resources.Requests {
			if have := sum[name]; q.Cmp(have) > 0 {
				sum[name] = q
			}
		}
	}
	addTo(sum, spec.Overhead)
	return sum
}

func onePod() *resource.Quantity { return resource.NewQuantity(1, resource.DecimalSI) }

func addTo(sum, more corev1.ResourceList) {
	for name, q := range more {
		have := sum[name]
		have.Add(q)
		sum[name] = have
	}
}

// add adds list, whose GPUs are of one type.
func (a *Amounts) add(list corev1.ResourceList, gpu, kind string) {
	a.CPUMillis += list.Cpu().MilliValue()
	a.MemoryMiB += list.Memory().Value() >> mib
	a.Pods += list.Pods().Value()
	if gpus := list[corev1.ResourceName(gpu)]; gpus.Value() > 0 {
		a.GPUs[kind] += int(gpus.Value())
	}
}

// count sums the capacity of the schedulable machines.
func (c *Controller) count(others map[string]corev1.ResourceList) Capacity {
	total := Capacity{Amounts: Amounts{GPUs: map[string]int{}}, InUse: Amounts{GPUs: map[string]int{}}}
	for _, obj := range c.machines.GetStore().List() {
		n, ok := obj.(*corev1.Node)
		if !ok || !usable(n) || c.health.lostReason(n.Name) != "" {
			continue
		}
		total.Machines++
		taken := corev1.ResourceList{}
		for name, q := range n.Status.Allocatable {
			taken[name] = q
			if others := others[n.Name][name]; others.Cmp(q) < 0 {
				taken[name] = others
			}
		}
		kind := c.config.GPUTypes.Of(n.Labels[c.config.GPULabel])
		total.add(n.Status.Allocatable, c.config.GPUResource, kind)
		total.InUse.add(taken, c.config.GPUResource, kind)
	}
	return total
}

const mib = 20 // as a power of two

// usable reports whether a machine is ready and schedulable. Taints that operators can
// tolerate, such as those of GPU machines, do not make it unusable.
func usable(n *corev1.Node) bool {
	if n.Spec.Unschedulable || n.DeletionTimestamp != nil || !ready(n) {
		return false
	}
	for _, t := range n.Spec.Taints {
		if t.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if strings.HasPrefix(t.Key, "node.kubernetes.io/") || t.Key == "node-role.kubernetes.io/control-plane" || t.Key == "node-role.kubernetes.io/master" {
			return false
		}
	}
	return true
}

func ready(n *corev1.Node) bool {
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady {
			return cond.Status == corev1.ConditionTrue
		}
	}
	return false
}
