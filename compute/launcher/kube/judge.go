package kube

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/outcome"
)

const (
	callTimeout = 10 * time.Second
	logTimeout  = 3 * time.Second // after which an end is reported without the log
	logLines    = 20
	logBytes    = 4 << 10
)

func (c *Controller) evaluateForever(ctx context.Context) {
	for {
		key, shut := c.queue.Get()
		if shut {
			return
		}
		if err := c.evaluate(ctx, key); err != nil {
			if ctx.Err() == nil {
				c.logger.Debug("judge a pod", "pod", key, "error", err)
			}
			c.queue.AddRateLimited(key)
		} else {
			c.queue.Forget(key)
		}
		c.queue.Done(key)
	}
}

// evaluate reports the state of a pod's attempt when it has changed.
func (c *Controller) evaluate(ctx context.Context, key string) error {
	pod, gone, err := c.find(ctx, key)
	if err != nil || pod == nil {
		return err
	}
	lost := ""
	if !gone {
		lost = c.health.lostReason(pod.Spec.NodeName)
	}
	known := c.noteOf(pod.UID)
	v := outcome.Of(outcome.Pod{
		Object: pod, Gone: gone, NamespaceGoing: c.namespaceGoing(pod.Namespace),
		MachineLost: lost, Warning: known.warning, Overdue: known.overdue,
	}, c.timeouts, c.now())
	if unreachable := c.health.unreachableReason(); unreachable != "" && v.End == nil && !started(pod) {
		v.Waiting = &launcher.Waiting{Code: launcher.WaitCluster, Message: unreachable}
	}
	if v.End != nil && v.Log != "" && !gone {
		v.End.Message = withLog(v.End.Message, c.logOf(ctx, pod, v.Log))
	}
	if !v.Again.IsZero() {
		c.queue.AddAfter(key, max(v.Again.Sub(c.now()), time.Second))
	}
	if !gone || !known.reaped {
		c.reports.put(pod, v)
	}
	switch {
	case gone:
		c.forget(key, pod.UID)
	case v.End != nil || outcome.Ended(pod, c.timeouts):
		c.reapSoon(pod)
	}
	return nil
}

// find returns a pod and whether it is deleted; nil when there is nothing to report.
func (c *Controller) find(ctx context.Context, key string) (*corev1.Pod, bool, error) {
	if obj, ok, _ := c.pods.GetStore().GetByKey(key); ok {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			return nil, false, nil
		}
		c.mu.Lock()
		delete(c.deletedPods, key) // recreated under its name: use the new pod
		c.mu.Unlock()
		return pod, false, nil
	}
	c.mu.Lock()
	d, ok := c.deletedPods[key]
	c.mu.Unlock()
	if !ok {
		return nil, false, nil
	}
	if !d.unsure {
		return d.pod, true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	live, err := c.api.CoreV1().Pods(d.pod.Namespace).Get(ctx, d.pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return d.pod, true, nil
	case err != nil:
		return nil, false, fmt.Errorf("look for the pod %s: %w", key, err)
	case live.UID != d.pod.UID: // recreated in the meantime and evaluated separately
		c.forget(key, d.pod.UID)
		return nil, false, nil
	default: // it exists: the informer will deliver it
		c.mu.Lock()
		delete(c.deletedPods, key)
		c.mu.Unlock()
		return nil, false, nil
	}
}

// namespaceGoing reports whether a namespace is being deleted or no longer exists.
func (c *Controller) namespaceGoing(name string) bool {
	obj, ok, _ := c.namespaces.GetStore().GetByKey(name)
	ns, isOne := obj.(*corev1.Namespace)
	return ok && isOne && (ns.DeletionTimestamp != nil || ns.Status.Phase == corev1.NamespaceTerminating)
}

// logOf returns the end of a container's log, or "". It is requested once.
func (c *Controller) logOf(ctx context.Context, pod *corev1.Pod, container string) string {
	if known := c.noteOf(pod.UID); known.logged {
		return known.log
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	lines, most := int64(logLines), int64(logBytes)
	stream, err := c.api.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, TailLines: &lines, LimitBytes: &most,
	}).Stream(ctx)
	var text []byte
	if err == nil {
		text, _ = io.ReadAll(io.LimitReader(stream, logBytes))
		_ = stream.Close()
	}
	log := strings.ToValidUTF8(strings.TrimSpace(string(text)), "\ufffd")
	c.change(pod.UID, func(n *note) { n.log, n.logged = log, true })
	return log
}

// withLog appends the log to the sentence on separate lines.
func withLog(message, log string) string {
	if log == "" {
		return message
	}
	return message + "\n" + log
}

// noteOf returns a copy of the note of a pod.
func (c *Controller) noteOf(uid types.UID) note {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.notes[uid]; n != nil {
		return *n
	}
	return note{}
}

func (c *Controller) change(uid types.UID, change func(*note)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.notes[uid]
	if n == nil {
		n = &note{}
		c.notes[uid] = n
	}
	change(n)
}

func (c *Controller) forget(key string, uid types.UID) {
	c.mu.Lock()
	if d, ok := c.deletedPods[key]; ok && d.pod.UID == uid {
		delete(c.deletedPods, key)
	}
	delete(c.notes, uid)
	delete(c.early, uid)
	c.mu.Unlock()
	c.reports.forget(uid)
	c.reaper.forget(key, uid)
}
