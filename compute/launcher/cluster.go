package launcher

import "time"

// ClusterState is the state of a cluster as the UI shows it. The controller stores it as
// JSON for the other servers.
type ClusterState struct {
	Cluster    string           `json:"cluster"`
	Version    string           `json:"version"`
	Answers    bool             `json:"answers"`
	Since      time.Time        `json:"since"` // of the last change of Answers
	Error      string           `json:"error"`
	Machines   []MachineState   `json:"machines"`
	Pods       map[string]int   `json:"pods"` // by state: running, pending, unschedulable, succeeded, failed, terminating
	Namespaces []NamespaceState `json:"namespaces"`
}

// MachineState is a machine of the cluster. Its usage is the sum of the requests of all
// its pods, FlowForge's and others'.
type MachineState struct {
	Name       string     `json:"name"`
	Ready      bool       `json:"ready"`
	Cordoned   bool       `json:"cordoned"`
	Message    string     `json:"message"`
	CPUMillis  int64      `json:"cpu_millis"`
	CPUUsed    int64      `json:"cpu_used"`
	MemoryMiB  int64      `json:"memory_mib"`
	MemoryUsed int64      `json:"memory_used"`
	GPUs       []GPUState `json:"gpus"`
	Pods       int64      `json:"pods"`
	PodLimit   int64      `json:"pod_limit"`
}

// GPUState counts the GPUs of one type.
type GPUState struct {
	Type  string `json:"type"`
	Total int64  `json:"total"`
	Used  int64  `json:"used"`
}

// NamespaceState is the namespace of a project.
type NamespaceState struct {
	ProjectID string `json:"project_id"`
	Namespace string `json:"namespace"`
	Phase     string `json:"phase"`
	Pods      int    `json:"pods"`
	Error     string `json:"error"`
}
