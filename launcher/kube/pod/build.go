package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Objects are what runs one attempt. Either Pods are set, one of them or as many
// as the gang has, by rank; or JobSet is, which makes them.
type Objects struct {
	Pods    []*corev1.Pod
	JobSet  *unstructured.Unstructured
	Service *corev1.Service // headless, of a gang of Pods
	Secret  *corev1.Secret  // all pods read it; it wants the first pod or the JobSet as its owner
}
