package pod

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// When claims of executions are removed, as in Argo's volumeClaimGC.
const (
	GCSuccess    = "OnWorkflowSuccess"    // on success; otherwise when the execution's record is removed
	GCCompletion = "OnWorkflowCompletion" // at the end, with any outcome
)

// ExecutionName is the name prefix of objects that all pods of an execution share.
func ExecutionName(execution string) string { return "ff-" + execution }

// ClaimName returns the name of a claim of an execution.
func ClaimName(execution, template string) string { return ExecutionName(execution) + "-" + template }

// sharedLabels returns the labels of objects that all pods of an execution share.
func (b *builder) sharedLabels() map[string]string {
	all := labels(b.spec, b.o)
	for _, own := range []string{LabelTask, LabelNode, LabelGang, LabelServes} {
		delete(all, own)
	}
	return all
}

// claimed returns the claim templates that the pod mounts.
func (b *builder) claimed() []corev1.PersistentVolumeClaim {
	mounted := map[string]bool{}
	note := func(mounts []corev1.VolumeMount) {
		for _, m := range mounts {
			mounted[m.Name] = true
		}
	}
	note(b.fields.VolumeMounts)
	for _, c := range slices.Concat(b.fields.InitContainers, b.fields.Sidecars, b.fields.Members) {
		note(c.VolumeMounts)
	}
	return slices.DeleteFunc(slices.Clone(b.fields.VolumeClaimTemplates), func(c corev1.PersistentVolumeClaim) bool { return !mounted[c.Name] })
}

func (b *builder) claims() []*corev1.PersistentVolumeClaim {
	var all []*corev1.PersistentVolumeClaim
	for _, template := range b.claimed() {
		claim := template.DeepCopy()
		claim.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
		own := b.sharedLabels()
		own[LabelClaimGC] = b.fields.VolumeClaimGC
		if own[LabelClaimGC] == "" {
			own[LabelClaimGC] = GCSuccess
		}
		claim.ObjectMeta = metav1.ObjectMeta{
			Name: ClaimName(b.spec.GetExecutionId(), template.Name), Namespace: b.o.Namespace,
			Labels: mergeMaps(template.Labels, own), Annotations: template.Annotations,
		}
		claim.Status = corev1.PersistentVolumeClaimStatus{}
		all = append(all, claim)
	}
	return all
}

func (b *builder) claimVolumes() []corev1.Volume {
	var volumes []corev1.Volume
	for _, template := range b.claimed() {
		volumes = append(volumes, corev1.Volume{Name: template.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: ClaimName(b.spec.GetExecutionId(), template.Name)},
		}})
	}
	return volumes
}

// budget returns the disruption budget of the execution's pods.
func (b *builder) budget() *policyv1.PodDisruptionBudget {
	if b.fields.DisruptionBudget == nil {
		return nil
	}
	spec := b.fields.DisruptionBudget.DeepCopy()
	spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{LabelInstallation: b.o.Installation, LabelExecution: b.spec.GetExecutionId()}}
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Name: ExecutionName(b.spec.GetExecutionId()), Namespace: b.o.Namespace, Labels: b.sharedLabels()},
		Spec:       *spec,
	}
}

// claiming adds the claimed devices to the resources of the task's container.
func (b *builder) claiming(r corev1.ResourceRequirements) corev1.ResourceRequirements {
	r.Claims = b.fields.ContainerClaims
	return r
}

// Unwanted reports whether a claim or a budget of an execution can be deleted: known says
// that the execution has a record; ended is its final state, "" while it is running.
func Unwanted(labels map[string]string, known bool, ended string) bool {
	switch {
	case !known:
		return true
	case ended == "":
		return false
	}
	return ended == "SUCCEEDED" || labels[LabelClaimGC] != GCSuccess
}

// shared checks the fields of objects that all pods of an execution share.
func (c *checker) shared() {
	names := map[string]bool{}
	for _, v := range c.fields.Volumes {
		names[v.Name] = true
	}
	for i, claim := range c.fields.VolumeClaimTemplates {
		at := fmt.Sprintf("volumeClaimTemplates[%d].metadata", i)
		for _, message := range validation.IsDNS1123Label(claim.Name) {
			c.add(at+".name", "%s", message)
		}
		if names[claim.Name] {
			c.add(at+".name", "Another volume is already named %q.", claim.Name)
		}
		if reservedVolume(claim.Name) {
			c.add(at+".name", "Names of volumes that begin with flowforge are reserved for FlowForge.")
		}
		names[claim.Name] = true
		c.labels(at+".labels", claim.Labels, true)
		if len(claim.Spec.AccessModes) == 0 {
			c.add(fmt.Sprintf("volumeClaimTemplates[%d].spec.accessModes", i), "Set the access modes, such as [ReadWriteOnce].")
		}
	}
	if gc := c.fields.VolumeClaimGC; gc != "" && gc != GCSuccess && gc != GCCompletion {
		c.add("volumeClaimGC", "%q is not one of %s, %s.", gc, GCSuccess, GCCompletion)
	}
	if b := c.fields.DisruptionBudget; b != nil {
		if b.Selector != nil {
			c.add("podDisruptionBudget.selector", "FlowForge selects the pods of the execution; omit this field.")
		}
		if (b.MinAvailable == nil) == (b.MaxUnavailable == nil) {
			c.add("podDisruptionBudget", "Set either minAvailable or maxUnavailable.")
		}
	}
	known := map[string]bool{}
	for _, claim := range c.fields.ResourceClaims {
		known[claim.Name] = true
	}
	for i, claim := range c.fields.ContainerClaims {
		if !known[claim.Name] {
			c.add(fmt.Sprintf("containerClaims[%d].name", i), "The pod has no resource claim %q.", claim.Name)
		}
	}
}

// SharedSelector selects the shared objects of an installation's executions.
func SharedSelector(installation string) string { return Selector(installation) + "," + LabelExecution }
