package outcome_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/outcome"
)

func TestRefusal(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	forbidden := func(message string) error { return apierrors.NewForbidden(pods, "ff-e-1-1", errors.New(message)) }
	terminating := apierrors.NewForbidden(pods, "ff-e-1-1", errors.New("because it is being terminated"))
	terminating.ErrStatus.Details.Causes = append(terminating.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	for name, row := range map[string]struct {
		err   error
		class launcher.Class
		code  string
	}{
		"none":              {nil, "", ""},
		"there already":     {apierrors.NewAlreadyExists(pods, "ff-e-1-1"), "", ""},
		"pod security":      {forbidden(`violates PodSecurity "restricted:latest": privileged`), launcher.ClassRefused, ""},
		"quota":             {forbidden("exceeded quota: flowforge, requested: pods=1"), "", launcher.WaitUnschedulable},
		"no account yet":    {forbidden("error looking up service account ff-x/task: not found"), "", launcher.WaitStarting},
		"no right":          {errors.Join(apierrors.NewForbidden(pods, "", errors.New(`User "x" cannot create resource "pods"`))), "", launcher.WaitCluster},
		"invalid":           {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "ff-e-1-1", nil), launcher.ClassRefused, ""},
		"namespace goes":    {terminating, launcher.ClassNamespace, ""},
		"no namespace":      {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ff-x"), "", launcher.WaitStarting},
		"webhook away":      {apierrors.NewInternalError(errors.New("failed calling webhook: refused")), "", launcher.WaitStarting},
		"webhook denies":    {apierrors.NewBadRequest(`admission webhook "w" denied the request: no`), launcher.ClassRefused, ""},
		"too many requests": {apierrors.NewTooManyRequests("slow down", 1), "", launcher.WaitCluster},
		"away":              {errors.New("connection refused"), "", launcher.WaitCluster},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end, wait := outcome.Refusal(row.err)
			if end != nil && end.Class != row.class || end == nil && row.class != "" {
				t.Errorf("end %+v, want %q", end, row.class)
			}
			if wait != nil && wait.Code != row.code || wait == nil && row.code != "" {
				t.Errorf("waiting %+v, want %q", wait, row.code)
			}
		})
	}
}
