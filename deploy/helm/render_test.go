package helm_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const (
	chart = "flowforge"
	// kubeVersion is the version for which the chart is rendered without a cluster.
	kubeVersion = "1.36.0"
)

// helm runs Helm and returns its standard output and standard error.
func helm(t *testing.T, environ []string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	binary := os.Getenv("FLOWFORGE_TEST_HELM")
	if binary == "" {
		if testing.Short() {
			t.Skip("FLOWFORGE_TEST_HELM is not set")
		}
		t.Fatal("there is no Helm for tests: run `scripts/setup helm`, and the test by scripts/environment")
	}
	command := exec.CommandContext(t.Context(), binary, args...)
	home := t.TempDir() // nothing of the developer's own Helm
	command.Env = append(os.Environ(), "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
	command.Env = append(command.Env, environ...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err = command.Run()
	return out.String(), errs.String(), err
}

// render returns the manifests of the chart with the arguments of `helm template`.
func render(t *testing.T, namespace string, args ...string) []*unstructured.Unstructured {
	t.Helper()
	out, errs, err := helm(t, nil, append([]string{"template", "forge", chart, "--namespace", namespace, "--kube-version", kubeVersion}, args...)...)
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, errs)
	}
	return decode(t, out)
}

func decode(t *testing.T, manifests string) (objects []*unstructured.Unstructured) {
	t.Helper()
	for dec := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifests), 4096); ; {
		o := &unstructured.Unstructured{}
		err := dec.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

// valuesFiles lists the values files that the tests render.
func valuesFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chart, "ci", "*.yaml"))
	if err != nil || len(files) < 4 {
		t.Fatalf("values files %q, %v", files, err)
	}
	return files
}

func TestHowLongExecutionsAreKept(t *testing.T) {
	t.Parallel()
	settings := func(args ...string) map[string]string {
		found := map[string]string{}
		for _, o := range render(t, "forge", append([]string{"--set", "topology=single"}, args...)...) {
			containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			for _, c := range containers {
				env, _, _ := unstructured.NestedSlice(c.(map[string]any), "env")
				for _, e := range env {
					name, _ := e.(map[string]any)["name"].(string)
					if value, ok := e.(map[string]any)["value"].(string); ok && strings.HasPrefix(name, "FLOWFORGE_RETENTION") {
						found[name] = value
					}
				}
			}
		}
		return found
	}
	if found := settings(); len(found) != 0 {
		t.Errorf("the default values set a retention: %v", found)
	}
	want := map[string]string{
		"FLOWFORGE_RETENTION": "90d", "FLOWFORGE_RETENTION_SUCCESS": "7d12h", "FLOWFORGE_RETENTION_FAILURE": "180d", "FLOWFORGE_RETENTION_GRACE": "48h", "FLOWFORGE_RETENTION_DEVELOPMENT": "7d", "FLOWFORGE_RETENTION_SWEEP": "30m",
	}
	found := settings("--set", "retention.default=90d,retention.success=7d12h,retention.failure=180d,retention.grace=48h,retention.development=7d,retention.sweep=30m")
	if !maps.Equal(found, want) {
		t.Errorf("settings %v, want %v", found, want)
	}
	if _, errs, err := helm(t, nil, "template", "forge", chart, "--set", "topology=single,retention.default=forever"); err == nil || !strings.Contains(errs, "retention") {
		t.Errorf("a time that is none: %v %s", err, errs)
	}
}

func TestDatastoresOfMetaflow(t *testing.T) {
	t.Parallel()
	settings := func(args ...string) string {
		out, errs, err := helm(t, nil, append([]string{"template", "forge", chart, "--kube-version", kubeVersion, "--set", "topology=single"}, args...)...)
		if err != nil {
			t.Fatalf("helm template: %v\n%s", err, errs)
		}
		return out
	}
	if strings.Contains(settings(), "FLOWFORGE_METAFLOW_") {
		t.Error("the default values set datastores of Metaflow")
	}
	found := settings("--set", "metaflow.roots={/data/metaflow,/mnt/flows},metaflow.endpoints={minio.example.com:9000}")
	for _, want := range []string{`{name: FLOWFORGE_METAFLOW_ROOTS, value: "/data/metaflow,/mnt/flows"}`, `{name: FLOWFORGE_METAFLOW_ENDPOINTS, value: "minio.example.com:9000"}`} {
		if !strings.Contains(found, want) {
			t.Errorf("the manifests do not contain %s", want)
		}
	}
	if _, errs, err := helm(t, nil, "template", "forge", chart, "--set", "topology=single,metaflow.roots={relative}"); err == nil || !strings.Contains(errs, "metaflow") {
		t.Errorf("a folder that is not absolute: %v %s", err, errs)
	}
}

// TestSessionsBehindPooler: every server and the migration receive the direct address of the database.
func TestSessionsBehindPooler(t *testing.T) {
	t.Parallel()
	servers := 0
	for _, o := range render(t, "forge", "--values", filepath.Join(chart, "ci", "external.yaml")) {
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		for _, c := range containers {
			secrets := map[string]string{}
			env, _, _ := unstructured.NestedSlice(c.(map[string]any), "env")
			for _, e := range env {
				name, _ := e.(map[string]any)["name"].(string)
				secrets[name], _, _ = unstructured.NestedString(e.(map[string]any), "valueFrom", "secretKeyRef", "name")
			}
			if secrets["FLOWFORGE_DATABASE_URL"] == "" {
				continue
			}
			servers++
			if got := secrets["FLOWFORGE_DATABASE_SESSION_URL"]; got != "forge-postgres-session" {
				t.Errorf("%s %s: the direct address is in the secret %q", o.GetKind(), o.GetName(), got)
			}
		}
	}
	if servers != 5 {
		t.Errorf("%d workloads use the database, want the four roles and the migration", servers)
	}
}

func TestLint(t *testing.T) {
	t.Parallel()
	for _, file := range valuesFiles(t) {
		if out, errs, err := helm(t, nil, "lint", "--strict", "--kube-version", kubeVersion, chart, "--values", file); err != nil {
			t.Errorf("%s: %v\n%s%s", file, err, out, errs)
		}
	}
}

// TestRefusals checks that the chart rejects invalid combinations and names the value to set.
func TestRefusals(t *testing.T) {
	t.Parallel()
	signIn := "publicURL=https://forge.example.com,oidc.issuer=https://sso.example.com,oidc.clientID=forge,"
	for _, c := range []struct{ set, want string }{
		{"", "oidc.issuer is not set"},
		{"oidc.issuer=https://sso.example.com", "publicURL is not set"},
		{"oidc.issuer=https://sso.example.com,publicURL=https://forge.example.com", "oidc.clientID is not set"},
		{signIn, "artifacts.s3.bucket or artifacts.existingClaim"},
		{signIn + "kube.enabled=false,artifacts.s3.bucket=b", "requires topology=single"},
		{signIn + "artifacts.s3.bucket=b,postgres.enabled=false", "postgres.url or postgres.existingSecret"},
		{signIn + "artifacts.s3.bucket=b,clickhouse.enabled=false", "clickhouse.url or clickhouse.existingSecret"},
		{signIn + "artifacts.s3.bucket=b,task.tls.enabled=true", "task.tls.existingSecret"},
		{"topology=single,single.replicas=2", "single.replicas"},
		{"topology=both", "'/topology'"},
		{"topology=single,webb.replicas=2", "webb"},
		{"topology=single,kube.imageTimeout=soon", "imageTimeout"},
		{"topology=single,kube.namespacePrefix=ff", "namespacePrefix"},
		{"topology=single,publicURL=https://forge.example.com/path", "publicURL"},
		{"topology=single,image.digest=sha256:12", "digest"},
	} {
		out, errs, err := helm(t, nil, "template", "forge", chart, "--kube-version", kubeVersion, "--set", c.set)
		if err == nil {
			t.Errorf("%s: rendered\n%.200s", c.set, out)
		} else if !strings.Contains(errs, c.want) {
			t.Errorf("%s: %s, want %s", c.set, errs, c.want)
		}
	}
}
