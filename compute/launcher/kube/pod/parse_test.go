package pod_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

func TestParseFieldsNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, path, message string }{
		{`[]`, "", "must be a mapping"},
		{`{"nodeSelektor":{}}`, "nodeSelektor", "no such field"},
		{`{"NodeSelector":{}}`, "NodeSelector", "no such field"},
		{`{"tolerations":[{"key":"a","operater":"Exists"}]}`, "tolerations[0].operater", "no such field"},
		{`{"tolerations":{}}`, "tolerations", "a list"},
		{`{"activeDeadlineSeconds":"soon"}`, "activeDeadlineSeconds", "a number"},
		{`{"activeDeadlineSeconds":0}`, "activeDeadlineSeconds", "1 or more"},
		{`{"shmSize":"much"}`, "shmSize", "quantities"},
		{`{"shmSize":"-1Gi"}`, "shmSize", "more than 0"},
		{`{"labels":{"flowforge.io/task-id":"x"}}`, "labels[flowforge.io/task-id]", "reserved for FlowForge"},
		{`{"labels":{"a b":"x"}}`, "labels[a b]", "must consist of"},
		{`{"labels":{"a":"ä"}}`, "labels[a]", "valid label"},
		{`{"tolerations":[{"key":"a","operator":"Maybe"}]}`, "tolerations[0].operator", "not one of"},
		{`{"tolerations":[{"key":"a","effect":"Never"}]}`, "tolerations[0].effect", "not one of"},
		{`{"nodeSelector":["a"]}`, "nodeSelector", "An array is not allowed here; expected a mapping."},
		{`{"serviceAccountName":5}`, "serviceAccountName", "A number is not allowed here; expected a string."},
		{`{"imagePullPolicy":"Sometimes"}`, "imagePullPolicy", "not one of"},
		{`{"serviceAccountName":"Not Good"}`, "serviceAccountName", "lower case"},
		{`{"sidecars":[{"name":"task","image":"a"}]}`, "sidecars[0].name", "container of FlowForge"},
		{`{"sidecars":[{"name":"a"}]}`, "sidecars[0].image", "missing"},
		{`{"sidecars":[{"name":"a","image":"a","restartPolicy":"Never"}]}`, "sidecars[0].restartPolicy", "Always"},
		{`{"sidecars":[{"name":"a","image":"a"}],"initContainers":[{"name":"a","image":"a"}]}`, "sidecars[0].name", "already named"},
		{`{"sidecars":[{"name":"a","image":"a","volumeMounts":[{"name":"flowforge-task","mountPath":"/spy"}]}]}`, "sidecars[0].volumeMounts[0].name", "reserved for FlowForge"},
		{`{"volumes":[{"name":"flowforge-task","emptyDir":{}}]}`, "volumes[0].name", "reserved for FlowForge"},
		{`{"volumeMounts":[{"name":"x","mountPath":"/flowforge/python"}]}`, "volumeMounts[0].mountPath", "a folder of FlowForge"},
		{`{"imagePullSecrets":[{}]}`, "imagePullSecrets[0].name", "missing"},
		{`{"podSpecPatch":"a: b"}`, "podSpecPatch.a", "no such field"},
		{`{"podSpecPatch":"containers: [{name: x, imag: y}]"}`, "podSpecPatch.containers[0].imag", "no such field"},
		{`{"podSpecPatch":"["}`, "podSpecPatch", "line 1"},
		{`{"podSpecPatch":"- a"}`, "podSpecPatch", "must be a mapping"},
	} {
		_, err := pod.ParseFields([]byte(c.text))
		require.Equal(t, apperr.Invalid, apperr.CodeOf(err), c.text)
		if c.path == "" {
			require.Contains(t, apperr.MessageOf(err), c.message)
			continue
		}
		require.NotEmpty(t, apperr.FieldsOf(err), c.text)
		require.Equal(t, c.path, apperr.FieldsOf(err)[0].Path, c.text)
		require.Contains(t, strings.ToLower(apperr.FieldsOf(err)[0].Message), strings.ToLower(c.message), c.text)
	}
}

func TestParseFieldsTakesWhatArgoFilesHold(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `{}`,
		`{"podSpecPatch":"{\"containers\":[{\"name\":\"task\",\"resources\":{}}]}"}`,
		`{"podSpecPatch":{"hostname":"x"}}`,
		`{"podSpecPatch":"tolerations:\n- $patch: replace\n- key: a\n  operator: Exists\n"}`,
		`{"shmSize":"2Gi","volumes":[{"name":"w","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}}]}`,
	} {
		_, err := pod.ParseFields([]byte(text))
		require.NoError(t, err, text)
	}
}

func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, words string }{
		{"the wrapper's command", `{"podSpecPatch":"containers: [{name: task, command: [sh]}]"}`, "belongs to FlowForge"},
		{"another image", `{"podSpecPatch":"containers: [{name: task, image: other}]"}`, "set the operator's image"},
		{"arguments", `{"podSpecPatch":"containers: [{name: task, args: [x]}]"}`, "belongs to FlowForge"},
		{"more than counted", `{"podSpecPatch":"containers: [{name: task, resources: {limits: {memory: 1Ti}}}]"}`, "quotas count"},
		{"GPUs of other containers", `{"sidecars":[{"name":"s","image":"i","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}`, "GPUs"},
		{"no task", `{"podSpecPatch":"containers: [{name: task, $patch: delete}, {name: other, image: i}]"}`, "removes"},
		{"restarts", `{"podSpecPatch":"restartPolicy: Always"}`, "Never"},
		{"past the scheduler", `{"podSpecPatch":"nodeName: m1"}`, "scheduler"},
		{"host network", `{"podSpecPatch":"hostNetwork: true"}`, "host namespaces"},
		{"host path", `{"volumes":[{"name":"h","hostPath":{"path":"/"}}]}`, "restricted volume types"},
		{"privileged", `{"containerSecurityContext":{"privileged":true}}`, "privileged"},
		{"root", `{"securityContext":{"runAsUser":0}}`, "runAsNonRoot"},
		{"a field", `{"foo":1}`, "foo"},
	} {
		_, err := pod.Build(attempt(fields(c.text)), options())
		require.Contains(t, []apperr.Code{apperr.Invalid, apperr.Forbidden}, apperr.CodeOf(err), c.name)
		words := apperr.MessageOf(err)
		for _, f := range apperr.FieldsOf(err) {
			words += " " + f.Path + " " + f.Message
		}
		require.Contains(t, words, c.words, c.name)
	}
}

func TestGPUTypes(t *testing.T) {
	t.Parallel()
	types, err := pod.ParseGPUTypes("A100=NVIDIA-A100-SXM4-80GB|NVIDIA-A100-PCIE-40GB, H100=NVIDIA-H100-80GB-HBM3,")
	require.NoError(t, err)
	require.Equal(t, []string{"NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-PCIE-40GB"}, types.Values("A100"))
	require.Equal(t, []string{"L4"}, types.Values("L4"))
	require.Equal(t, "A100", types.Of("NVIDIA-A100-PCIE-40GB"))
	require.Equal(t, "L4", types.Of("L4"))
	for _, bad := range []string{"A100", "=x", "A100=", "A100=a||b", "A100=a b"} {
		_, err := pod.ParseGPUTypes(bad)
		require.Error(t, err, bad)
	}
}

func FuzzParseFields(f *testing.F) {
	f.Add(`{"nodeSelector":{"a":"b"},"podSpecPatch":"hostname: x"}`)
	f.Add(`{"sidecars":[{"name":"a","image":"b"}],"shmSize":"1Gi"}`)
	f.Add(`{"tolerations":[null],"affinity":{"nodeAffinity":{}}}`)
	f.Fuzz(func(_ *testing.T, text string) {
		if _, err := pod.ParseFields([]byte(text)); err != nil {
			return
		}
		// Valid input either builds or is refused with a reason; it never panics.
		_, _ = pod.Build(attempt(func(s *flowforgev1.AttemptSpec) { s.PodJson = text }), options())
	})
}

// TestSilentContainers: containers without a command are found with their images and the
// architecture in the installation's defaults; a container that does not exist is an
// error.
func TestSilentContainers(t *testing.T) {
	t.Parallel()
	o := options()
	o.Defaults = pod.Fields{NodeSelector: map[string]string{"kubernetes.io/arch": "arm64"}}
	found, architecture, err := pod.SilentContainers(attempt(fields(`{"imageCommands": {"task": true, "a": false}, "members": [{"name": "a", "image": "busybox"}]}`)), o)
	require.NoError(t, err)
	require.Equal(t, "arm64", architecture)
	require.Equal(t, []pod.Silent{{Container: "a", Image: "busybox"}, {Container: "task", Image: "python:3.13", Args: true}}, found)
	found, _, err = pod.SilentContainers(attempt(nil), o)
	require.NoError(t, err)
	require.Empty(t, found)
	_, err = pod.ParseFields([]byte(`{"imageCommands": {"b": true}}`))
	require.Equal(t, []apperr.Field{{Path: "imageCommands[b]", Message: "There is no container with this name."}}, apperr.FieldsOf(err))
}
