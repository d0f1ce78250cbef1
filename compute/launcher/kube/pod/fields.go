package pod

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Fields are the pod fields of an operator or, as defaults, of an installation, under
// their Kubernetes names.
type Fields struct {
	Labels                        map[string]string                 `json:"labels,omitempty"`
	Annotations                   map[string]string                 `json:"annotations,omitempty"`
	NodeSelector                  map[string]string                 `json:"nodeSelector,omitempty"`
	Tolerations                   []corev1.Toleration               `json:"tolerations,omitempty"`
	Affinity                      *corev1.Affinity                  `json:"affinity,omitempty"`
	TopologySpreadConstraints     []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	PriorityClassName             string                            `json:"priorityClassName,omitempty"`
	SchedulerName                 string                            `json:"schedulerName,omitempty"`
	RuntimeClassName              *string                           `json:"runtimeClassName,omitempty"`
	ServiceAccountName            string                            `json:"serviceAccountName,omitempty"`
	AutomountServiceAccountToken  *bool                             `json:"automountServiceAccountToken,omitempty"`
	ImagePullSecrets              []corev1.LocalObjectReference     `json:"imagePullSecrets,omitempty"`
	ImagePullPolicy               corev1.PullPolicy                 `json:"imagePullPolicy,omitempty"`
	SecurityContext               *corev1.PodSecurityContext        `json:"securityContext,omitempty"`
	ContainerSecurityContext      *corev1.SecurityContext           `json:"containerSecurityContext,omitempty"`
	Volumes                       []corev1.Volume                   `json:"volumes,omitempty"`
	VolumeMounts                  []corev1.VolumeMount              `json:"volumeMounts,omitempty"`
	EnvFrom                       []corev1.EnvFromSource            `json:"envFrom,omitempty"`
	Ports                         []corev1.ContainerPort            `json:"ports,omitempty"`
	InitContainers                []corev1.Container                `json:"initContainers,omitempty"`
	Members                       []corev1.Container                `json:"members,omitempty"` // next to the task's container, which waits for them
	Sidecars                      []corev1.Container                `json:"sidecars,omitempty"`
	HostAliases                   []corev1.HostAlias                `json:"hostAliases,omitempty"`
	DNSPolicy                     corev1.DNSPolicy                  `json:"dnsPolicy,omitempty"`
	DNSConfig                     *corev1.PodDNSConfig              `json:"dnsConfig,omitempty"`
	ActiveDeadlineSeconds         *int64                            `json:"activeDeadlineSeconds,omitempty"`
	TerminationGracePeriodSeconds *int64                            `json:"terminationGracePeriodSeconds,omitempty"`
	ShmSize                       *resource.Quantity                `json:"shmSize,omitempty"` // of /dev/shm
	HostNetwork                   bool                              `json:"hostNetwork,omitempty"`
	ReadinessProbe                *corev1.Probe                     `json:"readinessProbe,omitempty"` // of the task's container
	ResourceClaims                []corev1.PodResourceClaim         `json:"resourceClaims,omitempty"`
	ContainerClaims               []corev1.ResourceClaim            `json:"containerClaims,omitempty"` // of ResourceClaims, those of the task's container
	ImageCommands                 map[string]bool                   `json:"imageCommands,omitempty"`   // containers without a command, and whether they have arguments

	// Objects that all pods of an execution share, and their cleanup.

	// VolumeClaimTemplates are claims that are created for an execution when its first
	// pod mounts them, as volumes with their names.
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`
	VolumeClaimGC        string                         `json:"volumeClaimGC,omitempty"` // one of the GC constants; "": GCSuccess
	// DisruptionBudget applies to all pods of an execution.
	DisruptionBudget *policyv1.PodDisruptionBudgetSpec `json:"podDisruptionBudget,omitempty"`
	// PodSpecPatch is a strategic merge patch, as YAML or JSON text, that is applied to
	// the complete spec of the pod.
	PodSpecPatch string `json:"podSpecPatch,omitempty"`

	patches []string // of the installation and the operator, in order
}
