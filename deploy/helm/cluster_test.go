package helm_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/flowforge/flowforge/compute/launcher/kube/kubetest"
)

var serviceMonitors = schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: "v1", Resource: "servicemonitors"}

// cluster is a real API server with a separate namespace for the test.
type cluster struct {
	own       *kubetest.Cluster
	path      string // of its kubeconfig
	config    *rest.Config
	client    *kubernetes.Clientset
	dynamic   dynamic.Interface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	namespace string
}

func setup(t *testing.T) *cluster {
	t.Helper()
	found := kubetest.New(t)
	c := &cluster{own: found, path: found.Kubeconfig, config: found.Config, client: kubernetes.NewForConfigOrDie(found.Config), dynamic: dynamic.NewForConfigOrDie(found.Config)}
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.client.Discovery()))
	c.namespace = c.makeNamespace(t, "chart-"+rand.String(6), nil)
	return c
}

// makeNamespace creates a namespace and deletes it at the end of the test.
func (c *cluster) makeNamespace(t *testing.T, name string, labels map[string]string) string {
	t.Helper()
	namespaces := c.client.CoreV1().Namespaces()
	if _, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := namespaces.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !errors.IsNotFound(err) {
			t.Error(err)
		}
	})
	return name
}

// apply applies o without changes (server-side, with strict field validation) and deletes
// cluster-scoped objects at the end of the test.
func (c *cluster) apply(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	gvk := o.GroupVersionKind()
	m, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		m, err = c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", gvk.Kind, o.GetName(), err)
	}
	resource := dynamic.ResourceInterface(c.dynamic.Resource(m.Resource))
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		resource = c.dynamic.Resource(m.Resource).Namespace(o.GetNamespace())
	}
	switch {
	case o.GetNamespace() == c.namespace || gvk.Kind == "CustomResourceDefinition": // that other tests may use
	case o.GetNamespace() == "" || strings.HasSuffix(gvk.Kind, "Role") || strings.HasSuffix(gvk.Kind, "RoleBinding"):
		t.Cleanup(func() {
			_ = resource.Delete(context.WithoutCancel(t.Context()), o.GetName(), metav1.DeleteOptions{})
		})
	default:
		t.Errorf("%s %s is for the namespace %q, not that of the release", gvk.Kind, o.GetName(), o.GetNamespace())
		return
	}
	options := metav1.PatchOptions{FieldManager: "chart-test", FieldValidation: metav1.FieldValidationStrict}
	body, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resource.Patch(t.Context(), o.GetName(), "application/apply-patch+yaml", body, options); err != nil {
		t.Errorf("%s %s: %v", gvk.Kind, o.GetName(), err)
	}
}

// installServiceMonitor installs the ServiceMonitor resource in the API server.
func (c *cluster) installServiceMonitor(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "servicemonitor-crd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range decode(t, string(text)) {
		c.apply(t, o)
	}
	c.eventually(t, "ServiceMonitors are not served", func(ctx context.Context) bool {
		_, err := c.dynamic.Resource(serviceMonitors).Namespace(c.namespace).List(ctx, metav1.ListOptions{})
		return err == nil
	})
}

// eventually repeats a request until it succeeds, because the caches of the API server take a
// moment to include new resources and policies.
func (c *cluster) eventually(t *testing.T, what string, yes func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // of a busy machine
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !yes(ctx) {
		select {
		case <-ctx.Done():
			t.Fatal(what)
		case <-tick.C:
		}
	}
}

// TestManifestsAreTaken checks that a real API server accepts every manifest of every values file.
func TestManifestsAreTaken(t *testing.T) {
	t.Parallel()
	for _, file := range valuesFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			c := setup(t)
			c.installServiceMonitor(t)
			kinds := map[string]int{}
			for _, o := range render(t, c.namespace, "--values", file) {
				c.apply(t, o)
				kinds[o.GetKind()]++
			}
			if kinds["Deployment"] == 0 || kinds["Service"] < 2 || kinds["Job"] != 1 {
				t.Errorf("too little was applied: %v", kinds)
			}
			t.Log(kinds)
		})
	}
}

// TestAccountWritesInProjectsAlone checks that the token of the scheduler and the launcher can
// start pods of projects, and can change or read nothing else in the cluster.
func TestAccountWritesInProjectsAlone(t *testing.T) {
	t.Parallel()
	c := setup(t)
	prefix := "ff-" + rand.String(6) + "-"
	for _, o := range render(t, c.namespace, "--values", filepath.Join(chart, "ci", "bundled.yaml"), "--set", "leases=kubernetes,kube.namespacePrefix="+prefix) {
		switch o.GetKind() {
		case "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
			c.apply(t, o)
		}
	}
	as := rest.CopyConfig(c.config)
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + c.namespace + ":forge-flowforge-engine"}
	account := kubernetes.NewForConfigOrDie(as)
	ours := map[string]string{"app.kubernetes.io/managed-by": "flowforge"}
	foreign := c.makeNamespace(t, "other-"+rand.String(6), nil)

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "task"}, Spec: corev1.PodSpec{
		NodeName: "", SchedulerName: "none", Containers: []corev1.Container{{Name: "task", Image: "task"}},
	}}
	c.eventually(t, "the policy does not come into force", func(ctx context.Context) bool {
		_, err := account.CoreV1().Pods(foreign).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return errors.IsForbidden(err) && strings.Contains(err.Error(), "whose name begins with "+prefix)
	})
	project := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: prefix + "one", Labels: ours}}
	if _, err := account.CoreV1().Namespaces().Create(t.Context(), project, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually(t, "no pod can be started in a project", func(ctx context.Context) bool {
		// A controller creates the default account of a new namespace.
		_, err := account.CoreV1().Pods(project.Name).Create(ctx, pod, metav1.CreateOptions{})
		return err == nil
	})
	for what, do := range refusedToAccount(account, c.namespace, foreign, prefix) {
		if err := do(t.Context()); !errors.IsForbidden(err) {
			t.Errorf("%s: %v, want Forbidden", what, err)
		}
	}
	if err := account.CoreV1().Pods(project.Name).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if err := account.CoreV1().Namespaces().Delete(t.Context(), project.Name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// refusedToAccount returns requests that an attacker could try with the engine's token.
func refusedToAccount(account kubernetes.Interface, own, foreign, prefix string) map[string]func(context.Context) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "stolen"}}
	return map[string]func(context.Context) error{
		"list secrets": func(ctx context.Context) error {
			_, err := account.CoreV1().Secrets(foreign).List(ctx, metav1.ListOptions{})
			return err
		},
		"read its own installation's keys": func(ctx context.Context) error {
			_, err := account.CoreV1().Secrets(own).Get(ctx, "forge-flowforge-keys", metav1.GetOptions{})
			return err
		},
		"write a secret elsewhere": func(ctx context.Context) error {
			_, err := account.CoreV1().Secrets(foreign).Create(ctx, secret, metav1.CreateOptions{})
			return err
		},
		"start a pod beside the server": func(ctx context.Context) error {
			_, err := account.CoreV1().Pods(own).Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}, metav1.CreateOptions{})
			return err
		},
		"delete a namespace of others": func(ctx context.Context) error {
			return account.CoreV1().Namespaces().Delete(ctx, foreign, metav1.DeleteOptions{})
		},
		"make a namespace without the label": func(ctx context.Context) error {
			_, err := account.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: prefix + "two"}}, metav1.CreateOptions{})
			return err
		},
		"cordon a machine": func(ctx context.Context) error {
			_, err := account.CoreV1().Nodes().Patch(ctx, "any", "application/merge-patch+json", []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
			return err
		},
		"run a command in a pod": func(ctx context.Context) error {
			return account.CoreV1().RESTClient().Post().Namespace(foreign).Resource("pods").Name("any").SubResource("exec").Do(ctx).Error()
		},
		"give itself a role": func(ctx context.Context) error {
			return account.RbacV1().RESTClient().Post().Resource("clusterrolebindings").Body([]byte(`{"metadata":{"name":"mine"},"roleRef":{"kind":"ClusterRole","name":"cluster-admin"}}`)).Do(ctx).Error()
		},
	}
}

// TestKeysOutliveUpgrades installs, upgrades and uninstalls the chart with Helm. The keys and
// passwords that the chart created remain unchanged.
func TestKeysOutliveUpgrades(t *testing.T) {
	t.Parallel()
	c := setup(t)
	environ := []string{"KUBECONFIG=" + c.path}
	values := []string{"--namespace", c.namespace, "--no-hooks", "--values", filepath.Join(chart, "ci", "trial.yaml"), "--set", "single.replicas=1"}
	run := func(args ...string) {
		t.Helper()
		if out, errs, err := helm(t, environ, args...); err != nil {
			t.Fatalf("helm %s: %v\n%s%s", args[0], err, out, errs)
		}
	}
	secrets := func() (all string) {
		t.Helper()
		for name, keys := range map[string]int{"keys": 4, "postgres": 2, "clickhouse": 2} {
			s, err := c.client.CoreV1().Secrets(c.namespace).Get(t.Context(), "forge-flowforge-"+name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Data) != keys {
				t.Errorf("%s has %d keys, want %d", name, len(s.Data), keys)
			}
			for key, value := range s.Data {
				if name == "keys" && len(value) != 64 {
					t.Errorf("%s has %d characters, want 64", key, len(value))
				}
			}
		}
		for _, name := range []string{"keys", "postgres", "clickhouse"} {
			s, _ := c.client.CoreV1().Secrets(c.namespace).Get(t.Context(), "forge-flowforge-"+name, metav1.GetOptions{})
			for _, key := range []string{"task-tokens", "api-keys", "session-block", "secret-store", "password", "url"} {
				all += fmt.Sprintf("%s/%s=%s ", name, key, base64.StdEncoding.EncodeToString(s.Data[key]))
			}
		}
		return all
	}
	run(append([]string{"install", "forge", chart}, values...)...)
	t.Cleanup(func() {
		// Helm removes cluster-scoped objects with the release.
		_, _, _ = helm(t, environ, "uninstall", "forge", "--namespace", c.namespace, "--ignore-not-found", "--no-hooks")
	})
	first := secrets()
	run(append([]string{"upgrade", "forge", chart, "--set", "logLevel=DEBUG"}, values...)...)
	if second := secrets(); second != first {
		t.Error("an upgrade changes the keys")
	}
	run("uninstall", "forge", "--namespace", c.namespace, "--no-hooks")
	if third := secrets(); third != first {
		t.Error("an uninstallation takes the keys with it")
	}
	run(append([]string{"install", "forge", chart}, append(values, "--take-ownership")...)...)
	if fourth := secrets(); fourth != first {
		t.Error("an installation beside the old volumes has other keys")
	}
}
