package outcome

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/flowforge/flowforge/compute/launcher"
)

// Refusal returns what an error of a pod's creation means for its attempt: that the pod
// will never be admitted (an End without FinishedAt), or that the attempt waits and the
// creation must be retried. Both are nil for an error that does not concern the pod, and
// if the pod exists already.
func Refusal(err error) (*launcher.End, *launcher.Waiting) {
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil, nil
	}
	said := messageOr(err.Error(), "")
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &launcher.End{Class: launcher.ClassNamespace, Message: "The project's namespace is being deleted: " + said}, nil
	case apierrors.IsForbidden(err) && strings.Contains(said, "exceeded quota"):
		return nil, &launcher.Waiting{Code: launcher.WaitUnschedulable, Message: "The namespace's quota has no room for the pod yet: " + said}
	case apierrors.IsForbidden(err) && strings.Contains(said, "is forbidden: User "):
		return nil, &launcher.Waiting{Code: launcher.WaitCluster, Message: "FlowForge is not allowed to create pods in this namespace: " + said}
	case apierrors.IsForbidden(err) && strings.Contains(said, "error looking up service account"):
		return nil, &launcher.Waiting{Code: launcher.WaitStarting, Message: "The project's namespace is being prepared: " + said}
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return &launcher.End{Class: launcher.ClassRefused, Message: "The cluster rejected the pod: " + said}, nil
	case apierrors.IsNotFound(err):
		return nil, &launcher.Waiting{Code: launcher.WaitStarting, Message: "The project's namespace is being prepared: " + said}
	case strings.Contains(said, "admission webhook") && strings.Contains(said, "denied the request"):
		return &launcher.End{Class: launcher.ClassRefused, Message: "The cluster rejected the pod: " + said}, nil
	case apierrors.IsInternalError(err) && strings.Contains(said, "failed calling webhook"):
		return nil, &launcher.Waiting{Code: launcher.WaitStarting, Message: "The cluster cannot validate the pod right now: " + said}
	case apierrors.IsConflict(err):
		return nil, &launcher.Waiting{Code: launcher.WaitStarting, Message: "The pod cannot be created right now: " + said}
	case !answered(err):
		return nil, &launcher.Waiting{Code: launcher.WaitCluster, Message: "The cluster's API is not responding: " + said}
	default:
		return nil, &launcher.Waiting{Code: launcher.WaitCluster, Message: "The cluster is not accepting the pod right now: " + said}
	}
}

// answered reports whether an error is a response of the API.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}
