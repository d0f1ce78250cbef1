// Package kubetest connects tests to the real cluster that `make cluster` starts
// (scripts/cluster). Every test has its own namespaces, distinguished by a prefix.
package kubetest

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// EnvKubeconfig names the variable with the path of the cluster's kubeconfig.
const EnvKubeconfig = "FLOWFORGE_TEST_KUBECONFIG"

// scripts/cluster provides these.
const (
	Image     = "localhost/flowforge:test" // FlowForge's image
	TaskImage = "localhost/task:test"      // Debian with Python
	Node      = "real-node-0"              // the node that is not simulated
	NodeGPUs  = 4
	GPUType   = "FAKE-L4" // of that node; the fake ones have FAKE-H200
	// Host is this machine's address for pods, and the only one that they can reach.
	Host = "10.244.0.1"
	// Annotate is the prefix of the annotations that control pods on simulated machines;
	// see tools/cluster/kwok.yaml.
	Annotate = "test.flowforge.io/"
)

const (
	look  = 10 * time.Second
	again = 100 * time.Millisecond
)

// Cluster is the shared cluster from the point of view of one test.
type Cluster struct {
	Kubeconfig string // a path
	Prefix     string // prefix of the names of this test's namespaces
	Config     *rest.Config
	API        kubernetes.Interface
}

// New connects to the control plane, whose simulated machines run nothing. Without a
// cluster it skips the test. It removes the test's namespaces at the end.
func New(t testing.TB) *Cluster {
	t.Helper()
	path := os.Getenv(EnvKubeconfig)
	if path == "" {
		t.Skipf("%s is not set: start a Kubernetes with `make cluster`", EnvKubeconfig)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatalf("%s: %v", EnvKubeconfig, err)
	}
	config.QPS, config.Burst = 500, 1000
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Kubeconfig: path, Prefix: "t" + uuid.NewString()[:8] + "-", Config: config, API: api}
	t.Cleanup(func() { c.clean(t) })
	return c
}

// WithNode is New for tests whose pods really run. It skips the test when no real node
// has joined the cluster, which requires root; a node that has joined must be ready.
func WithNode(t testing.TB) *Cluster {
	t.Helper()
	c := New(t)
	ctx, cancel := context.WithTimeout(t.Context(), look)
	defer cancel()
	for {
		node, err := c.API.CoreV1().Nodes().Get(ctx, Node, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			t.Skip("the cluster has no real node: run `make cluster-node` as root to join this machine")
		case err == nil && ready(node):
			return c
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the real node is not ready (%v): run `scripts/cluster status`", err)
		case <-time.After(again):
		}
	}
}

func ready(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Pods returns the pods in the test's namespaces that match a selector of labels.
func (c *Cluster) Pods(t testing.TB, selector string) []corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), look)
	defer cancel()
	list, err := c.API.CoreV1().Pods("").List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	var pods []corev1.Pod
	for _, p := range list.Items {
		if strings.HasPrefix(p.Namespace, c.Prefix) {
			pods = append(pods, p)
		}
	}
	return pods
}

func (c *Cluster) clean(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), look)
	defer cancel()
	list, err := c.API.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Logf("the test's namespaces are not removed: %v", err)
		return
	}
	for _, n := range list.Items {
		if strings.HasPrefix(n.Name, c.Prefix) {
			if err := c.API.CoreV1().Namespaces().Delete(ctx, n.Name, metav1.DeleteOptions{}); err != nil {
				t.Logf("the namespace %s is not removed: %v", n.Name, err)
			}
		}
	}
}
