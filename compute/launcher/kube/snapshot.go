package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

const (
	snapshotLeast = 30 * time.Second // maximum interval, without changes
	snapshotMost  = 2 * time.Second  // minimum interval, under load
)

// snapshots holds the last stored snapshot.
type snapshots struct {
	last    string
	at      time.Time
	version string
	answers bool
	since   time.Time
}

// take stores the state of the cluster when it is due.
func (s *snapshots) take(ctx context.Context, c *Controller, others map[string]corev1.ResourceList) {
	now := c.now()
	if c.config.Snapshot == nil || !s.at.IsZero() && now.Sub(s.at) < snapshotMost {
		return
	}
	unreachable := c.health.unreachableReason()
	if answers := unreachable == ""; answers != s.answers || s.since.IsZero() {
		s.answers, s.since = answers, now
	}
	if s.version == "" && s.answers {
		if v, err := c.api.Discovery().ServerVersion(); err == nil {
			s.version = v.GitVersion
		}
	}
	snapshot := launcher.ClusterState{
		Cluster: c.config.Cluster, Version: s.version, Answers: s.answers, Since: s.since.UTC(), Error: unreachable,
	}
	used := c.usedByMachine(&snapshot, others)
	for _, obj := range c.machines.GetStore().List() {
		if n, ok := obj.(*corev1.Node); ok {
			snapshot.Machines = append(snapshot.Machines, c.machineState(n, used[n.Name]))
		}
	}
	slices.SortFunc(snapshot.Machines, func(a, b launcher.MachineState) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.Marshal(snapshot)
	if err != nil || string(text) == s.last && now.Sub(s.at) < snapshotLeast {
		return
	}
	if err := c.config.Snapshot(ctx, text); err != nil {
		if ctx.Err() == nil {
			c.logger.Warn("The state of the cluster cannot be stored.", "error", err)
		}
		return
	}
	s.last, s.at = string(text), now
}

// usedByMachine counts pods by state and namespace, and sums their requests.
func (c *Controller) usedByMachine(s *launcher.ClusterState, others map[string]corev1.ResourceList) map[string]corev1.ResourceList {
	used := map[string]corev1.ResourceList{}
	for machine, list := range others {
		used[machine] = list.DeepCopy()
	}
	s.Pods = map[string]int{}
	inSpace := map[string]int{}
	one := corev1.ResourceList{corev1.ResourcePods: *onePod()}
	for _, obj := range c.pods.GetStore().List() {
		p, ok := obj.(*corev1.Pod)
		if !ok {
			continue
		}
		s.Pods[stateOf(p)]++
		inSpace[p.Namespace]++
		if over := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed; p.Spec.NodeName == "" || over {
			continue
		}
		if used[p.Spec.NodeName] == nil {
			used[p.Spec.NodeName] = corev1.ResourceList{}
		}
		addTo(used[p.Spec.NodeName], requests(&p.Spec))
		addTo(used[p.Spec.NodeName], one)
	}
	for _, obj := range c.namespaces.GetStore().List() {
		if n, ok := obj.(*corev1.Namespace); ok {
			s.Namespaces = append(s.Namespaces, launcher.NamespaceState{
				ProjectID: n.Labels[pod.LabelProject], Namespace: n.Name,
				Phase: string(cmp.Or(n.Status.Phase, corev1.NamespaceActive)), Pods: inSpace[n.Name], Error: c.keeper.errorOf(n.Name),
			})
		}
	}
	slices.SortFunc(s.Namespaces, func(a, b launcher.NamespaceState) int { return strings.Compare(a.Namespace, b.Namespace) })
	return used
}

func (c *Controller) machineState(n *corev1.Node, used corev1.ResourceList) launcher.MachineState {
	have, gpu := n.Status.Allocatable, corev1.ResourceName(c.config.GPUResource)
	value := func(list corev1.ResourceList, name corev1.ResourceName) int64 {
		q := list[name]
		return q.Value()
	}
	cpu, cpuUsed := have[corev1.ResourceCPU], used[corev1.ResourceCPU]
	m := launcher.MachineState{
		Name: n.Name, Ready: ready(n), Cordoned: n.Spec.Unschedulable, Message: c.health.lostReason(n.Name),
		CPUMillis: cpu.MilliValue(), CPUUsed: cpuUsed.MilliValue(),
		MemoryMiB: value(have, corev1.ResourceMemory) >> mib, MemoryUsed: value(used, corev1.ResourceMemory) >> mib,
		Pods: value(used, corev1.ResourcePods), PodLimit: value(have, corev1.ResourcePods),
	}
	if m.Message == "" && !m.Ready {
		for _, cond := range n.Status.Conditions {
			m.Message = cond.Message
		}
	}
	if total := value(have, gpu); total > 0 {
		m.GPUs = []launcher.GPUState{{Type: c.config.GPUTypes.Of(n.Labels[c.config.GPULabel]), Total: total, Used: value(used, gpu)}}
	}
	return m
}

// stateOf returns the state of a pod as one word.
func stateOf(p *corev1.Pod) string {
	switch {
	case p.DeletionTimestamp != nil:
		return "terminating"
	case p.Status.Phase == corev1.PodPending && p.Spec.NodeName == "":
		for _, cond := range p.Status.Conditions {
			if cond.Type == corev1.PodScheduled && cond.Reason == corev1.PodReasonUnschedulable {
				return "unschedulable"
			}
		}
		return "pending"
	case p.Status.Phase == "":
		return "pending"
	default:
		return strings.ToLower(string(p.Status.Phase))
	}
}
