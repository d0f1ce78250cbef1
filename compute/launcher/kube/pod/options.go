// Package pod makes of an attempt the Kubernetes objects that run it: a pod, or
// the pods of a gang with their Service, or a JobSet; and the Secret that hands
// them what to do. It is pure: the same attempt and options give the same objects.
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

// Options are an installation's settings for its pods. Zero fields take the
// defaults named beside them, but for Namespace, Installation and Image, which
// are required.
type Options struct {
	Namespace    string // of the attempt's project
	Installation string // tells this installation's pods from those of others
	Image        string // FlowForge's own: the init container
	TaskImage    string // of operators without one; "": Image
	Binary       string // the program inside Image; "": flowforge, by its PATH

	GPUResource string   // "": nvidia.com/gpu
	GPULabel    string   // of machines, by the type of their GPUs; "": nvidia.com/gpu.product
	GPUTypes    GPUTypes // what types mean as values of GPULabel; a type without any means itself

	// LostAfter is for how long a pod stays with a machine that the cluster has
	// found silent; 0: 5 s.
	LostAfter time.Duration
	// StartAllowance is what pulling images and starting may take of a pod's
	// deadline, beside the attempt's own timeout; 0: 15 minutes.
	StartAllowance time.Duration

	PodSecurity string // level that the project's namespace enforces; "": restricted
	TopologyKey string // pods of a gang prefer to share it; "": topology.kubernetes.io/zone
	Defaults    Fields // of every pod, below the operator's own
	JobSet      bool   // gangs are made as JobSets

	// ImageCommands are what images run by themselves, of those that SilentContainers names.
	ImageCommands map[string]ImageCommand

	// TaskFiles stand beside the spec in TaskDir, such as certificates.
	TaskFiles map[string][]byte
}

// The names among TaskFiles that the task is told of: what verifies the server, and
// what the task shows it.
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

// set gives a zero field its default.
func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// GPUTypes says which values of the machines' label each type of GPU stands for:
// "A100" may be "NVIDIA-A100-SXM4-80GB" and "NVIDIA-A100-PCIE-40GB".
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

// Values are the values of the machines' label that stand for a type.
func (t GPUTypes) Values(name string) []string {
	if values := t[name]; len(values) > 0 {
		return values
	}
	return []string{name}
}

// Of is the type that a value of the machines' label stands for; a value that no
// type names is a type itself.
func (t GPUTypes) Of(value string) string {
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if slices.Contains(t[name], value) {
			return name
		}
	}
	return value
}
