// Package pod builds the Kubernetes objects that run an attempt: a pod, or the pods of a
// gang with their Service, or a JobSet; and the Secret with the attempt's spec. It is
// pure: the same attempt and options give the same objects.
package pod

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Levels of Pod Security Admission.
const (
	LevelRestricted = "restricted"
	LevelBaseline   = "baseline"
	LevelPrivileged = "privileged"
)

// Options are an installation's settings for its pods. Zero fields take the documented
// defaults, except Namespace, Installation and Image, which are required.
type Options struct {
	Namespace    string // of the attempt's project
	Installation string // distinguishes this installation's pods from those of others
	Image        string // FlowForge's image, for the init container
	TaskImage    string // of operators without one; "": Image
	Binary       string // the program inside Image; "": flowforge, by its PATH

	GPUResource string   // "": nvidia.com/gpu
	GPULabel    string   // of machines, by the type of their GPUs; "": nvidia.com/gpu.product
	GPUTypes    GPUTypes // values of GPULabel for each type; a type without any is its own value

	// LostAfter is how long a pod stays on a machine that the cluster cannot reach; 0: 5
	// s.
	LostAfter time.Duration
	// StartAllowance is the part of a pod's deadline for pulling images and starting, in
	// addition to the attempt's own timeout; 0: 15 minutes.
	StartAllowance time.Duration

	PodSecurity string // level that the project's namespace enforces; "": restricted
	TopologyKey string // domain that the pods of a gang prefer to share; "": topology.kubernetes.io/zone
	Defaults    Fields // of every pod; the operator overrides them
	JobSet      bool   // gangs are made as JobSets

	// ImageCommands are the default commands of the images that SilentContainers returns.
	ImageCommands map[string]ImageCommand

	// TaskFiles are placed next to the spec in TaskDir, such as certificates.
	TaskFiles map[string][]byte
}

// Names of TaskFiles whose paths the task gets: the CA that verifies the server, and the
// task's client certificate.
const (
	FileCA   = "ca.crt"
	FileCert = "tls.crt"
	FileKey  = "tls.key"
)

func (o Options) withDefaults() Options {
	set(&o.TaskImage, o.Image)
	set(&o.Binary, "flowforge")
	set(&o.GPUResource, "nvidia.com/gpu")
	set(&o.GPULabel, "nvidia.com/gpu.product")
	set(&o.LostAfter, 5*time.Second)
	set(&o.StartAllowance, 15*time.Minute)
	set(&o.PodSecurity, LevelRestricted)
	set(&o.TopologyKey, "topology.kubernetes.io/zone")
	return o
}

// set sets a zero field to its default.
func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// GPUTypes maps each GPU type to values of the machines' label: "A100" may be
// "NVIDIA-A100-SXM4-80GB" and "NVIDIA-A100-PCIE-40GB".
type GPUTypes map[string][]string

// ParseGPUTypes reads "A100=NVIDIA-A100-SXM4-80GB|NVIDIA-A100-PCIE-40GB,H100=NVIDIA-H100-80GB-HBM3".
func ParseGPUTypes(text string) (GPUTypes, error) {
	types := GPUTypes{}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, values, found := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		if !found || name == "" {
			return nil, fmt.Errorf("%q is not TYPE=LABEL VALUE, such as A100=NVIDIA-A100-SXM4-80GB", part)
		}
		for value := range strings.SplitSeq(values, "|") {
			value = strings.TrimSpace(value)
			if value == "" || labelValue(value) != value {
				return nil, fmt.Errorf("%q of type %s is not the value of a label", value, name)
			}
			types[name] = append(types[name], value)
		}
	}
	return types, nil
}

// Values returns the values of the machines' label for a type.
func (t GPUTypes) Values(name string) []string {
	if values := t[name]; len(values) > 0 {
		return values
	}
	return []string{name}
}

// Of returns the type for a value of the machines' label; a value without a type is its
// own type.
func (t GPUTypes) Of(value string) string {
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if slices.Contains(t[name], value) {
			return name
		}
	}
	return value
}
