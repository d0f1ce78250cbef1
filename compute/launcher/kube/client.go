package kube

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flowforge/flowforge/compute/launcher/kube/image"
)

// userAgent identifies this program in the cluster's audit log.
const userAgent = "flowforge"

// Client starts, stops and lists attempts. It is safe for concurrent use.
type Client struct {
	config   Config
	api      API
	dynamic  dynamic.Interface
	slots    chan struct{} // limits concurrent calls
	projects *projects
	recent   *recent
	jobSets  jobSets
	images   *image.Lookup
	prepare  func(context.Context, Project) error
}

// New returns a client of the cluster that config selects. It sends no request.
func New(config Config) (*Client, error) {
	config = config.withDefaults()
	rc, err := RESTConfig(config)
	if err != nil {
		return nil, err
	}
	api, err := NewAPI(rc)
	if err != nil {
		return nil, err
	}
	// Custom resources do not support protobuf.
	rc = rest.CopyConfig(rc)
	rc.ContentType, rc.AcceptContentTypes = "", ""
	dyn, err := dynamic.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("client of the cluster: %w", err)
	}
	return NewFor(config, api, dyn), nil
}

// NewFor returns a client that uses api and dyn; it ignores the address and the
// throttling in config.
func NewFor(config Config, api API, dyn dynamic.Interface) *Client {
	config = config.withDefaults()
	return &Client{
		config: config, api: api, dynamic: dyn, slots: make(chan struct{}, config.Concurrency),
		projects: &projects{load: config.Projects, now: config.Now}, recent: &recent{now: config.Now},
		images: config.imageLookup(),
	}
}

// PrepareWith sets the function that creates a project's namespace when the first pod
// needs it. Without it, such pods wait for the controller. Call it before the client is
// used.
func (c *Client) PrepareWith(prepare func(context.Context, Project) error) { c.prepare = prepare }

// API returns the client, throttled by the configuration.
func (c *Client) API() API { return c.api }

// Dynamic returns the client for custom resources.
func (c *Client) Dynamic() dynamic.Interface { return c.dynamic }

// Config returns the configuration with its defaults.
func (c *Client) Config() Config { return c.config }

// RESTConfig finds the cluster: the configured kubeconfig, the cluster in which this
// process runs, or KUBECONFIG and ~/.kube/config, in this order.
func RESTConfig(config Config) (*rest.Config, error) {
	config = config.withDefaults()
	rc, err := findCluster(config)
	if err != nil {
		return nil, err
	}
	rc.QPS, rc.Burst = config.QPS, config.Burst
	rc.UserAgent = userAgent
	rc.ContentType = "application/vnd.kubernetes.protobuf"
	rc.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return rc, nil
}

func findCluster(config Config) (*rest.Config, error) {
	if config.Kubeconfig == "" && config.Context == "" {
		rc, err := rest.InClusterConfig()
		if err == nil {
			return rc, nil
		}
		if !errors.Is(err, rest.ErrNotInCluster) {
			return nil, fmt.Errorf("find the cluster that this process runs in: %w", err)
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = config.Kubeconfig
	rc, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: config.Context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster (FLOWFORGE_KUBE_CONFIG, KUBECONFIG): %w", err)
	}
	return rc, nil
}
