package pod

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// merge overrides the installation's fields with the operator's: named entries are
// replaced by name, lists are extended, and every other field is the operator's if it is
// set.
func merge(base, over Fields) Fields {
	all := over
	all.Labels = mergeMaps(base.Labels, over.Labels)
	all.Annotations = mergeMaps(base.Annotations, over.Annotations)
	all.NodeSelector = mergeMaps(base.NodeSelector, over.NodeSelector)
	all.Tolerations = slices.Concat(over.Tolerations, base.Tolerations)
	all.TopologySpreadConstraints = slices.Concat(over.TopologySpreadConstraints, base.TopologySpreadConstraints)
	all.EnvFrom = slices.Concat(base.EnvFrom, over.EnvFrom)
	all.HostAliases = slices.Concat(base.HostAliases, over.HostAliases)
	all.ImagePullSecrets = mergeLists(base.ImagePullSecrets, over.ImagePullSecrets, func(s corev1.LocalObjectReference) string { return s.Name })
	all.Volumes = mergeLists(base.Volumes, over.Volumes, func(v corev1.Volume) string { return v.Name })
	all.VolumeMounts = mergeLists(base.VolumeMounts, over.VolumeMounts, func(m corev1.VolumeMount) string { return m.MountPath })
	all.InitContainers = mergeLists(base.InitContainers, over.InitContainers, func(c corev1.Container) string { return c.Name })
	all.Sidecars = mergeLists(base.Sidecars, over.Sidecars, func(c corev1.Container) string { return c.Name })
	all.Ports = mergeLists(base.Ports, over.Ports, func(p corev1.ContainerPort) string { return string(p.Protocol) + strconv.Itoa(int(p.ContainerPort)) })
	all.Members = mergeLists(base.Members, over.Members, func(c corev1.Container) string { return c.Name })
	set(&all.Affinity, base.Affinity)
	set(&all.PriorityClassName, base.PriorityClassName)
	set(&all.SchedulerName, base.SchedulerName)
	set(&all.RuntimeClassName, base.RuntimeClassName)
	set(&all.ServiceAccountName, base.ServiceAccountName)
	set(&all.AutomountServiceAccountToken, base.AutomountServiceAccountToken)
	set(&all.ImagePullPolicy, base.ImagePullPolicy)
	set(&all.DNSPolicy, base.DNSPolicy)
	set(&all.DNSConfig, base.DNSConfig)
	set(&all.ActiveDeadlineSeconds, base.ActiveDeadlineSeconds)
	set(&all.TerminationGracePeriodSeconds, base.TerminationGracePeriodSeconds)
	set(&all.ShmSize, base.ShmSize)
	set(&all.HostNetwork, base.HostNetwork)
	set(&all.ReadinessProbe, base.ReadinessProbe)
	set(&all.VolumeClaimGC, base.VolumeClaimGC)
	set(&all.DisruptionBudget, base.DisruptionBudget)
	all.ResourceClaims = mergeLists(base.ResourceClaims, over.ResourceClaims, func(c corev1.PodResourceClaim) string { return c.Name })
	all.ContainerClaims = slices.Concat(base.ContainerClaims, over.ContainerClaims)
	all.VolumeClaimTemplates = mergeLists(base.VolumeClaimTemplates, over.VolumeClaimTemplates, func(c corev1.PersistentVolumeClaim) string { return c.Name })
	all.SecurityContext = overlay(base.SecurityContext, over.SecurityContext)
	all.ContainerSecurityContext = overlay(base.ContainerSecurityContext, over.ContainerSecurityContext)
	all.patches = nil
	for _, patch := range []string{base.PodSpecPatch, over.PodSpecPatch} {
		if strings.TrimSpace(patch) != "" {
			all.patches = append(all.patches, patch)
		}
	}
	return all
}

func mergeMaps(base, over map[string]string) map[string]string {
	if len(base) == 0 {
		return over
	}
	all := maps.Clone(base)
	maps.Copy(all, over)
	return all
}

// mergeLists replaces the entries of base that have the same key in over, and appends the
// remaining entries of over.
func mergeLists[T any](base, over []T, key func(T) string) []T {
	all := slices.Clone(base)
	for _, entry := range over {
		if i := slices.IndexFunc(all, func(e T) bool { return key(e) == key(entry) }); i >= 0 {
			all[i] = entry
		} else {
			all = append(all, entry)
		}
	}
	return all
}

// overlay overrides the fields of base with those set in over.
func overlay[T any](base, over *T) *T {
	if base == nil || over == nil {
		if over == nil {
			return base
		}
		return over
	}
	all := new(T)
	for _, layer := range []*T{base, over} {
		data, err := json.Marshal(layer)
		if err != nil {
			continue // Kubernetes' types always have a JSON form
		}
		_ = json.Unmarshal(data, all)
	}
	return all
}
