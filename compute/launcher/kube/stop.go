package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// Stop deletes the pods of attempts: their processes get SIGTERM, and SIGKILL after
// grace, or after the pod's own grace period when grace is 0 or the attempt is preempted.
// Attempts without pods are skipped. The controller handles pods that do not end in time.
func (c *Client) Stop(ctx context.Context, refs []launcher.Ref, grace time.Duration) error {
	errs := make([]error, len(refs))
	var group sync.WaitGroup
	for i, ref := range refs {
		if err := c.acquire(ctx); err != nil {
			errs[i] = err
			break
		}
		group.Go(func() {
			defer c.release()
			c.recent.drop(ref.TaskID)
			if err := c.stopOne(ctx, ref, graceOf(ref, grace)); err != nil {
				errs[i] = fmt.Errorf("stop %s: %w", ref.TaskID, err)
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w", launcher.ErrUnreachable, err)
	}
	return nil
}

// graceOf returns the grace period of a deletion; nil: the pod's own.
func graceOf(ref launcher.Ref, grace time.Duration) *int64 {
	if ref.Preempt || grace <= 0 {
		return nil
	}
	return new(int64((grace + pod.DeliveryGrace + time.Second - 1) / time.Second))
}

func (c *Client) stopOne(ctx context.Context, ref launcher.Ref, grace *int64) error {
	if ref.ProjectID == "" {
		return c.deleteByTask(ctx, metav1.NamespaceAll, ref.TaskID, grace)
	}
	project, err := c.projects.find(ctx, ref.ProjectID)
	if apperr.Is(err, apperr.NotFound) {
		return nil // its namespace is gone, or never was
	}
	if err != nil {
		return err
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	name := pod.Name(ref.TaskID)
	err = c.api.CoreV1().Pods(project.Namespace).Delete(call, name, metav1.DeleteOptions{GracePeriodSeconds: grace})
	if !apierrors.IsNotFound(err) {
		return err //nolint:wrapcheck // Stop names the attempt
	}
	return c.stopGang(ctx, project.Namespace, ref.TaskID, grace)
}

// stopGang deletes the pods of an attempt that has none under its own name. The first pod
// of a gang is deleted last and represents the others: if it does not exist, nothing
// is listed, because most attempts without a pod never had several. Other pods of a
// partially created gang are orphans.
func (c *Client) stopGang(ctx context.Context, namespace, task string, grace *int64) error {
	name := pod.Name(task)
	if c.dynamic != nil {
		has, err := c.hasJobSets()
		if err != nil {
			return err
		}
		if has {
			if found, err := deleteJobSet(ctx, c.dynamic, namespace, name); found || err != nil {
				return err
			}
		}
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := c.api.CoreV1().Pods(namespace).Get(call, pod.RankName(name, 0), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err //nolint:wrapcheck // Stop names the attempt
	}
	return c.deleteByTask(ctx, namespace, task, grace)
}

// deleteByTask deletes the pods of an attempt that have other names, such as those of a
// gang.
func (c *Client) deleteByTask(ctx context.Context, namespace, task string, grace *int64) error {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, err := c.api.CoreV1().Pods(namespace).List(call, metav1.ListOptions{
		LabelSelector: pod.Selector(c.config.Installation) + "," + pod.LabelTask + "=" + task,
	})
	if err != nil {
		return fmt.Errorf("list the pods of %s: %w", task, err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { // the first pod of a gang last
		return cmp.Compare(b.Labels[pod.LabelRank], a.Labels[pod.LabelRank])
	})
	for i := range list.Items {
		p := &list.Items[i]
		err := c.api.CoreV1().Pods(p.Namespace).Delete(call, p.Name, metav1.DeleteOptions{
			GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &p.UID},
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete the pod %s: %w", p.Name, err)
		}
	}
	return nil
}
