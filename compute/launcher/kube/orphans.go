package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/flowforge/flowforge/compute/launcher/kube/outcome"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

const (
	reapEvery   = 500 * time.Millisecond
	reapBatch   = 1000
	reapAtOnce  = 8
	reapLongest = 30 * time.Second // maximum interval between checks of the same pod
)

// reaper holds the pods that must be checked for removal.
type reaper struct {
	mu  sync.Mutex
	due map[string]podRemoval // by key
}

type podRemoval struct {
	uid  types.UID
	at   time.Time
	wait time.Duration // until the next check
}

// reapSoon removes a pod as soon as the end of its attempt is recorded.
func (c *Controller) reapSoon(p *corev1.Pod) {
	c.reaper.add(p, c.now())
}

func (r *reaper) add(p *corev1.Pod, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if was, ok := r.due[keyOf(p)]; ok && was.uid == p.UID && !at.Before(was.at) {
		return
	}
	r.due[keyOf(p)] = podRemoval{uid: p.UID, at: at, wait: reapEvery}
}

func (r *reaper) forget(key string, uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.due[key].uid == uid {
		delete(r.due, key)
	}
}

// reschedule schedules the next check of a pod, with increasing intervals.
func (r *reaper) reschedule(key string, uid types.UID, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if was, ok := r.due[key]; ok && was.uid == uid {
		if at.IsZero() {
			at = was.at.Add(was.wait)
		}
		r.due[key] = podRemoval{uid: uid, at: at, wait: min(2*was.wait, reapLongest)}
	}
}

// take returns the pods that are due, at most one batch.
func (r *reaper) take(now time.Time) map[string]types.UID {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch := map[string]types.UID{}
	for key, one := range r.due {
		if one.at.After(now) {
			continue
		}
		if batch[key] = one.uid; len(batch) == reapBatch {
			break
		}
	}
	return batch
}

// reapForever removes the pods of ended attempts.
func (c *Controller) reapForever(ctx context.Context) {
	swept := c.now().Add(-c.config.Timing.Sweep)
	every(ctx, reapEvery, func(ctx context.Context) {
		if now := c.now(); now.Sub(swept) >= c.config.Timing.Sweep {
			swept = now
			c.sweep(now)
			if err := c.sweepShared(ctx); err != nil && ctx.Err() == nil {
				c.logger.Warn("Shared objects of ended executions cannot be removed yet.", "error", err)
			}
		}
		if err := c.reapOnce(ctx); err != nil && ctx.Err() == nil {
			c.logger.Warn("Pods that are no longer needed cannot be removed yet.", "error", err)
		}
	})
}

// sweep checks all pods, so that none outlives its execution.
func (c *Controller) sweep(now time.Time) {
	for _, obj := range c.pods.GetStore().List() {
		p, ok := obj.(*corev1.Pod)
		if ok && taskOf(p) != "" && now.Sub(p.CreationTimestamp.Time) >= c.config.Timing.OrphanGrace {
			c.reaper.add(p, now)
		}
	}
}

func (c *Controller) reapOnce(ctx context.Context) error {
	due := c.reaper.take(c.now())
	pods := make([]*corev1.Pod, 0, len(due))
	tasks := make([]string, 0, len(due))
	for key, uid := range due {
		p := c.podOf(key, uid)
		if p == nil {
			c.reaper.forget(key, uid)
			continue
		}
		pods = append(pods, p)
		tasks = append(tasks, taskOf(p))
	}
	if len(pods) == 0 {
		return nil
	}
	alive, err := c.config.Alive(ctx, tasks)
	if err != nil {
		return fmt.Errorf("ask which attempts are alive: %w", err)
	}
	// A pod that cannot be removed does not prevent the removal of the others.
	var group errgroup.Group
	group.SetLimit(reapAtOnce)
	for _, p := range pods {
		if alive[taskOf(p)] {
			c.keepAlive(p)
			continue
		}
		c.reapGang(p)
		group.Go(func() error { return c.remove(ctx, p) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("remove pods: %w", err)
	}
	return nil
}

// reapGang removes the other pods of an ended attempt with this one.
func (c *Controller) reapGang(p *corev1.Pod) {
	if rankOf(p) == "" {
		return
	}
	siblings, err := c.pods.GetIndexer().ByIndex(byGang, taskOf(p))
	if err != nil {
		return
	}
	for _, obj := range siblings {
		if sibling, ok := obj.(*corev1.Pod); ok && sibling.DeletionTimestamp == nil && sibling.UID != p.UID {
			c.reapSoon(sibling)
		}
	}
}

// keepAlive keeps a pod whose attempt is alive. A pod that ended is checked again; if the
// result that its runner reported does not arrive, the pod's own status counts.
func (c *Controller) keepAlive(p *corev1.Pod) {
	key := keyOf(p)
	if !outcome.Ended(p, c.timeouts) {
		c.reaper.forget(key, p.UID)
		return
	}
	c.reaper.reschedule(key, p.UID, time.Time{})
	if !c.noteOf(p.UID).overdue && c.now().Sub(endedAt(p)) >= c.config.Timing.Result {
		c.change(p.UID, func(n *note) { n.overdue = true })
		c.queue.Add(key)
	}
}

// remove deletes a pod: with its grace period, or by force when that has expired or its
// machine is lost. A failed pod is kept for some time for inspection.
func (c *Controller) remove(ctx context.Context, p *corev1.Pod) error {
	key, now := keyOf(p), c.now()
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}}
	none := int64(0)
	switch {
	case p.DeletionTimestamp != nil:
		// The timestamp is the end of the grace period.
		force := p.DeletionTimestamp.Add(c.config.Timing.Force)
		if now.Before(force) && c.health.lostReason(p.Spec.NodeName) == "" {
			c.reaper.reschedule(key, p.UID, force)
			return nil
		}
		options.GracePeriodSeconds = &none
	case failed(p) && now.Before(endedAt(p).Add(c.config.KeepFailed)):
		c.reaper.reschedule(key, p.UID, endedAt(p).Add(c.config.KeepFailed))
		return nil
	case p.Status.Phase == corev1.PodFailed, p.Status.Phase == corev1.PodSucceeded, c.health.lostReason(p.Spec.NodeName) != "":
		options.GracePeriodSeconds = &none // no process runs there, or none can be ended
	}
	c.change(p.UID, func(n *note) { n.reaped = true })
	if err := c.removeJobSet(ctx, p); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := c.api.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, options)
	c.reaper.reschedule(key, p.UID, now.Add(c.config.Timing.Force))
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("delete the pod %s: %w", key, err)
}

// removeJobSet deletes the JobSet that created a pod; it would otherwise create the pod
// again and remain forever with the gang's Secret.
func (c *Controller) removeJobSet(ctx context.Context, p *corev1.Pod) error {
	if c.config.Dynamic == nil || rankOf(p) == "" || p.Labels[pod.LabelRank] != "" {
		return nil
	}
	if _, err := deleteJobSet(ctx, c.config.Dynamic, p.Namespace, pod.Name(taskOf(p))); err != nil {
		return fmt.Errorf("delete the JobSet of the pod %s: %w", keyOf(p), err)
	}
	return nil
}

func failed(p *corev1.Pod) bool {
	if p.Status.Phase == corev1.PodFailed {
		return true
	}
	for _, s := range p.Status.ContainerStatuses {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
			return true
		}
	}
	return false
}

// endedAt returns when the last container of a pod ended, or when the pod was created.
func endedAt(p *corev1.Pod) time.Time {
	at := p.CreationTimestamp.Time
	for _, all := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for _, s := range all {
			if t := s.State.Terminated; t != nil && t.FinishedAt.After(at) {
				at = t.FinishedAt.Time
			}
		}
	}
	return at
}

// nodeOf returns the cluster node that an informer's handler received.
func nodeOf(obj any) *corev1.Node {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	n, _ := obj.(*corev1.Node)
	return n
}
