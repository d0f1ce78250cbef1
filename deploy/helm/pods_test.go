package helm_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// podOf returns the pod template of o, or nil.
func podOf(t *testing.T, o *unstructured.Unstructured) *corev1.PodTemplateSpec {
	t.Helper()
	content := o.Object
	if o.GetKind() != "Pod" {
		var found bool
		content, found, _ = unstructured.NestedMap(o.Object, "spec", "template")
		if !found {
			return nil
		}
	}
	p := &corev1.PodTemplateSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(map[string]any{"metadata": content["metadata"], "spec": content["spec"]}, p, true); err != nil {
		t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
	return p
}

// TestPodsAreRestricted checks that every pod of the chart meets the restricted pod security
// standard, sets resource requests, and has an API server token only if it starts pods.
func TestPodsAreRestricted(t *testing.T) {
	t.Parallel()
	for _, file := range valuesFiles(t) {
		for _, o := range render(t, "forge-system", "--values", file) {
			p := podOf(t, o)
			if p == nil {
				continue
			}
			name := filepath.Base(file) + " " + o.GetKind() + "/" + o.GetName()
			checkPod(t, name, p)
			starts := strings.HasSuffix(o.GetName(), "-scheduler") || strings.HasSuffix(o.GetName(), "-launcher") ||
				strings.HasSuffix(o.GetName(), "-single") && filepath.Base(file) != "local-tasks.yaml"
			if p.Spec.AutomountServiceAccountToken == nil || *p.Spec.AutomountServiceAccountToken != starts {
				t.Errorf("%s: automountServiceAccountToken is not %v", name, starts)
			}
		}
	}
}

func checkPod(t *testing.T, name string, p *corev1.PodTemplateSpec) {
	t.Helper()
	s := p.Spec.SecurityContext
	if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s may run as root, or without seccomp", name)
	}
	for _, c := range p.Spec.Containers {
		s := c.SecurityContext
		if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
			s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem || s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") {
			t.Errorf("%s: container %s is not restricted", name, c.Name)
		}
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("%s: container %s says not what it needs", name, c.Name)
		}
		if c.Image == "" || strings.HasSuffix(c.Image, ":") {
			t.Errorf("%s: container %s has the image %q", name, c.Name, c.Image)
		}
		for _, m := range c.VolumeMounts {
			named := func(v corev1.Volume) bool { return v.Name == m.Name }
			if !slices.ContainsFunc(p.Spec.Volumes, named) && m.Name != "data" { // of a StatefulSet's claims
				t.Errorf("%s: container %s mounts %s, which is no volume", name, c.Name, m.Name)
			}
		}
	}
}

// settings are the variables in docs/settings.md, which is generated from what the program
// reads.
func settings(t *testing.T) map[string]bool {
	t.Helper()
	document, err := os.ReadFile(filepath.Join("..", "..", "docs", "settings.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z0-9_]+)").FindAllStringSubmatch(string(document), -1) {
		names[m[1]] = true
	}
	return names
}

// reads reports whether the program reads the variable: by its full name, or as a secret, whose
// names users choose.
func reads(names map[string]bool, variable string) bool {
	end, secret := strings.CutPrefix(variable, "FLOWFORGE_SECRET_")
	return names[variable] || secret && end != ""
}

// TestVariablesExist checks that the server reads every variable that the chart sets.
func TestVariablesExist(t *testing.T) {
	t.Parallel()
	names := settings(t)
	if len(names) < 20 || reads(names, "FLOWFORGE_NO_SUCH_SETTING") || reads(names, "FLOWFORGE_KUBE_NO_SUCH_SETTING") {
		t.Fatalf("the settings of the server are not found: %v", names)
	}
	unknown := map[string]string{}
	for _, file := range valuesFiles(t) {
		for _, o := range render(t, "forge-system", "--values", file) {
			p := podOf(t, o)
			if p == nil {
				continue
			}
			for _, c := range p.Spec.Containers {
				for _, e := range c.Env {
					if strings.HasPrefix(e.Name, "FLOWFORGE_") && !reads(names, e.Name) {
						unknown[e.Name] = o.GetName()
					}
				}
			}
		}
	}
	for name, where := range unknown {
		t.Errorf("%s sets %s, which the server does not read", where, name)
	}
}

// TestVariablesAreUnique checks that no variable is set twice, because the last value would win
// silently.
func TestVariablesAreUnique(t *testing.T) {
	t.Parallel()
	for _, file := range valuesFiles(t) {
		for _, o := range render(t, "forge-system", "--values", file) {
			p := podOf(t, o)
			if p == nil {
				continue
			}
			for _, c := range p.Spec.Containers {
				seen := map[string]bool{}
				for _, e := range c.Env {
					if seen[e.Name] {
						t.Errorf("%s: %s sets %s twice", file, o.GetName(), e.Name)
					}
					seen[e.Name] = true
				}
			}
		}
	}
}

// TestValuesAreUsed checks that a template reads every top-level value of values.yaml.
func TestValuesAreUsed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var templates strings.Builder
	err = filepath.WalkDir(filepath.Join(chart, "templates"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		templates.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	roles := []string{"web", "worker", "scheduler", "launcher", "single"} // read by name
	for line := range strings.Lines(string(text)) {
		name, _, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(name, " ") || strings.HasPrefix(name, "#") || slices.Contains(roles, name) {
			continue
		}
		if !strings.Contains(templates.String(), "Values."+name) && !strings.Contains(templates.String(), "$v."+name) {
			t.Errorf("values.yaml has %s, which no template reads", name)
		}
	}
}

// TestComponentsThatStartPodsReadRegistries checks that only servers that start pods have the
// registry credentials and the default commands of images.
func TestComponentsThatStartPodsReadRegistries(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, o := range render(t, "forge-system", "--values", filepath.Join(chart, "ci", "external.yaml")) {
		p := podOf(t, o)
		if p == nil {
			continue
		}
		starts := p.Spec.AutomountServiceAccountToken != nil && *p.Spec.AutomountServiceAccountToken
		volume := func(v corev1.Volume) bool {
			return v.Secret != nil && v.Secret.SecretName == "pull" || v.ConfigMap != nil && v.ConfigMap.Name == "forge-flowforge-images"
		}
		configured := 0
		for _, e := range p.Spec.Containers[0].Env {
			if slices.Contains([]string{"FLOWFORGE_KUBE_REGISTRY_CONFIG", "FLOWFORGE_KUBE_INSECURE_REGISTRIES", "FLOWFORGE_KUBE_IMAGE_COMMANDS"}, e.Name) {
				configured++
			}
		}
		if slices.ContainsFunc(p.Spec.Volumes, volume) != starts || configured == 3 != starts {
			t.Errorf("%s starts pods: %v; of the settings for images it has %d", o.GetName(), starts, configured)
		}
		if starts {
			seen++
		}
	}
	if seen != 2 {
		t.Errorf("%d servers start pods, not scheduler and launcher", seen)
	}
}
