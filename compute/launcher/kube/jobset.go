package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// jobSetsAfter is the interval at which the client checks whether the cluster has
// JobSets.
const jobSetsAfter = 5 * time.Minute

// jobSets caches whether the cluster has JobSets.
type jobSets struct {
	mu        sync.Mutex
	requested time.Time
	there     bool
}

// hasJobSets reports whether gangs are created as JobSets. When the cluster does not
// respond, the last answer remains valid; without one, the error is returned: a guess
// could create the pods of a gang next to the JobSet of an earlier process.
func (c *Client) hasJobSets() (bool, error) {
	c.jobSets.mu.Lock()
	defer c.jobSets.mu.Unlock()
	now := c.config.Now()
	if c.dynamic == nil || !c.jobSets.requested.IsZero() && now.Sub(c.jobSets.requested) < jobSetsAfter {
		return c.jobSets.there, nil
	}
	version := schema.GroupVersion{Group: pod.JobSetGroup, Version: pod.JobSetVersion}.String()
	list, err := c.api.Discovery().ServerResourcesForGroupVersion(version)
	switch {
	case apierrors.IsNotFound(err):
		c.jobSets.requested, c.jobSets.there = now, false
	case err != nil && c.jobSets.requested.IsZero():
		return false, fmt.Errorf("ask whether the cluster has JobSets: %w", err)
	case err == nil:
		c.jobSets.requested, c.jobSets.there = now, false
		for _, resource := range list.APIResources {
			c.jobSets.there = c.jobSets.there || resource.Name == pod.JobSetResource
		}
	}
	return c.jobSets.there, nil
}

func (c *Client) jobSetsIn(namespace string) dynamic.ResourceInterface {
	return jobSetsOf(c.dynamic, namespace)
}

func jobSetsOf(api dynamic.Interface, namespace string) dynamic.ResourceInterface {
	return api.Resource(schema.GroupVersionResource{
		Group: pod.JobSetGroup, Version: pod.JobSetVersion, Resource: pod.JobSetResource,
	}).Namespace(namespace)
}

// createJobSet creates a gang as a JobSet.
func (c *Client) createJobSet(ctx context.Context, attempt launcher.Attempt, objects *pod.Objects) error {
	created, fresh, err := c.ensureJobSet(ctx, attempt, objects.JobSet)
	if err != nil {
		return err
	}
	objects.Secret.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: created.GetAPIVersion(), Kind: created.GetKind(), Name: created.GetName(), UID: created.GetUID(),
	}}
	return c.createSecret(ctx, objects.Secret, fresh)
}

func (c *Client) ensureJobSet(ctx context.Context, attempt launcher.Attempt, desired *unstructured.Unstructured) (*unstructured.Unstructured, bool, error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	api := c.jobSetsIn(desired.GetNamespace())
	created, err := api.Create(call, desired, metav1.CreateOptions{})
	if err == nil {
		return created, true, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return nil, false, err //nolint:wrapcheck // classified by its kind
	}
	there, err := api.Get(call, desired.GetName(), metav1.GetOptions{})
	if err != nil {
		return nil, false, err //nolint:wrapcheck // classified by its kind
	}
	if !c.owns(there, attempt) {
		return nil, false, &verdictError{end: &launcher.End{
			Class: launcher.ClassRefused, Message: "A JobSet with the gang's name already exists and does not belong to FlowForge.",
		}}
	}
	return there, false, nil
}

// deleteJobSet deletes the JobSet of an attempt; it returns true when there was one.
func deleteJobSet(ctx context.Context, api dynamic.Interface, namespace, name string) (bool, error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	background := metav1.DeletePropagationBackground
	err := jobSetsOf(api, namespace).Delete(call, name, metav1.DeleteOptions{PropagationPolicy: &background})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err //nolint:wrapcheck // classified by its kind
}
