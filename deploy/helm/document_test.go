package helm_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ownValues are the values that the chart needs in addition to those of the document.
const ownValues = "publicURL=https://flowforge.example.com,oidc.issuer=https://sso.example.com,oidc.clientID=forge,artifacts.s3.bucket=b"

// field returns a value of the object of a kind whose name ends with suffix.
func field(t *testing.T, objects []*unstructured.Unstructured, kind, suffix string, path ...string) any {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == kind && strings.HasSuffix(o.GetName(), suffix) {
			v, _, err := unstructured.NestedFieldNoCopy(o.Object, path...)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("there is no %s *%s", kind, suffix)
	return nil
}

// TestValuesOfTheDocument renders the values.yaml of document 002, section 11.2, verbatim.
func TestValuesOfTheDocument(t *testing.T) {
	t.Parallel()
	objects := render(t, "forge", "--values", "testdata/002_11.2.yaml", "--set", ownValues)
	for _, c := range []struct {
		kind, suffix, path string
		want               any
	}{
		{"Deployment", "-scheduler", "spec.replicas", float64(2)},
		{"Deployment", "-launcher", "spec.replicas", float64(3)},
		{"HorizontalPodAutoscaler", "-web", "spec.minReplicas", float64(3)},
		{"HorizontalPodAutoscaler", "-web", "spec.maxReplicas", float64(10)},
		{"Ingress", "flowforge", "spec.ingressClassName", "nginx"},
		{"ServiceAccount", "flowforge", "metadata.name", "flowforge"},
		{"ServiceMonitor", "flowforge", "metadata.name", "forge-flowforge"},
	} {
		if got := field(t, objects, c.kind, c.suffix, strings.Split(c.path, ".")...); got != c.want {
			t.Errorf("%s %s: %v, want %v", c.kind, c.path, got, c.want)
		}
	}
	containers, _ := field(t, objects, "Deployment", "-web", "spec", "template", "spec", "containers").([]any)
	web, _ := containers[0].(map[string]any)
	if got := web["image"]; got != "ghcr.io/flowforge/flowforge/flowforge:1.0.0" {
		t.Errorf("image %v", got)
	}
	if got, _, _ := unstructured.NestedString(web, "resources", "limits", "memory"); got != "2Gi" {
		t.Errorf("memory %v", got)
	}
	for suffix, size := range map[string]string{"-postgres": "50Gi", "-clickhouse": "100Gi"} {
		claims, _ := field(t, objects, "StatefulSet", suffix, "spec", "volumeClaimTemplates").([]any)
		claim, _ := claims[0].(map[string]any)
		got, _, _ := unstructured.NestedString(claim, "spec", "resources", "requests", "storage")
		class, _, _ := unstructured.NestedString(claim, "spec", "storageClassName")
		if got != size || class != "standard" {
			t.Errorf("%s: %s of %s, want %s of standard", suffix, got, class, size)
		}
	}
	if _, errs, err := helm(t, nil, "template", "forge", chart, "--kube-version", kubeVersion, "--values", "testdata/002_11.2.yaml", "--set", ownValues+",executor.image.tag=2.0.0"); err == nil || !strings.Contains(errs, "image.tag") {
		t.Errorf("two tags for one image: %v %s", err, errs)
	}
}

// TestIngressWithoutHosts: an ingress of the document may leave out its hosts.
func TestIngressWithoutHosts(t *testing.T) {
	t.Parallel()
	objects := render(t, "forge", "--set", ownValues+",apiServer.ingress.enabled=true,apiServer.ingress.className=nginx")
	if got := field(t, objects, "Ingress", "flowforge", "spec", "ingressClassName"); got != "nginx" {
		t.Errorf("class %v", got)
	}
}

// TestTokenReviews: the servers of the API may review tokens of the cluster, and no others.
func TestTokenReviews(t *testing.T) {
	t.Parallel()
	objects := render(t, "forge", "--set", ownValues+",kube.tokenAudience=flowforge,kube.tokenAccounts[0]=ci/deployer=vision/digits:ProjectDev")
	subjects, _ := field(t, objects, "ClusterRoleBinding", "-tokens", "subjects").([]any)
	if len(subjects) != 1 || subjects[0].(map[string]any)["name"] != "forge-flowforge-server" {
		t.Errorf("subjects %v", subjects)
	}
	rules, _ := field(t, objects, "ClusterRole", "-tokens", "rules").([]any)
	if ref := field(t, objects, "ClusterRoleBinding", "-tokens", "roleRef", "name"); len(rules) != 1 || ref != field(t, objects, "ClusterRole", "-tokens", "metadata", "name") {
		t.Fatalf("role %v with the rules %v", ref, rules)
	}
	for name, want := range map[string]string{"apiGroups": "authentication.k8s.io", "resources": "tokenreviews", "verbs": "create"} {
		if got, _, _ := unstructured.NestedStringSlice(rules[0].(map[string]any), name); !slices.Equal(got, []string{want}) {
			t.Errorf("%s %v, want %s alone", name, got, want)
		}
	}
	for role, want := range map[string]bool{"-web": true, "-worker": false} {
		containers, _ := field(t, objects, "Deployment", role, "spec", "template", "spec", "containers").([]any)
		env, _, _ := unstructured.NestedSlice(containers[0].(map[string]any), "env")
		has := slices.ContainsFunc(env, func(e any) bool { return e.(map[string]any)["name"] == "FLOWFORGE_KUBE_TOKEN_AUDIENCE" })
		mounts := field(t, objects, "Deployment", role, "spec", "template", "spec", "automountServiceAccountToken")
		if has != want || mounts != want {
			t.Errorf("%s: setting %t, token %v, want %t", role, has, mounts, want)
		}
	}
	if _, errs, err := helm(t, nil, "template", "forge", chart, "--kube-version", kubeVersion, "--set", ownValues+",kube.tokenAudience=flowforge"); err == nil || !strings.Contains(errs, "kube.tokenAccounts") {
		t.Errorf("an audience without accounts: %v %s", err, errs)
	}
}
