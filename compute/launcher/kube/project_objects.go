package kube

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// Names of the objects in a project's namespace; the second object of a kind has a
// different name.
const (
	objectName  = "flowforge"
	serversName = "flowforge-servers"
)

// spaceObjects are all objects of a project's namespace, and the namespace. They hold
// only the desired fields, so applying them again corrects drift.
type spaceObjects struct {
	namespace *corev1ac.NamespaceApplyConfiguration
	account   *corev1ac.ServiceAccountApplyConfiguration
	quota     *corev1ac.ResourceQuotaApplyConfiguration
	limits    *corev1ac.LimitRangeApplyConfiguration
	policies  map[string]*networkingv1ac.NetworkPolicyApplyConfiguration // by their kinds in drift; nil: none
}

// objectsOf returns the objects of a project.
func objectsOf(config ControllerConfig, p Project) spaceObjects {
	labels := map[string]string{pod.LabelManagedBy: pod.ManagedBy, pod.LabelInstallation: config.Installation, pod.LabelProject: p.ID}
	if p.TenantID != "" {
		labels[pod.LabelTenant] = p.TenantID
	}
	spaceLabels := maps.Clone(labels)
	for _, mode := range []string{"enforce", "audit", "warn"} {
		spaceLabels["pod-security.kubernetes.io/"+mode] = config.PodSecurity
		spaceLabels["pod-security.kubernetes.io/"+mode+"-version"] = "latest"
	}
	o := spaceObjects{
		namespace: corev1ac.Namespace(p.Namespace).WithLabels(spaceLabels).WithAnnotations(map[string]string{"flowforge.io/project": p.Slug}),
		account:   serviceAccount(p.Namespace).WithLabels(labels),
		quota:     corev1ac.ResourceQuota(objectName, p.Namespace).WithLabels(labels).WithSpec(corev1ac.ResourceQuotaSpec().WithHard(hard(config, p.Limits))),
		limits:    corev1ac.LimitRange(objectName, p.Namespace).WithLabels(labels).WithSpec(corev1ac.LimitRangeSpec().WithLimits(containerDefaults())),
	}
	if !config.Network.Open {
		o.policies = map[string]*networkingv1ac.NetworkPolicyApplyConfiguration{
			kindPolicy: networkPolicy(config, p.Namespace).WithLabels(labels), kindServers: serversPolicy(p.Namespace).WithLabels(labels),
		}
	}
	return o
}

// hard is the last line of defense for a project's limits: what the server admits is
// below it unless others create pods in the namespace.
func hard(config ControllerConfig, l Limits) corev1.ResourceList {
	list := corev1.ResourceList{}
	add := func(name corev1.ResourceName, amount *int64, make func(int64) *resource.Quantity) {
		if amount != nil {
			list[name] = *make(max(*amount, 0))
		}
	}
	millis := func(n int64) *resource.Quantity { return resource.NewMilliQuantity(n, resource.DecimalSI) }
	mebibytes := func(n int64) *resource.Quantity { return resource.NewQuantity(n<<mib, resource.BinarySI) }
	count := func(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }
	add(corev1.ResourceRequestsCPU, l.CPUMillis, millis)
	add(corev1.ResourceRequestsMemory, l.MemoryMiB, mebibytes)
	add(corev1.ResourceRequestsEphemeralStorage, l.StorageMiB, mebibytes)
	add(corev1.ResourcePods, l.Pods, count)
	add(corev1.ResourceName("requests."+config.GPUResource), l.GPUs, count)
	return list
}

// containerDefaults apply to containers without requests, such as sidecars: without
// requests a quota would refuse their pods. There are no default limits: a limit would also
// apply to tasks with a default request, which may use more.
func containerDefaults() *corev1ac.LimitRangeItemApplyConfiguration {
	return corev1ac.LimitRangeItem().WithType(corev1.LimitTypeContainer).
		WithDefaultRequest(corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
		})
}
