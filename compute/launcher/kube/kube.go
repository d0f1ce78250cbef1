// Package kube runs attempts as pods of a Kubernetes cluster. A Client starts, stops and
// lists them and has no essential state: object names derive from the attempt, so that
// any server can repeat what another one began. A Controller, which runs on one server at
// a time, watches the cluster and reports the outcomes.
package kube

import (
	"context"
	"log/slog"
	"time"

	"github.com/flowforge/flowforge/compute/launcher/kube/image"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// Config selects the cluster that runs attempts and configures their pods. Installation
// and Image are required, and Projects for starting pods.
type Config struct {
	// Kubeconfig is the path of a kubeconfig file; "": the cluster in which this process
	// runs, or else KUBECONFIG and ~/.kube/config.
	Kubeconfig string
	Context    string // of the kubeconfig; "": its current one
	Cluster    string // display name
	// Installation is a label value that distinguishes this installation's pods in the
	// cluster; it must never change.
	Installation string
	// Namespace is the prefix of all namespaces that this installation creates; "":
	// "ff-".
	Namespace string

	Image     string // FlowForge's image, which provides the program in every pod
	TaskImage string // image of operators without one; "": Image
	TaskURL   string // URL at which pods reach the server

	QPS         float32 // requests to the cluster's API per second; 0: 200
	Burst       int     // burst of requests; 0: twice QPS
	Concurrency int     // concurrent calls; 0: 32

	GPUResource string // "": nvidia.com/gpu
	GPULabel    string // "": nvidia.com/gpu.product
	GPUTypes    pod.GPUTypes

	// Default commands of images, for containers without a command.
	ImageCommands      map[string]image.Command // commands of images that are not looked up in a registry
	RegistryConfig     string                   // path of a Docker config.json with credentials; "": none
	InsecureRegistries []string                 // hosts that may be accessed by plain http and may be on this machine

	ImageTimeout   time.Duration // from the first failure to pull an image to the attempt's end; 0: 5 minutes
	StartTimeout   time.Duration // for containers that cannot be created; 0: 5 minutes
	PendingTimeout time.Duration // for pods that cannot be scheduled; 0: no limit
	ResidentMax    int           // warm pods of one project; 0: none
	ResidentIdle   time.Duration // after which a warm pod without work ends; 0: 2 minutes
	// ResidentEnv are variables of warm pods, such as the limits of warm Python processes.
	ResidentEnv map[string]string
	LostAfter   time.Duration // how long pods stay on an unreachable machine; 0: 5 s

	// Service accounts of the cluster that may call FlowForge's API, with tokens for the
	// audience; "": none.
	TokenAudience string
	TokenAccounts []TokenAccount

	PodSecurity string     // level of the projects' namespaces; "": restricted
	Defaults    pod.Fields // of all pods; operators override them
	// TaskFiles returns files that every new pod gets, such as certificates; nil: none.
	TaskFiles func() map[string][]byte

	// Projects lists the existing projects; namespaces are created only for them.
	Projects func(context.Context) ([]Project, error)

	Logger *slog.Logger
	Now    func() time.Time
}

func (c Config) withDefaults() Config {
	set(&c.Namespace, "ff-")
	set(&c.QPS, 200)
	set(&c.Burst, int(2*c.QPS))
	set(&c.Concurrency, 32)
	set(&c.GPUResource, "nvidia.com/gpu")
	set(&c.GPULabel, "nvidia.com/gpu.product")
	set(&c.ImageTimeout, 5*time.Minute)
	set(&c.StartTimeout, 5*time.Minute)
	set(&c.LostAfter, 5*time.Second)
	set(&c.PodSecurity, pod.LevelRestricted)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// set sets a zero field to its default.
func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// PodOptions returns the options for the pods of a project.
func (c Config) PodOptions(p Project) pod.Options {
	o := pod.Options{
		Namespace: p.Namespace, Installation: c.Installation, Image: c.Image, TaskImage: c.TaskImage,
		GPUResource: c.GPUResource, GPULabel: c.GPULabel, GPUTypes: c.GPUTypes,
		LostAfter: c.LostAfter, StartAllowance: c.ImageTimeout + c.StartTimeout,
		PodSecurity: c.PodSecurity, Defaults: c.Defaults,
	}
	if c.TaskFiles != nil {
		o.TaskFiles = c.TaskFiles()
	}
	return o
}
