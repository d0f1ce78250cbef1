package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/compute/launcher/kube/kubetest"
)

func listenOn(host string) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort(host, "0"))
}

// namespaceOf waits for the namespace of the server's project.
func namespaceOf(t *testing.T, s *server, c *kubetest.Cluster) (name string) {
	t.Helper()
	eventually(t, "the project has a namespace", func() (string, bool) {
		list, err := c.API.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{LabelSelector: "flowforge.io/project-id"})
		if err != nil {
			return err.Error(), false
		}
		for _, n := range list.Items {
			if strings.HasPrefix(n.Name, c.Prefix) {
				name = n.Name
			}
		}
		return s.base, name != ""
	})
	return name
}

func addSettings(t *testing.T, c *kubetest.Cluster, namespace string) {
	t.Helper()
	_, err := c.API.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"greeting": "good morning", "who": "cluster", "permits": "3"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// addVolume provides a volume for one claim of the class argo-stories.
func addVolume(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	volumes := c.API.CoreV1().PersistentVolumes()
	name := c.Prefix + "argo"
	_, err := volumes.Create(t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Mi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: "argo-stories", PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = volumes.Delete(context.Background(), name, metav1.DeleteOptions{}) })
}

// withoutShared waits until all shared objects of an execution are deleted.
func withoutShared(t *testing.T, c *kubetest.Cluster, execution string) {
	t.Helper()
	only := metav1.ListOptions{LabelSelector: "flowforge.io/execution-id=" + execution}
	eventually(t, "no claim and no budget outlives its execution", func() (string, bool) {
		claims, err := c.API.CoreV1().PersistentVolumeClaims("").List(t.Context(), only)
		if err != nil {
			return err.Error(), false
		}
		budgets, err := c.API.PolicyV1().PodDisruptionBudgets("").List(t.Context(), only)
		if err != nil {
			return err.Error(), false
		}
		return fmt.Sprintf("%d claims, %d budgets", len(claims.Items), len(budgets.Items)), len(claims.Items)+len(budgets.Items) == 0
	})
}
