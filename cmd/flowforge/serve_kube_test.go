package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/compute/launcher/kube/image"
)

// TestConfigReportsAllProblems: problems of texts, of files and of combinations.
func TestConfigReportsAllProblems(t *testing.T) {
	t.Parallel()
	_, err := configFrom([]string{
		"FLOWFORGE_ROLES=web,cook", "FLOWFORGE_SLOTS=many", "FLOWFORGE_OIDC_FILE=/not/there.yaml", "FLOWFORGE_LAUNCHER=kube",
		"FLOWFORGE_KUBE_IMAGE=flowforge:1", "FLOWFORGE_KUBE_IMAGE_COMMANDS=/not/there.yaml", "FLOWFORGE_KUBE_REGISTRY_CONFIG=/dev/null",
	})
	for _, part := range []string{
		`FLOWFORGE_ROLES "web,cook": "cook" is not a role`, `FLOWFORGE_SLOTS "many"`, "FLOWFORGE_OIDC_FILE: open /not/there.yaml",
		"FLOWFORGE_KUBE_IMAGE_COMMANDS: open /not/there.yaml", "not a Docker config.json",
	} {
		require.ErrorContains(t, err, part)
	}
	require.Equal(t, 1, strings.Count(err.Error(), "settings are not valid:"), "one list: %v", err)
	_, err = configFrom([]string{"FLOWFORGE_ADDR=everywhere", "FLOWFORGE_ROLES=web", "FLOWFORGE_TASK_ADDR=x", "FLOWFORGE_S3_ENDPOINT=https://store"})
	for _, part := range []string{"4 settings are not valid:", "FLOWFORGE_ADDR", "FLOWFORGE_ROLES leaves some", "FLOWFORGE_TASK_ADDR", "FLOWFORGE_S3_ENDPOINT is set"} {
		require.ErrorContains(t, err, part)
	}
}

// TestRateLimitsFollowSignIn: without sign-in, only a limit that is set applies.
func TestRateLimitsFollowSignIn(t *testing.T) {
	t.Parallel()
	c, err := configFrom([]string{"FLOWFORGE_RATE_LIMIT_TENANT=7"})
	require.NoError(t, err)
	require.Equal(t, 7, c.RateLimits.Tenant)
	require.Zero(t, c.RateLimits.Caller)
	require.Equal(t, 30, c.RateLimits.FailedLogins)
	c, err = configFrom([]string{"FLOWFORGE_RATE_LIMIT_TENANT=7", "FLOWFORGE_OIDC_ISSUER=https://login.example.com", "FLOWFORGE_OIDC_CLIENT_ID=forge"})
	require.NoError(t, err)
	require.Equal(t, 7, c.RateLimits.Tenant)
	require.Equal(t, 3000, c.RateLimits.Caller)
}

func TestKubeSettings(t *testing.T) {
	t.Parallel()
	c, err := configFrom([]string{
		"FLOWFORGE_LAUNCHER=kube", "FLOWFORGE_KUBE_CONFIG=/etc/kube", "FLOWFORGE_KUBE_IMAGE=flowforge:1", "FLOWFORGE_KUBE_QPS=50", "FLOWFORGE_KUBE_BURST=",
		"FLOWFORGE_KUBE_NETWORK_POLICY=off", "FLOWFORGE_KUBE_NAMESPACE_PREFIX=lab-", "FLOWFORGE_PYTHON_WARM=3",
	})
	require.NoError(t, err)
	require.Equal(t, "/etc/kube", c.Kube.Kubeconfig)
	require.Equal(t, "flowforge:1", c.Kube.Image)
	require.InDelta(t, 50, c.Kube.QPS, 0)
	require.Zero(t, c.Kube.Burst, "twice the QPS")
	require.Equal(t, map[string]string{"FLOWFORGE_PYTHON_WARM": "3", "FLOWFORGE_PYTHON_WARM_MEMORY_MIB": "1024"}, c.Kube.ResidentEnv)
	require.True(t, c.Kube.Network.Open)
	require.Equal(t, "lab-acme-vision-0c2d", c.Kube.NamespaceOf("ff-acme-vision-0c2d"))
}

// TestKubeImageSettings: the server reads the files at its start and reports their problems.
func TestKubeImageSettings(t *testing.T) {
	t.Parallel()
	table, config := filepath.Join(t.TempDir(), "commands.yaml"), filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(table, []byte("busybox:1: {entrypoint: [sh], cmd: [-c, ls]}\n"), 0o600))
	require.NoError(t, os.WriteFile(config, []byte(`{"auths": {"registry.example.com": {"username": "a", "password": "b"}}}`), 0o600))
	entries := []string{
		"FLOWFORGE_LAUNCHER=kube", "FLOWFORGE_KUBE_IMAGE=flowforge:1", "FLOWFORGE_KUBE_IMAGE_COMMANDS=" + table, "FLOWFORGE_KUBE_REGISTRY_CONFIG=" + config,
	}
	c, err := configFrom(entries)
	require.NoError(t, err)
	require.Equal(t, map[string]image.Command{"busybox:1": {Entrypoint: []string{"sh"}, Cmd: []string{"-c", "ls"}}}, c.Kube.ImageCommands)
	require.Equal(t, config, c.Kube.RegistryConfig)
	require.NoError(t, os.WriteFile(table, []byte("busybox:1: {}\n"), 0o600))
	_, err = configFrom(entries)
	require.ErrorContains(t, err, "FLOWFORGE_KUBE_IMAGE_COMMANDS")
	require.ErrorContains(t, err, "neither entrypoint nor cmd")
}
