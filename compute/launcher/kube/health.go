package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	leaseNamespace   = "kube-node-lease"
	unreachableAfter = 5 * time.Second  // after which an API without response counts as unreachable
	leaseTerm        = 40 * time.Second // default term of a machine's lease
)

// health is the state of the API and of the machines.
type health struct {
	mu          sync.Mutex
	last        time.Time // when the API last answered
	failure     string    // its latest error; "" when it answered
	unreachable bool
	settled     time.Time            // before this time no machine counts as lost
	leases      map[string]leaseSeen // by machine
	silent      map[string]time.Time // machines that are not ready or removed, and since when
	why         map[string]string    // reason of the cluster for each of those
	lost        map[string]string    // lost machines and reasons
}

// leaseSeen is a machine's lease. As for every lease, the reader's clock applies, from
// the time at which it saw the last renewal.
type leaseSeen struct {
	renewed time.Time // as written by the machine
	seen    time.Time // when it was first seen
	term    time.Duration
}

// lostReason returns why a machine counts as lost; "" when it does not.
func (h *health) lostReason(machine string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lost[machine]
}

// MachineLost returns why a machine counts as lost; "" when it does not.
func (c *Controller) MachineLost(machine string) string { return c.health.lostReason(machine) }

// unreachableReason returns since when the API does not respond; "" when it does.
func (h *health) unreachableReason() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.unreachable {
		return ""
	}
	return "The cluster's API has not responded since " + h.last.UTC().Format("15:04:05") + " UTC: " + h.failure
}

// probe periodically checks whether the API responds, and with the same request whether
// machines renew their leases.
func (c *Controller) probe(ctx context.Context) {
	every(ctx, c.config.Timing.Probe, func(ctx context.Context) {
		leases, err := c.listLeases(ctx)
		if ctx.Err() != nil {
			return
		}
		if c.health.answered(err, c.now(), c.config.Timing.Settle) {
			c.evaluateUnstarted()
		}
		if err != nil {
			return
		}
		c.health.renewals(leases, c.now())
		c.markLost(ctx)
	})
}

func (c *Controller) listLeases(ctx context.Context) ([]coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	// The API server answers version 0 from its cache.
	list, err := c.api.CoordinationV1().Leases(leaseNamespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	switch {
	case err == nil:
		return list.Items, nil
	case apierrors.IsForbidden(err): // the API responds but denies access to leases
		return nil, nil
	default:
		return nil, fmt.Errorf("list the leases of machines: %w", err)
	}
}

// answered records whether the API responds, and reports whether that has changed.
func (h *health) answered(err error, now time.Time, settle time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		changed := h.unreachable
		if h.failure != "" {
			h.settled = now.Add(settle)
		}
		h.last, h.failure, h.unreachable = now, "", false
		return changed
	}
	h.failure = err.Error()
	changed := !h.unreachable && now.Sub(h.last) >= unreachableAfter
	h.unreachable = h.unreachable || changed
	return changed
}

// renewals records when machines renewed their leases.
func (h *health) renewals(leases []coordinationv1.Lease, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.leases
	h.leases = make(map[string]leaseSeen, len(leases))
	for i := range leases {
		spec := &leases[i].Spec
		if spec.RenewTime == nil {
			continue
		}
		seen := known[leases[i].Name]
		if !seen.renewed.Equal(spec.RenewTime.Time) || seen.seen.IsZero() || seen.seen.Before(h.settled) {
			seen = leaseSeen{renewed: spec.RenewTime.Time, seen: now}
		}
		seen.term = leaseTerm
		if spec.LeaseDurationSeconds != nil {
			seen.term = time.Duration(*spec.LeaseDurationSeconds) * time.Second
		}
		h.leases[leases[i].Name] = seen
	}
}

// machineChanged records whether a machine is reachable. A machine whose state the
// cluster does not know is unreachable; one that is merely not ready still reports its
// pods.
func (c *Controller) machineChanged(obj any) {
	n, ok := obj.(*corev1.Node)
	if !ok {
		return
	}
	why := ""
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady && cond.Status == corev1.ConditionUnknown {
			why = cond.Message
			if why == "" {
				why = "it stopped reporting its state."
			}
		}
	}
	c.health.suspect(n.Name, why, c.now())
}

// machineGone marks a machine that was removed from the cluster as unreachable.
func (c *Controller) machineGone(obj any) {
	if n := nodeOf(obj); n != nil {
		c.health.suspect(n.Name, "it was removed from the cluster.", c.now())
	}
}

// suspect records since when a machine is unreachable; why is "" when it is reachable.
func (h *health) suspect(machine, why string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.silent == nil {
		h.silent, h.why = map[string]time.Time{}, map[string]string{}
	}
	if why == "" {
		delete(h.silent, machine)
		delete(h.why, machine)
		return
	}
	if _, ok := h.silent[machine]; !ok {
		h.silent[machine] = now
	}
	h.why[machine] = why
}

// markLost decides which machines count as lost, and reevaluates the pods of machines for
// which that has changed.
func (c *Controller) markLost(ctx context.Context) {
	if !c.machines.HasSynced() || !c.pods.HasSynced() {
		return
	}
	c.suspectUnknown(ctx)
	for _, machine := range c.health.decide(c.now(), c.config.Timing.LostAfter) {
		c.evaluateMachine(machine)
	}
}

// suspectUnknown marks machines of pods that the cluster does not list as unreachable.
func (c *Controller) suspectUnknown(ctx context.Context) {
	for _, machine := range c.pods.GetIndexer().ListIndexFuncValues(byMachine) {
		if _, ok, _ := c.machines.GetStore().GetByKey(machine); ok || machine == "" {
			continue
		}
		if c.health.suspected(machine) {
			continue
		}
		call, cancel := context.WithTimeout(ctx, callTimeout)
		_, err := c.api.CoreV1().Nodes().Get(call, machine, metav1.GetOptions{})
		cancel()
		if apierrors.IsNotFound(err) {
			c.health.suspect(machine, "it was removed from the cluster.", c.now())
		}
	}
}

func (h *health) suspected(machine string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.silent[machine]
	return ok
}

// decide returns the machines whose lost state has changed.
func (h *health) decide(now time.Time, silence time.Duration) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Before(h.settled) {
		return nil
	}
	lost := map[string]string{}
	for machine, since := range h.silent {
		if now.Sub(since) >= silence {
			lost[machine] = h.why[machine]
		}
	}
	for machine, lease := range h.leases {
		if quiet := now.Sub(lease.seen); quiet > lease.term && lost[machine] == "" {
			lost[machine] = fmt.Sprintf("it has not renewed its lease for %s.", quiet.Round(time.Second))
			if was, ok := h.lost[machine]; ok {
				lost[machine] = was
			}
		}
	}
	var changed []string
	for machine := range lost {
		if h.lost[machine] == "" {
			changed = append(changed, machine)
		}
	}
	for machine := range h.lost {
		if lost[machine] == "" {
			changed = append(changed, machine)
		}
	}
	h.lost = lost
	return changed
}

func (c *Controller) evaluateMachine(machine string) {
	pods, err := c.pods.GetIndexer().ByIndex(byMachine, machine)
	if err != nil {
		return
	}
	for _, obj := range pods {
		c.enqueue(obj)
	}
}

// evaluateUnstarted reevaluates all pods that have not started.
func (c *Controller) evaluateUnstarted() {
	for _, obj := range c.pods.GetStore().List() {
		if p, ok := obj.(*corev1.Pod); ok && !started(p) {
			c.enqueue(p)
		}
	}
}
