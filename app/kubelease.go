package app

import (
	"fmt"
	"os"
	"strings"

	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flowforge/flowforge/platform/election"
	leaseapi "github.com/flowforge/flowforge/platform/election/kubernetes"
)

// namespaceFile is the file in which a pod finds its own namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// kubernetesElector returns an elector that uses the cluster's Lease API.
func (c Config) kubernetesElector(lease election.Config) (election.Elector, error) {
	var config *rest.Config
	var err error
	if path := c.Kubernetes.Kubeconfig; path != "" {
		config, err = clientcmd.BuildConfigFromFlags("", path)
	} else {
		config, err = rest.InClusterConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("FLOWFORGE_LEASES=kubernetes: %w", err)
	}
	leases, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("FLOWFORGE_LEASES=kubernetes: %w", err)
	}
	namespace := c.Kubernetes.Namespace
	if namespace == "" {
		text, err := os.ReadFile(namespaceFile)
		if err != nil {
			return nil, fmt.Errorf("FLOWFORGE_LEASE_NAMESPACE is not set, and this process does not run in a pod: %w", err)
		}
		namespace = strings.TrimSpace(string(text))
	}
	return leaseapi.New(lease, leases, namespace), nil
}
