package pod

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeSelector is the operator's, with the GPU type if that is a single label value.
func (b *builder) nodeSelector() map[string]string {
	values := b.gpuValues()
	if len(values) != 1 {
		return b.fields.NodeSelector
	}
	all := maps.Clone(b.fields.NodeSelector)
	if all == nil {
		all = map[string]string{}
	}
	// Quotas count the type, so an operator's own selector does not change it.
	all[b.o.GPULabel] = values[0]
	return all
}

// gpuValues returns the values of the machines' label on which the attempt can run.
func (b *builder) gpuValues() []string {
	r := b.spec.GetResources()
	if r.GetGpus() == 0 || r.GetGpuType() == "" {
		return nil
	}
	return b.o.GPUTypes.Values(r.GetGpuType())
}

// affinity is the operator's, with a GPU type that has several label values, and the
// preference of a gang for one topology domain.
func (b *builder) affinity() *corev1.Affinity {
	affinity := b.fields.Affinity.DeepCopy()
	if affinity == nil {
		affinity = &corev1.Affinity{}
	}
	if values := b.gpuValues(); len(values) > 1 {
		requireNode(affinity, corev1.NodeSelectorRequirement{
			Key: b.o.GPULabel, Operator: corev1.NodeSelectorOpIn, Values: values,
		})
	}
	if Gang(b.spec) > 1 {
		preferTogether(affinity, b.o.TopologyKey, b.spec.GetTaskId())
	}
	if affinity.NodeAffinity == nil && affinity.PodAffinity == nil && affinity.PodAntiAffinity == nil {
		return nil
	}
	return affinity
}

// requireNode adds a requirement to each existing alternative.
func requireNode(affinity *corev1.Affinity, requirement corev1.NodeSelectorRequirement) {
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	node := affinity.NodeAffinity
	if node.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		node.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
	}
	required := node.RequiredDuringSchedulingIgnoredDuringExecution
	if len(required.NodeSelectorTerms) == 0 {
		required.NodeSelectorTerms = []corev1.NodeSelectorTerm{{}}
	}
	for i := range required.NodeSelectorTerms {
		term := &required.NodeSelectorTerms[i]
		term.MatchExpressions = append(term.MatchExpressions, requirement)
	}
}

func preferTogether(affinity *corev1.Affinity, topology, task string) {
	if affinity.PodAffinity == nil {
		affinity.PodAffinity = &corev1.PodAffinity{}
	}
	pods := affinity.PodAffinity
	pods.PreferredDuringSchedulingIgnoredDuringExecution = append(pods.PreferredDuringSchedulingIgnoredDuringExecution, corev1.WeightedPodAffinityTerm{
		Weight: 100,
		PodAffinityTerm: corev1.PodAffinityTerm{
			TopologyKey:   topology,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{LabelTask: task}},
		},
	})
}

// tolerations are the operator's; a short toleration of unreachable machines, so that an
// attempt soon runs elsewhere; and with GPUs the taint that keeps other pods off GPU
// machines.
func (b *builder) tolerations() []corev1.Toleration {
	all := slices.Clone(b.fields.Tolerations)
	patience := seconds(b.o.LostAfter)
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		own := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}
		if !tolerates(all, own) {
			own.TolerationSeconds = &patience
			all = append(all, own)
		}
	}
	if b.spec.GetResources().GetGpus() > 0 {
		gpu := corev1.Toleration{Key: b.o.GPUResource, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
		if !tolerates(all, gpu) {
			all = append(all, gpu)
		}
	}
	return all
}

// tolerates reports whether the list already handles the taint.
func tolerates(list []corev1.Toleration, taint corev1.Toleration) bool {
	return slices.ContainsFunc(list, func(t corev1.Toleration) bool {
		return (t.Key == taint.Key || t.Key == "" && t.Operator == corev1.TolerationOpExists) && (t.Effect == taint.Effect || t.Effect == "")
	})
}
