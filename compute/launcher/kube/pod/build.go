package pod

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/flowforge/flowforge/apperr"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// DeliveryGrace is added to an attempt's own grace period so that its runner can deliver
// the end.
const DeliveryGrace = 15 * time.Second

// rendezvousAllowance is how long the pods of a gang may wait for each other; after it
// their runners give up.
const rendezvousAllowance = 10 * time.Minute

// Objects are the objects that run one attempt: either Pods, one or as many as the gang
// has, by rank; or the JobSet that creates them.
type Objects struct {
	Pods    []*corev1.Pod
	JobSet  *unstructured.Unstructured
	Service *corev1.Service // headless, for a gang of Pods
	Secret  *corev1.Secret  // read by all pods; the first pod or the JobSet must own it
	// Objects of the execution: they exist if an earlier attempt created them.
	Claims []*corev1.PersistentVolumeClaim
	Budget *policyv1.PodDisruptionBudget
}

// builder builds the objects of one attempt.
type builder struct {
	spec   *flowforgev1.AttemptSpec
	o      Options
	fields Fields
	name   string
	key    string // of the spec in the Secret
}

// Build returns the objects that run spec. Errors are Invalid and name the pod field at
// fault or the exceeded size, or Forbidden for a pod that the namespace's Pod Security
// level does not admit.
func Build(spec *flowforgev1.AttemptSpec, o Options) (*Objects, error) {
	fields, err := ParseFields([]byte(spec.GetPodJson()))
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	b := &builder{spec: spec, o: o, fields: merge(o.Defaults, fields), name: Name(spec.GetTaskId())}
	objects := &Objects{Claims: b.claims(), Budget: b.budget()}
	if objects.Secret, b.key, err = b.secret(); err != nil {
		return nil, err
	}
	if Gang(spec) > 1 {
		return objects, b.gang(objects)
	}
	pod, err := b.pod(b.name, nil)
	if err != nil {
		return nil, err
	}
	objects.Pods = []*corev1.Pod{pod}
	return objects, nil
}

// pod returns a complete pod; member adds the differences between the pods of a gang.
func (b *builder) pod(name string, member func(*corev1.Pod)) (*corev1.Pod, error) {
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: b.o.Namespace,
			Labels: mergeMaps(b.fields.Labels, labels(b.spec, b.o)), Annotations: b.annotations(),
		},
		Spec: b.podSpec(),
	}
	if member != nil {
		member(pod)
	}
	for _, patch := range b.fields.patches {
		if err := patchSpec(pod, patch); err != nil {
			return nil, err
		}
	}
	if err := b.verify(pod); err != nil {
		return nil, err
	}
	setGrace(&pod.Spec)
	return pod, admissible(pod, b.o.PodSecurity)
}

// setGrace passes the pod's grace period to the runner, after patches.
func setGrace(spec *corev1.PodSpec) {
	if spec.TerminationGracePeriodSeconds == nil {
		return
	}
	for i := range spec.Containers {
		if c := &spec.Containers[i]; c.Name == Container {
			c.Env = append(c.Env, corev1.EnvVar{Name: "FLOWFORGE_TERMINATION_GRACE", Value: strconv.FormatInt(*spec.TerminationGracePeriodSeconds, 10)})
		}
	}
}

func (b *builder) annotations() map[string]string {
	own := map[string]string{}
	if node := b.spec.GetNode(); node != "" {
		own[AnnotationNode] = node
	}
	if parent := b.spec.GetTraceparent(); parent != "" {
		own[AnnotationTraceparent] = parent
	}
	all := maps.Clone(b.fields.Annotations)
	if all == nil {
		return own
	}
	maps.Copy(all, own)
	return all
}

func (b *builder) podSpec() corev1.PodSpec {
	f := b.fields
	no := false
	return corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		InitContainers:                b.initContainers(),
		Containers:                    append([]corev1.Container{b.container()}, b.members()...),
		Volumes:                       b.volumes(),
		NodeSelector:                  b.nodeSelector(),
		Affinity:                      b.affinity(),
		Tolerations:                   b.tolerations(),
		TopologySpreadConstraints:     f.TopologySpreadConstraints,
		PriorityClassName:             f.PriorityClassName,
		SchedulerName:                 f.SchedulerName,
		RuntimeClassName:              f.RuntimeClassName,
		ServiceAccountName:            cmp.Or(f.ServiceAccountName, ServiceAccount),
		AutomountServiceAccountToken:  orDefault(f.AutomountServiceAccountToken, false),
		EnableServiceLinks:            &no,
		ImagePullSecrets:              f.ImagePullSecrets,
		SecurityContext:               podSecurity(f.SecurityContext),
		HostAliases:                   f.HostAliases,
		HostNetwork:                   f.HostNetwork,
		ResourceClaims:                f.ResourceClaims,
		DNSPolicy:                     f.DNSPolicy,
		DNSConfig:                     f.DNSConfig,
		ActiveDeadlineSeconds:         b.deadline(),
		TerminationGracePeriodSeconds: b.terminationGrace(),
	}
}

func orDefault[T any](value *T, fallback T) *T {
	if value != nil {
		return value
	}
	return &fallback
}

// deadline is the time after which the cluster ends the pod if the runner does not: the
// attempt's timeout and grace periods, and the allowance for starting. Without a timeout
// there is no deadline.
func (b *builder) deadline() *int64 {
	if b.fields.ActiveDeadlineSeconds != nil || b.spec.GetTimeoutMs() <= 0 {
		return b.fields.ActiveDeadlineSeconds
	}
	whole := milliseconds(b.spec.GetTimeoutMs()) + b.grace() + b.o.StartAllowance
	if Gang(b.spec) > 1 {
		whole += rendezvousAllowance
	}
	return new(seconds(whole))
}

// terminationGrace is long enough for both kinds of stop.
func (b *builder) terminationGrace() *int64 {
	whole := seconds(b.grace())
	if own := b.fields.TerminationGracePeriodSeconds; own != nil {
		whole = max(whole, *own)
	}
	return &whole
}

func (b *builder) grace() time.Duration {
	return max(milliseconds(b.spec.GetGraceMs()), milliseconds(b.spec.GetPreemptGraceMs())) + DeliveryGrace
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// seconds rounds up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// patchSpec applies a strategic merge patch to the spec of a pod.
func patchSpec(pod *corev1.Pod, text string) error {
	patch, wrong := parsePatch(text)
	if err := apperr.InvalidFields(invalidFields, wrong); err != nil {
		return err
	}
	original, err := json.Marshal(pod.Spec)
	if err != nil {
		return fmt.Errorf("write the pod: %w", err)
	}
	patched, err := strategicpatch.StrategicMergePatch(original, patch, corev1.PodSpec{})
	if err != nil {
		return patchError("It cannot be applied: " + err.Error())
	}
	spec := corev1.PodSpec{}
	if err := json.Unmarshal(patched, &spec); err != nil {
		return patchError("The result is not a pod: " + err.Error())
	}
	pod.Spec = spec
	return nil
}

func patchError(message string) error {
	return apperr.InvalidFields(invalidFields, []apperr.Field{{Path: "podSpecPatch", Message: message}})
}

// verify checks that the pod still runs the attempt with its counted resources: patches
// may change everything else.
func (b *builder) verify(pod *corev1.Pod) error {
	spec := &pod.Spec
	own := b.container()
	found := false
	for i := range spec.Containers {
		c := &spec.Containers[i]
		if c.Name != Container {
			if err := b.noGPUs(c, "podSpecPatch.containers["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
			continue
		}
		found = true
		if strings.Join(c.Command, "\x00") != strings.Join(own.Command, "\x00") || len(c.Args) > 0 {
			return patchError("The command of the container " + Container + " belongs to FlowForge; set the command in the operator's code.")
		}
		if c.Image != own.Image {
			return patchError("The image of the container " + Container + " cannot be patched; set the operator's image.")
		}
		if !sameAmounts(c.Resources, own.Resources) {
			return patchError("The task's resources cannot be patched; set the operator's resources, because quotas count them.")
		}
	}
	for i := range spec.InitContainers {
		if err := b.noGPUs(&spec.InitContainers[i], "containers."+spec.InitContainers[i].Name); err != nil {
			return err
		}
	}
	switch {
	case !found:
		return patchError("It removes the container " + Container + ", which runs the task.")
	case spec.RestartPolicy != corev1.RestartPolicyNever:
		return patchError("restartPolicy must be Never: FlowForge retries according to the operator's retry policy.")
	case len(spec.EphemeralContainers) > 0:
		return patchError("A new pod cannot have ephemeral containers.")
	case spec.NodeName != "":
		return patchError("nodeName bypasses the scheduler; select machines with nodeSelector or affinity.")
	}
	return nil
}

// noGPUs rejects GPUs of other containers: quotas would not count them.
func (b *builder) noGPUs(c *corev1.Container, at string) error {
	name := corev1.ResourceName(b.o.GPUResource)
	if quantity, ok := c.Resources.Limits[name]; ok && !quantity.IsZero() {
		return apperr.InvalidFields(invalidFields, []apperr.Field{{
			Path: at + ".resources", Message: "Only the task may have GPUs; request them in the operator's resources.",
		}})
	}
	return nil
}

// sameAmounts compares the resources that quotas count.
func sameAmounts(a, b corev1.ResourceRequirements) bool {
	for _, pair := range [][2]corev1.ResourceList{{a.Requests, b.Requests}, {a.Limits, b.Limits}} {
		if len(pair[0]) != len(pair[1]) {
			return false
		}
		for name, amount := range pair[0] {
			if other, ok := pair[1][name]; !ok || amount.Cmp(other) != 0 {
				return false
			}
		}
	}
	return true
}
