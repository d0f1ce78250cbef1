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
	message := messageOr(err.Error(), "")
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &launcher.End{Class: launcher.ClassNamespace, Message: "The project's namespace is being deleted: " + message}, nil
	case apierrors.IsForbidden(err) && strings.Contains(message, "exceeded quota"):
		return nil, &launcher.Waiting{Code: launcher.WaitUnschedulable, Message: "The namespace's quota has no room for the pod yet: " + message}
	case apierrors.IsForbidden(err) && strings.Contains(message, "is forbidden: User "):
		return nil, &launcher.Waiting{Code: launcher.WaitCluster, Message: "FlowForge is not allowed to create pods in this namespace: " + message}
	case apierrors.IsForbidden(err) && strings.Contains(message, "error looking up service account"):
		return nil, &launcher.Waiting{Code: launcher.WaitStarting, Message: "The project's namespace is being prepared: " + message}
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return &launcher.End{Class: launcher.ClassRefused, Message: "The cluster rejected the pod: " + message}, nil
	case apierrors.IsNotFound(err):
		return nil, &launcher.Waiting{Code: launcher.WaitStarting, Message: "The project's namespace is being prepared: " + message}
	case strings.Contains(message, "admission webhook") && strings.Contains(message, "denied the request"):
		return &launcher.End{Class: launcher.ClassRefused, Message: "The cluster rejected the pod: " + message}, nil
	case apierrors.IsInternalError(err) && strings.Contains(message, "failed calling webhook"):
		return nil, &launcher.Waiting{Code: launcher.WaitStarting, Message: "The cluster cannot validate the pod right now: " + message}
	case apierrors.IsConflict(err):
		return nil, &launcher.Waiting{Code: launcher.WaitStarting, Message: "The pod cannot be created right now: " + message}
	case !answered(err):
		return nil, &launcher.Waiting{Code: launcher.WaitCluster, Message: "The cluster's API is not responding: " + message}
	default:
		return nil, &launcher.Waiting{Code: launcher.WaitCluster, Message: "The cluster is not accepting the pod right now: " + message}
	}
}

// answered reports whether an error is a response of the API.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}
