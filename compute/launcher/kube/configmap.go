package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/apperr"
)

// ConfigMap returns the text data of a ConfigMap in the namespace of a project. It
// returns NotFound when the ConfigMap does not exist, Forbidden when the cluster denies
// access, and Unavailable when the cluster does not respond.
func (c *Client) ConfigMap(ctx context.Context, projectID, name string) (map[string]string, error) {
	project, err := c.projects.find(ctx, projectID)
	if err != nil {
		return nil, err
	}
	if err := c.acquire(ctx); err != nil {
		return nil, apperr.Wrap(apperr.Unavailable, err, "The cluster is busy.")
	}
	defer c.release()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found, err := c.api.CoreV1().ConfigMaps(project.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return found.Data, nil
	case apierrors.IsNotFound(err):
		return nil, apperr.New(apperr.NotFound, "There is no ConfigMap %q in the namespace %s.", name, project.Namespace)
	case apierrors.IsForbidden(err):
		return nil, apperr.New(apperr.Forbidden, "This installation may not read the ConfigMap %q in the namespace %s: allow its service account to get configmaps.", name, project.Namespace)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return nil, apperr.New(apperr.NotFound, "%q is not the name of a ConfigMap.", name)
	}
	return nil, apperr.Wrap(apperr.Unavailable, fmt.Errorf("get the ConfigMap %s/%s: %w", project.Namespace, name, err), "The cluster is not responding.")
}
