package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/compute/launcher/kube/image"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

func TestKubeSettings(t *testing.T) {
	t.Parallel()
	c, err := kubeSettingsOf([]string{
		"PATH=/bin", "FLOWFORGE_KUBE_CONFIG=/etc/kube", "FLOWFORGE_KUBE_IMAGE=flowforge:1", "FLOWFORGE_KUBE_QPS=50", "FLOWFORGE_KUBE_BURST=",
		"FLOWFORGE_KUBE_IMAGE_TIMEOUT=2m", "FLOWFORGE_KUBE_GPU_TYPES=A100=a|b", "FLOWFORGE_KUBE_POD_SECURITY=baseline",
		`FLOWFORGE_KUBE_DEFAULTS={"nodeSelector":{"pool":"ml"}}`, "FLOWFORGE_KUBE_EGRESS=10.0.0.0/8, 192.168.0.0/16", "FLOWFORGE_KUBE_NETWORK_POLICY=off",
		"FLOWFORGE_KUBE_SERVER_LABELS=app=flowforge", "FLOWFORGE_KUBE_NAMESPACE_PREFIX=lab-",
	})
	require.NoError(t, err)
	require.Equal(t, "/etc/kube", c.Kubeconfig)
	require.Equal(t, "flowforge:1", c.Image)
	require.InDelta(t, 50, c.QPS, 0)
	require.Zero(t, c.Burst, "an empty variable is as good as none")
	require.Equal(t, 2*time.Minute, c.ImageTimeout)
	require.Equal(t, pod.GPUTypes{"A100": {"a", "b"}}, c.GPUTypes)
	require.Equal(t, map[string]string{"pool": "ml"}, c.Defaults.NodeSelector)
	require.Equal(t, []string{"10.0.0.0/8", "192.168.0.0/16"}, c.Network.Egress)
	require.True(t, c.Network.Open)
	require.Equal(t, "lab-acme-vision-0c2d", c.NamespaceOf("ff-acme-vision-0c2d"))
}

func TestKubeSettingsThatAreWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ entry, words string }{
		{"FLOWFORGE_KUBE_QSP=5", "FLOWFORGE_KUBE_QSP is not a setting"},
		{"FLOWFORGE_KUBE_QPS=fast", `FLOWFORGE_KUBE_QPS "fast"`},
		{"FLOWFORGE_KUBE_IMAGE_TIMEOUT=5", "30s"},
		{"FLOWFORGE_KUBE_POD_SECURITY=none", "restricted, baseline or privileged"},
		{`FLOWFORGE_KUBE_DEFAULTS={"nodeSelektor":{}}`, "nodeSelektor: Kubernetes has no such field."},
		{"FLOWFORGE_KUBE_GPU_TYPES=A100", "TYPE=LABEL"},
		{"FLOWFORGE_KUBE_EGRESS=10.0.0.1", "CIDR block"},
		{"FLOWFORGE_KUBE_NETWORK_POLICY=perhaps", "on or off"},
		{"FLOWFORGE_KUBE_NAMESPACE_PREFIX=Lab", "ending with a hyphen"},
		{"FLOWFORGE_KUBE_SERVER_LABELS=app", "name=value"},
		{"FLOWFORGE_KUBE_INSECURE_REGISTRIES=http://registry:5000", "not a host"},
		{"FLOWFORGE_KUBE_INSECURE_REGISTRIES=a:5000,", "not a host"},
		{"FLOWFORGE_KUBE_IMAGE_COMMANDS=/not/there.yaml", "no such file"},
		{"FLOWFORGE_KUBE_REGISTRY_CONFIG=/not/there.json", "no such file"},
		{"FLOWFORGE_KUBE_REGISTRY_CONFIG=/dev/null", "not a Docker config.json"},
	} {
		_, err := kubeSettingsOf([]string{"FLOWFORGE_KUBE_IMAGE=flowforge:1", c.entry})
		require.ErrorContains(t, err, c.words)
	}
	_, err := kubeSettingsOf(nil)
	require.ErrorContains(t, err, "FLOWFORGE_KUBE_IMAGE is not set")
}

// TestKubeImageSettings: the files are read when the server begins, so that a mistake in
// them is said then.
func TestKubeImageSettings(t *testing.T) {
	t.Parallel()
	table, config := filepath.Join(t.TempDir(), "commands.yaml"), filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(table, []byte("busybox:1: {entrypoint: [sh], cmd: [-c, ls]}\n"), 0o600))
	require.NoError(t, os.WriteFile(config, []byte(`{"auths": {"registry.example.com": {"username": "a", "password": "b"}}}`), 0o600))
	entries := []string{
		"FLOWFORGE_KUBE_IMAGE=flowforge:1", "FLOWFORGE_KUBE_IMAGE_COMMANDS=" + table, "FLOWFORGE_KUBE_REGISTRY_CONFIG=" + config,
		"FLOWFORGE_KUBE_INSECURE_REGISTRIES=10.0.0.1:5000, registry.local",
	}
	c, err := kubeSettingsOf(entries)
	require.NoError(t, err)
	require.Equal(t, map[string]image.Command{"busybox:1": {Entrypoint: []string{"sh"}, Cmd: []string{"-c", "ls"}}}, c.ImageCommands)
	require.Equal(t, config, c.RegistryConfig)
	require.Equal(t, []string{"10.0.0.1:5000", "registry.local"}, c.InsecureRegistries)
	require.NoError(t, os.WriteFile(table, []byte("busybox:1: {}\n"), 0o600))
	_, err = kubeSettingsOf(entries)
	require.ErrorContains(t, err, "FLOWFORGE_KUBE_IMAGE_COMMANDS")
	require.ErrorContains(t, err, "neither entrypoint nor cmd")
}
