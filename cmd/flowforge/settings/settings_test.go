package settings

import (
	"errors"
	"flag"
	"net/netip"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

var update = flag.Bool("update", false, "write docs/settings.md")

func TestDefaults(t *testing.T) {
	t.Parallel()
	s, err := Parse([]string{"PATH=/bin", "FLOWFORGE_ADDR=", "FLOWFORGE_CPU_MILLIS="})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:8080", s.Server.Addr)
	require.Equal(t, 1024, s.Databases.SpoolMaxMiB)
	require.Equal(t, 24*time.Hour, s.Retention.Grace.Duration())
	require.Nil(t, s.Retention.Completion.Limit())
	require.Nil(t, s.RateLimits.Caller)
	require.False(t, s.Observability.Traces())
}

func TestValues(t *testing.T) {
	t.Parallel()
	s, err := Parse([]string{
		"FLOWFORGE_TRUSTED_PROXIES=10.0.0.0/8, 192.168.0.1", "FLOWFORGE_RETENTION=30d", "FLOWFORGE_RETENTION_FAILURE=off",
		"FLOWFORGE_S3_PATH_STYLE=true", "FLOWFORGE_RATE_LIMIT=0", "FLOWFORGE_OIDC_SCOPES=profile email,groups",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://otel:4318", "FLOWFORGE_KUBE_IMAGE_TIMEOUT=2m", "FLOWFORGE_KUBE_GPU_TYPES=A100=a|b",
		`FLOWFORGE_KUBE_DEFAULTS={"nodeSelector":{"pool":"ml"}}`, "FLOWFORGE_KUBE_EGRESS=10.0.0.0/8, 192.168.0.0/16",
		"FLOWFORGE_KUBE_SERVER_LABELS=app=flowforge", "FLOWFORGE_KUBE_INSECURE_REGISTRIES=10.0.0.1:5000, registry.local",
	})
	require.NoError(t, err)
	require.Equal(t, Networks{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.168.0.1/32")}, s.Server.TrustedProxies)
	require.Equal(t, 30*24*time.Hour, *s.Retention.Completion.Limit())
	require.Nil(t, s.Retention.Failure.Limit())
	require.True(t, s.Artifacts.PathStyle)
	require.Zero(t, *s.RateLimits.Caller)
	require.Equal(t, Names{"profile", "email", "groups"}, s.SignIn.Scopes)
	require.True(t, s.Observability.Traces())
	require.Equal(t, 2*time.Minute, s.Pods.ImageTimeout)
	require.Equal(t, GPUTypes(pod.GPUTypes{"A100": {"a", "b"}}), s.Pods.GPUTypes)
	require.Equal(t, map[string]string{"pool": "ml"}, s.Pods.PodDefaults.Fields().NodeSelector)
	require.Equal(t, Blocks{"10.0.0.0/8", "192.168.0.0/16"}, s.Pods.Egress)
	require.Equal(t, Labels{"app": "flowforge"}, s.Pods.ServerLabels)
	require.Equal(t, Hosts{"10.0.0.1:5000", "registry.local"}, s.Pods.InsecureRegistries)
}

// TestProblems: an error names the variable, shows its text and says what to write.
func TestProblems(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"FLOWFORGE_SLOTS=many":                           `FLOWFORGE_SLOTS "many": write a whole number of 0 or more`,
		"FLOWFORGE_SLOTS=-1":                             `FLOWFORGE_SLOTS "-1": write a whole number of 0 or more`,
		"FLOWFORGE_SPOOL_MAX_MIB=0":                      `FLOWFORGE_SPOOL_MAX_MIB "0": write a whole number of 1 or more`,
		"FLOWFORGE_RATE_LIMIT=-1":                        `FLOWFORGE_RATE_LIMIT "-1": write a whole number of 0 or more`,
		"FLOWFORGE_S3_PATH_STYLE=perhaps":                `FLOWFORGE_S3_PATH_STYLE "perhaps": write true or false`,
		"FLOWFORGE_EXAMPLES=some":                        `FLOWFORGE_EXAMPLES "some": write on or off`,
		"FLOWFORGE_LAUNCHER=docker":                      `FLOWFORGE_LAUNCHER "docker": write local or kube`,
		"FLOWFORGE_LOG_LEVEL=loud":                       `FLOWFORGE_LOG_LEVEL "loud": write DEBUG, INFO, WARN or ERROR`,
		"FLOWFORGE_LOCAL_IMAGES=yes":                     `FLOWFORGE_LOCAL_IMAGES "yes": write host, or leave it unset`,
		"FLOWFORGE_RETENTION=long":                       `FLOWFORGE_RETENTION "long": write a time span such as 12h or 30d`,
		"FLOWFORGE_TRUSTED_PROXIES=10.0.0.0/8,proxy":     `FLOWFORGE_TRUSTED_PROXIES "10.0.0.0/8,proxy": "proxy" is not an address or a network such as 10.0.0.0/8`,
		"FLOWFORGE_KUBE_IMAGE_TIMEOUT=5":                 `FLOWFORGE_KUBE_IMAGE_TIMEOUT "5": write a duration such as 30s, 5m or 2h`,
		"FLOWFORGE_KUBE_POD_SECURITY=none":               `FLOWFORGE_KUBE_POD_SECURITY "none": write restricted, baseline or privileged`,
		`FLOWFORGE_KUBE_DEFAULTS={"nodeSelektor":{}}`:    "nodeSelektor: Kubernetes has no such field.",
		"FLOWFORGE_KUBE_GPU_TYPES=A100":                  "TYPE=LABEL",
		"FLOWFORGE_KUBE_TOKEN_ACCOUNTS=ci/deployer":      "NAMESPACE/ACCOUNT=PROJECT:ROLE",
		"FLOWFORGE_KUBE_EGRESS=10.0.0.1":                 "CIDR block",
		"FLOWFORGE_KUBE_NETWORK_POLICY=perhaps":          "write on or off",
		"FLOWFORGE_KUBE_NAMESPACE_PREFIX=Lab":            "ending with a hyphen",
		"FLOWFORGE_KUBE_SERVER_LABELS=app":               "name=value",
		"FLOWFORGE_KUBE_INSECURE_REGISTRIES=http://r:50": "not a host",
		"FLOWFORGE_KUBE_INSECURE_REGISTRIES=a:5000,":     "not a host",
	} {
		_, err := Parse([]string{entry})
		require.ErrorContains(t, err, want)
	}
}

// TestAllProblemsAtOnce: the administrator sees every problem before the next start.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Parse([]string{"FLOWFORGE_LAUNCHER=kube", "FLOWFORGE_SLOTS=many", "FLOWFORGE_KUBE_QSP=5", "FLOWFORGE_RETENTION=long"})
	require.ErrorContains(t, err, "4 settings are not valid:\n  FLOWFORGE_SLOTS \"many\": ")
	for _, line := range []string{"\n  FLOWFORGE_RETENTION \"long\": ", "\n  FLOWFORGE_KUBE_QSP is not a setting; ", "\n  FLOWFORGE_KUBE_IMAGE is not set: "} {
		require.ErrorContains(t, err, line)
	}
}

// TestJoinFlattens: problems of parts are counted and shown once.
func TestJoinFlattens(t *testing.T) {
	t.Parallel()
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	require.NoError(t, Join(nil, Join()))
	require.Equal(t, a, Join(nil, a))
	err := Join(Join(a, b), nil, c)
	require.EqualError(t, err, "3 settings are not valid:\n  a\n  b\n  c")
	require.ErrorIs(t, err, b)
	require.EqualError(t, Join(nil, Join(a, b)), "2 settings are not valid:\n  a\n  b")
}

// TestExamples: the setting accepts the usual words for on and off.
func TestExamples(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Switch{"": true, "on": true, "true": true, "1": true, "off": false, "false": false, "0": false} {
		s, err := Parse([]string{"FLOWFORGE_EXAMPLES=" + text})
		require.NoError(t, err)
		require.Equal(t, want, s.Server.Examples, text)
	}
}

// TestFieldsAreUnique: errors of the parser contain only the name of the field.
func TestFieldsAreUnique(t *testing.T) {
	t.Parallel()
	fields, names := map[string]bool{}, map[string]bool{}
	all := variablesOf(reflect.ValueOf(documented{}))
	require.Greater(t, len(all), 90)
	for _, v := range all {
		require.False(t, fields[v.field.Name], "two fields have the name %s", v.field.Name)
		require.False(t, names[v.name], "two fields read %s", v.name)
		require.NotEmpty(t, v.field.Tag.Get("doc"), v.name)
		require.NotEmpty(t, v.section, v.name)
		fields[v.field.Name], names[v.name] = true, true
	}
}

func TestDocumentIsCommitted(t *testing.T) {
	t.Parallel()
	const path = "../../../docs/settings.md"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(Document()), 0o600))
	}
	committed, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, Document(), string(committed), "docs/settings.md is stale: run go test ./cmd/flowforge/settings -update")
}
