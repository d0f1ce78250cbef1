package pod_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

const claims = `"volumeClaimTemplates": [{"metadata": {"name": "work", "labels": {"a": "b"}}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]`

// TestClaimsOfExecutions: a claim belongs to the execution and is created for pods that
// mount it.
func TestClaimsOfExecutions(t *testing.T) {
	t.Parallel()
	build := func(text string) *pod.Objects {
		t.Helper()
		o, err := pod.Build(attempt(fields(text)), options())
		require.NoError(t, err)
		return o
	}
	require.Empty(t, build("{"+claims+"}").Claims, "no pod mounts it")
	o := build(`{` + claims + `, "volumeMounts": [{"name": "work", "mountPath": "/work"}], "podDisruptionBudget": {"minAvailable": 3}}`)
	require.Len(t, o.Claims, 1)
	claim := o.Claims[0]
	require.Equal(t, "ff-"+execution+"-work", claim.Name)
	require.Equal(t, execution, claim.Labels[pod.LabelExecution])
	require.Equal(t, "b", claim.Labels["a"])
	require.Equal(t, pod.GCSuccess, claim.Labels[pod.LabelClaimGC])
	require.NotContains(t, claim.Labels, pod.LabelTask, "it belongs to all attempts")
	found := false
	for _, v := range o.Pods[0].Spec.Volumes {
		found = found || v.Name == "work" && v.PersistentVolumeClaim.ClaimName == claim.Name
	}
	require.True(t, found, "the pod has the volume")
	require.Equal(t, execution, o.Budget.Spec.Selector.MatchLabels[pod.LabelExecution])
	require.EqualValues(t, 3, o.Budget.Spec.MinAvailable.IntVal)
	for text, path := range map[string]string{
		`{"volumes": [{"name": "work", "emptyDir": {}}], ` + claims + `}`:                                               "volumeClaimTemplates[0].metadata.name",
		`{"volumeClaimGC": "Sometimes"}`:                                                                                "volumeClaimGC",
		`{"podDisruptionBudget": {}}`:                                                                                   "podDisruptionBudget",
		`{"podDisruptionBudget": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}}`:                         "podDisruptionBudget.selector",
		`{"containerClaims": [{"name": "gpu"}]}`:                                                                        "containerClaims[0].name",
		`{"volumeClaimTemplates": [{"metadata": {"name": "flowforge-x"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]}`: "volumeClaimTemplates[0].metadata.name",
	} {
		_, err := pod.ParseFields([]byte(text))
		require.NotEmpty(t, apperr.FieldsOf(err), text)
		require.Equal(t, path, apperr.FieldsOf(err)[0].Path)
	}
}

// TestUnwanted: shared objects of an execution are deleted at its end, or with its
// record.
func TestUnwanted(t *testing.T) {
	t.Parallel()
	keep, drop := map[string]string{pod.LabelClaimGC: pod.GCSuccess}, map[string]string{pod.LabelClaimGC: pod.GCCompletion}
	for _, row := range []struct {
		labels map[string]string
		known  bool
		ended  string
		want   bool
	}{
		{keep, true, "", false}, {drop, true, "", false}, {keep, true, "SUCCEEDED", true}, {keep, true, "FAILED", false},
		{drop, true, "FAILED", true}, {keep, false, "", true}, {nil, true, "CANCELLED", true},
	} {
		require.Equal(t, row.want, pod.Unwanted(row.labels, row.known, row.ended), "%+v", row)
	}
}

// TestMembers: the other containers share a folder with the program, and no FlowForge
// volume that holds a token.
func TestMembers(t *testing.T) {
	t.Parallel()
	o, err := pod.Build(attempt(fields(`{"members": [{"name": "a", "image": "busybox", "command": ["/flowforge-set/flowforge", "members", "{}"]}],
		"resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}], "containerClaims": [{"name": "gpu"}]}`)), options())
	require.NoError(t, err)
	spec := o.Pods[0].Spec
	require.Len(t, spec.Containers, 2)
	require.Equal(t, pod.Container, spec.Containers[0].Name)
	require.Equal(t, []corev1.VolumeMount{{Name: "flowforge-set", MountPath: pod.SetDir}}, spec.Containers[1].VolumeMounts)
	require.Contains(t, spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "flowforge-set", MountPath: pod.SetDir})
	require.False(t, *spec.Containers[1].SecurityContext.AllowPrivilegeEscalation)
	require.Equal(t, []string{"flowforge", "flowforge-set"}, []string{spec.InitContainers[0].Name, spec.InitContainers[1].Name})
	require.Equal(t, []corev1.ResourceClaim{{Name: "gpu"}}, spec.Containers[0].Resources.Claims)
	_, err = pod.ParseFields([]byte(`{"members": [{"name": "task", "image": "a"}]}`))
	require.Error(t, err)
}

// TestHostNetwork: only namespaces whose level allows it can use the host network.
func TestHostNetwork(t *testing.T) {
	t.Parallel()
	_, err := pod.Build(attempt(fields(`{"hostNetwork": true}`)), options())
	require.True(t, apperr.Is(err, apperr.Forbidden), "%v", err)
	open := options()
	open.PodSecurity = pod.LevelPrivileged
	o, err := pod.Build(attempt(fields(`{"hostNetwork": true}`)), open)
	require.NoError(t, err)
	require.True(t, o.Pods[0].Spec.HostNetwork)
}
