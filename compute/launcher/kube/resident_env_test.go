package kube

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// TestWarmPodsHaveTheSettings: the container of a warm pod, and no other, has the settings of warm
// processes.
func TestWarmPodsHaveTheSettings(t *testing.T) {
	t.Parallel()
	spec := corev1.PodSpec{Containers: []corev1.Container{
		{Name: "other"}, {Name: pod.Container, Command: []string{"flowforge", "task"}, Env: []corev1.EnvVar{{Name: "A", Value: "a"}}},
	}}
	makeResident(&spec, map[string]string{"FLOWFORGE_PYTHON_WARM_MEMORY_MIB": "64", "FLOWFORGE_PYTHON_WARM": "0"})
	require.Empty(t, spec.Containers[0].Env)
	require.Equal(t, []corev1.EnvVar{
		{Name: "A", Value: "a"}, {Name: "FLOWFORGE_PYTHON_WARM", Value: "0"}, {Name: "FLOWFORGE_PYTHON_WARM_MEMORY_MIB", Value: "64"},
	}, spec.Containers[1].Env)
}
