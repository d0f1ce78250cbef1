package kube

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/flowforge/flowforge/compute/launcher"
)

const (
	earlyPods   = 2000 // pods whose events arrived before them
	earlyEvents = 20   // of each
)

// watchEvents forwards the events of pods as they arrive. It keeps none of them: a
// cluster has many events, and most concern no attempt.
func (c *Controller) watchEvents(ctx context.Context) {
	pods := fields.OneTermEqualSelector("involvedObject.kind", "Pod").String()
	source := listerWatcher(c.api, c.api.CoreV1().Events(metav1.NamespaceAll), func(o *metav1.ListOptions) { o.FieldSelector = pods })
	cache.NewReflectorWithOptions(source, &corev1.Event{}, eventSink{c}, cache.ReflectorOptions{Name: "events of pods"}).RunWithContext(ctx)
}

// eventSink is a store that forwards what is added and stays empty.
type eventSink struct{ controller *Controller }

// Add forwards an event.
func (s eventSink) Add(obj any) error {
	if e, ok := obj.(*corev1.Event); ok {
		s.controller.event(e)
	}
	return nil
}

// Update forwards an event that occurred again.
func (s eventSink) Update(obj any) error { return s.Add(obj) }

// Delete does nothing: events stay with their attempts.
func (s eventSink) Delete(any) error { return nil }

// Replace forwards all events that the cluster still has.
func (s eventSink) Replace(all []any, _ string) error {
	for _, obj := range all {
		_ = s.Add(obj)
	}
	return nil
}

// Resync does nothing.
func (s eventSink) Resync() error { return nil }

// event forwards an event of one of our pods.
func (c *Controller) event(e *corev1.Event) {
	if e.InvolvedObject.Kind != "Pod" || !strings.HasPrefix(e.InvolvedObject.Namespace, c.config.Namespace) {
		return
	}
	seen := eventOf(e)
	uid := e.InvolvedObject.UID
	p := c.podOf(e.InvolvedObject.Namespace+"/"+e.InvolvedObject.Name, uid)
	if p == nil {
		c.bufferEvent(uid, seen)
		return
	}
	c.reports.events(taskOf(p), []launcher.Event{seen})
	if seen.Warning && preventsStart(seen.Reason) && !started(p) {
		c.change(uid, func(n *note) { n.warning = seen.Message })
		c.queue.Add(keyOf(p))
	}
}

// preventsStart reports whether a warning explains why a pod does not start. Messages of the
// scheduler, images and commands are in the pod itself.
func preventsStart(reason string) bool {
	switch reason {
	case "FailedCreatePodSandBox", "FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodContainer", "FailedPrepareDynamicResources":
		return true
	default:
		return false
	}
}

// podOf returns the pod of an attempt by key, if it is the same object.
func (c *Controller) podOf(key string, uid types.UID) *corev1.Pod {
	obj, _, _ := c.pods.GetStore().GetByKey(key)
	p, ok := obj.(*corev1.Pod)
	if !ok {
		c.mu.Lock()
		p = c.deletedPods[key].pod
		c.mu.Unlock()
	}
	if p == nil || p.UID != uid || taskOf(p) == "" {
		return nil
	}
	return p
}

// bufferEvent keeps an event until its pod is seen: the two arrive through different
// watches.
func (c *Controller) bufferEvent(uid types.UID, e launcher.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.early[uid]; !ok && len(c.early) >= earlyPods {
		for other := range c.early { // any: entries of deleted pods would otherwise stay forever
			delete(c.early, other)
			break
		}
	}
	if len(c.early[uid]) < earlyEvents {
		c.early[uid] = append(c.early[uid], e)
	}
}

func eventOf(e *corev1.Event) launcher.Event {
	const most = 2000
	seen := launcher.Event{
		ID: string(e.UID), At: eventTime(e), Warning: e.Type == corev1.EventTypeWarning,
		Reason: e.Reason, Message: e.Message, Count: int(max(e.Count, 1)),
	}
	if e.Series != nil {
		seen.Count = int(max(e.Series.Count, e.Count, 1))
	}
	if len(seen.Message) > most {
		seen.Message = strings.ToValidUTF8(seen.Message[:most], "") + "…"
	}
	return seen
}

// eventTime returns when an event last occurred; the field depends on the reporter.
func eventTime(e *corev1.Event) time.Time {
	at := e.CreationTimestamp.Time
	for _, t := range []time.Time{e.FirstTimestamp.Time, e.EventTime.Time, e.LastTimestamp.Time} {
		if t.After(at) {
			at = t
		}
	}
	if e.Series != nil && e.Series.LastObservedTime.After(at) {
		at = e.Series.LastObservedTime.Time
	}
	return at
}
