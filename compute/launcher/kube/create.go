package kube

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// gangCalls is how many pods of one gang are created at a time.
const gangCalls = 8

// createdPod is the pod of an attempt.
type createdPod struct {
	uid   types.UID
	fresh bool // created by this call
}

// create creates the objects of an attempt, or completes those of an earlier call or
// another server.
func (c *Client) create(ctx context.Context, attempt launcher.Attempt, objects *pod.Objects) error {
	if err := c.createShared(ctx, objects); err != nil {
		return err
	}
	if objects.JobSet != nil {
		return c.createJobSet(ctx, attempt, objects)
	}
	pods, err := c.createPods(ctx, attempt, objects.Pods)
	if err != nil {
		return err
	}
	owners := make([]metav1.OwnerReference, len(pods))
	fresh := false
	for i, p := range pods {
		owners[i] = metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: objects.Pods[i].Name, UID: p.uid}
		fresh = fresh || p.fresh
	}
	if objects.Service != nil {
		objects.Service.OwnerReferences = owners
		if err := c.createService(ctx, objects.Service); err != nil {
			return err
		}
	}
	objects.Secret.OwnerReferences = owners
	return c.createSecret(ctx, objects.Secret, fresh)
}

// createPods creates all pods of an attempt or keeps none: a gang that is not admitted as
// a whole must not hold resources that another gang needs.
func (c *Client) createPods(ctx context.Context, attempt launcher.Attempt, pods []*corev1.Pod) ([]createdPod, error) {
	all := make([]createdPod, len(pods))
	if len(pods) == 1 {
		one, err := c.createPod(ctx, attempt, pods[0])
		all[0] = one
		return all, err
	}
	// The first error cancels no other call: after an interrupted call it is unknown
	// whether the pod was created.
	var group errgroup.Group
	group.SetLimit(gangCalls)
	for i, p := range pods {
		group.Go(func() error {
			var err error
			all[i], err = c.createPod(ctx, attempt, p)
			return err
		})
	}
	err := group.Wait()
	if err == nil {
		return all, nil
	}
	if v := c.verdictOn(err); v.end != nil || v.waiting != nil && v.waiting.Code != launcher.WaitCluster {
		c.dropPods(ctx, attempt, pods[0].Namespace)
	}
	return nil, err
}

// dropPods deletes the pods of a gang that was not admitted as a whole.
func (c *Client) dropPods(ctx context.Context, attempt launcher.Attempt, namespace string) {
	if err := c.deleteByTask(ctx, namespace, attempt.GetTaskId(), new(int64(0))); err != nil {
		c.config.Logger.Warn("Pods of a gang that was not admitted could not be deleted yet.", "task", attempt.GetTaskId(), "error", err)
	}
}

// createPod creates a pod, or finds the existing one of this attempt.
func (c *Client) createPod(ctx context.Context, attempt launcher.Attempt, desired *corev1.Pod) (createdPod, error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pods := c.api.CoreV1().Pods(desired.Namespace)
	created, err := pods.Create(call, desired, metav1.CreateOptions{})
	if err == nil {
		return createdPod{uid: created.UID, fresh: true}, nil
	}
	if account := desired.Spec.ServiceAccountName; account != pod.ServiceAccount && apierrors.IsForbidden(err) && strings.Contains(err.Error(), "error looking up service account") {
		return createdPod{}, &verdictError{end: &launcher.End{
			Class: launcher.ClassRefused, Message: fmt.Sprintf("The service account %q of the operator does not exist in the namespace %s.", account, desired.Namespace),
		}}
	}
	if !apierrors.IsAlreadyExists(err) {
		return createdPod{}, err //nolint:wrapcheck // classified by its kind
	}
	there, err := pods.Get(call, desired.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return createdPod{}, &verdictError{waiting: &launcher.Waiting{Code: launcher.WaitStarting, Message: "A pod with the same name was just deleted. FlowForge retries."}}
	}
	if err != nil {
		return createdPod{}, err //nolint:wrapcheck // classified by its kind
	}
	if !c.owns(there, attempt) {
		return createdPod{}, &verdictError{end: &launcher.End{
			Class: launcher.ClassRefused, Message: fmt.Sprintf("The pod %s/%s already exists and does not belong to FlowForge.", there.Namespace, there.Name),
		}}
	}
	if there.DeletionTimestamp != nil && pod.Gang(attempt) > 1 {
		return createdPod{}, &verdictError{waiting: &launcher.Waiting{Code: launcher.WaitGang, Message: "Waiting for the pods of an earlier try to be deleted, because the gang was not admitted as a whole."}}
	}
	return createdPod{uid: there.UID}, nil
}

// owns reports whether an object belongs to this installation and this attempt.
func (c *Client) owns(there metav1.Object, attempt launcher.Attempt) bool {
	labels := there.GetLabels()
	return labels[pod.LabelTask] == attempt.GetTaskId() && labels[pod.LabelInstallation] == c.config.Installation
}

// createSecret creates the Secret of an attempt. An existing one has the same content.
// Next to a new pod, however, it may belong to an earlier pod with this name and be deleted
// with it; then it is created again.
func (c *Client) createSecret(ctx context.Context, secret *corev1.Secret, fresh bool) error {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	secrets := c.api.CoreV1().Secrets(secret.Namespace)
	_, err := secrets.Create(call, secret, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err //nolint:wrapcheck // classified by its kind
	}
	if !fresh {
		return nil
	}
	if err := secrets.Delete(call, secret.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err //nolint:wrapcheck // classified by its kind
	}
	if _, err = secrets.Create(call, secret, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		return nil // another server was faster
	}
	return err //nolint:wrapcheck // classified by its kind
}

func (c *Client) createService(ctx context.Context, service *corev1.Service) error {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := c.api.CoreV1().Services(service.Namespace).Create(call, service, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err //nolint:wrapcheck // classified by its kind
}
