package kube

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// createShared creates the shared objects of an execution before the first of its pods.
func (c *Client) createShared(ctx context.Context, objects *pod.Objects) error {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for _, claim := range objects.Claims {
		claims := c.api.CoreV1().PersistentVolumeClaims(claim.Namespace)
		_, err := claims.Create(call, claim, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			err = c.sameExecution(call, claim)
		}
		if err != nil {
			return err //nolint:wrapcheck // classified by its kind
		}
	}
	if b := objects.Budget; b != nil {
		_, err := c.api.PolicyV1().PodDisruptionBudgets(b.Namespace).Create(call, b, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err //nolint:wrapcheck // classified by its kind
		}
	}
	return nil
}

// sameExecution checks that an existing claim belongs to the execution and is not being
// deleted.
func (c *Client) sameExecution(ctx context.Context, desired *corev1.PersistentVolumeClaim) error {
	there, err := c.api.CoreV1().PersistentVolumeClaims(desired.Namespace).Get(ctx, desired.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return &verdictError{waiting: &launcher.Waiting{Code: launcher.WaitStarting, Message: "A volume claim with the same name was just deleted. FlowForge retries."}}
	case err != nil:
		return err //nolint:wrapcheck // classified by its kind
	case there.Labels[pod.LabelExecution] != desired.Labels[pod.LabelExecution] || there.Labels[pod.LabelInstallation] != c.config.Installation:
		return &verdictError{end: &launcher.End{Class: launcher.ClassRefused, Message: fmt.Sprintf("The volume claim %s/%s already exists and does not belong to FlowForge.", there.Namespace, there.Name)}}
	case there.DeletionTimestamp != nil:
		return &verdictError{waiting: &launcher.Waiting{Code: launcher.WaitStarting, Message: "A volume claim with the same name is still being deleted."}}
	}
	return nil
}

// sweepShared removes the shared objects of ended executions.
func (c *Controller) sweepShared(ctx context.Context) error {
	if c.config.Executions == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	only := metav1.ListOptions{LabelSelector: pod.SharedSelector(c.config.Installation)}
	claims, err := c.api.CoreV1().PersistentVolumeClaims(metav1.NamespaceAll).List(ctx, only)
	if err != nil {
		return fmt.Errorf("list volume claims: %w", err)
	}
	budgets, err := c.api.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll).List(ctx, only)
	if err != nil {
		return fmt.Errorf("list disruption budgets: %w", err)
	}
	return errors.Join(
		sweepKind(ctx, c, claims.Items, func(o *corev1.PersistentVolumeClaim) *metav1.ObjectMeta { return &o.ObjectMeta },
			func(o *metav1.ObjectMeta, options metav1.DeleteOptions) error {
				return c.api.CoreV1().PersistentVolumeClaims(o.Namespace).Delete(ctx, o.Name, options)
			}),
		sweepKind(ctx, c, budgets.Items, func(o *policyv1.PodDisruptionBudget) *metav1.ObjectMeta { return &o.ObjectMeta },
			func(o *metav1.ObjectMeta, options metav1.DeleteOptions) error {
				return c.api.PolicyV1().PodDisruptionBudgets(o.Namespace).Delete(ctx, o.Name, options)
			}),
	)
}

// sweepKind removes the objects of a list that are no longer needed.
func sweepKind[T any](ctx context.Context, c *Controller, list []T, meta func(*T) *metav1.ObjectMeta, remove func(*metav1.ObjectMeta, metav1.DeleteOptions) error) error {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = meta(&list[i]).Labels[pod.LabelExecution]
	}
	if len(ids) == 0 {
		return nil
	}
	ends, err := c.config.Executions(ctx, ids)
	if err != nil {
		return fmt.Errorf("ask which executions have ended: %w", err)
	}
	var errs []error
	for i := range list {
		o := meta(&list[i])
		ended, known := ends[ids[i]]
		if o.DeletionTimestamp != nil || c.now().Sub(o.CreationTimestamp.Time) < c.config.Timing.OrphanGrace || !pod.Unwanted(o.Labels, known, ended) {
			continue
		}
		err := remove(o, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &o.UID}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			errs = append(errs, fmt.Errorf("delete %s/%s: %w", o.Namespace, o.Name, err))
		}
	}
	return errors.Join(errs...)
}
