// Package kube runs attempts as pods of a Kubernetes cluster. A Client starts,
// stops and lists them and keeps nothing that matters: names are made of the
// attempt, so that any server may repeat what another began. A Controller, which
// one server at a time runs, watches the cluster and tells what became of them.
package kube

import (
	"context"
	"log/slog"
	"time"

	"github.com/flowforge/flowforge/compute/launcher/kube/image"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// Config says which cluster runs attempts, and how. Installation and Image are
// required, and Projects for whatever starts pods.
type Config struct {
	// Kubeconfig is the path of a kubeconfig file; "" is the cluster that this
	// process runs in, or else what KUBECONFIG and ~/.kube/config say.
	Kubeconfig string
	Context    string // of the kubeconfig; "": its current one
	Cluster    string // its name for people
	// Installation tells the pods of this installation from others' in the cluster;
	// a label's value that never changes.
	Installation string
	// Namespace begins the names of all namespaces that this installation makes; "": "ff-".
	Namespace string

	Image     string // FlowForge's own: it brings the program into every pod
	TaskImage string // of operators without one; "": Image
	TaskURL   string // where pods reach the server

	QPS         float32 // requests to the cluster's API per second; 0: 200
	Burst       int     // of them at once; 0: twice QPS
	Concurrency int     // calls under way at the same time; 0: 32

	GPUResource string // "": nvidia.com/gpu
	GPULabel    string // "": nvidia.com/gpu.product
	GPUTypes    pod.GPUTypes

	// What images run by themselves, for containers that name no command.
	ImageCommands      map[string]image.Command // of images that no registry is asked about
	RegistryConfig     string                   // path of a Docker config.json with credentials; "": none
	InsecureRegistries []string                 // hosts that may be spoken to by plain http, and may be this machine

	ImageTimeout   time.Duration // from the first failure to pull an image to the attempt's end; 0: 5 minutes
	StartTimeout   time.Duration // for containers that cannot be made; 0: 5 minutes
	PendingTimeout time.Duration // for pods that no machine takes; 0: for ever
	ResidentMax    int           // warm pods of one project; 0: none
	ResidentIdle   time.Duration // after which a warm pod without work ends; 0: 2 minutes
	LostAfter      time.Duration // for which pods stay with a silent machine; 0: 5 s

	PodSecurity string     // level of the projects' namespaces; "": restricted
	Defaults    pod.Fields // of all pods, below the operators' own
	// TaskFiles are handed to every pod that is made, such as certificates; nil: none.
	TaskFiles func() map[string][]byte

	// Projects tells the projects that there are; namespaces are made for those alone.
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

// set gives a zero field its default.
func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// PodOptions are the settings that pods of a project are made with.
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
