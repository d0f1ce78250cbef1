package kube

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// Network configures what the pods of attempts can reach in addition to the cluster's
// DNS, the server, the other pods of their gang, and serving pods of their project. No
// other pods can reach them.
type Network struct {
	Egress          []string          // CIDRs, such as those of an object store
	ServerNamespace string            // namespace of the server's pods; "": any namespace
	ServerLabels    map[string]string // of the server's pods; nil: app.kubernetes.io/name=flowforge
	Open            bool              // no policies: the cluster has its own
}

const (
	dnsPort     = 53
	webPort     = 80
	webTLSPort  = 443
	metadataIP  = "169.254.169.254/32" // cloud metadata service with machine credentials
	anyIPv4     = "0.0.0.0/0"
	nameOfSpace = "kubernetes.io/metadata.name"
)

// policyNames returns the names of a namespace's policies, by their kinds in drift.
func policyNames() map[string]string {
	return map[string]string{kindPolicy: objectName, kindServers: serversName}
}

// serversPolicy allows all pods of a project's namespace to reach its serving pods.
func serversPolicy(namespace string) *networkingv1ac.NetworkPolicyApplyConfiguration {
	anyPod := networkingv1ac.NetworkPolicyPeer().WithPodSelector(metav1ac.LabelSelector())
	return networkingv1ac.NetworkPolicy(serversName, namespace).WithSpec(networkingv1ac.NetworkPolicySpec().
		WithPodSelector(labelled(pod.LabelServes)).
		WithPolicyTypes(networkingv1.PolicyTypeIngress).
		WithIngress(networkingv1ac.NetworkPolicyIngressRule().WithFrom(anyPod)))
}

func labelled(label string) *metav1ac.LabelSelectorApplyConfiguration {
	return metav1ac.LabelSelector().WithMatchLabels(map[string]string{label: "true"})
}

// networkPolicy returns the policy of all pods of a project's namespace.
func networkPolicy(config ControllerConfig, namespace string) *networkingv1ac.NetworkPolicyApplyConfiguration {
	spec := networkingv1ac.NetworkPolicySpec().
		WithPodSelector(metav1ac.LabelSelector()).
		WithPolicyTypes(networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress)
	gang := networkingv1ac.NetworkPolicyPeer().WithPodSelector(labelled(pod.LabelGang))
	servers := networkingv1ac.NetworkPolicyPeer().WithPodSelector(labelled(pod.LabelServes))
	spec.WithIngress(networkingv1ac.NetworkPolicyIngressRule().WithFrom(gang))
	spec.WithEgress(
		networkingv1ac.NetworkPolicyEgressRule().WithTo(gang, servers),
		networkingv1ac.NetworkPolicyEgressRule().
			WithTo(networkingv1ac.NetworkPolicyPeer().
				WithNamespaceSelector(metav1ac.LabelSelector()).
				WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{"k8s-app": "kube-dns"}))).
			WithPorts(port(corev1.ProtocolUDP, dnsPort), port(corev1.ProtocolTCP, dnsPort)),
	)
	if rule := serverRule(config); rule != nil {
		spec.WithEgress(rule)
	}
	for _, cidr := range config.Network.Egress {
		block := networkingv1ac.IPBlock().WithCIDR(cidr)
		if cidr == anyIPv4 {
			block.WithExcept(metadataIP)
		}
		spec.WithEgress(networkingv1ac.NetworkPolicyEgressRule().WithTo(networkingv1ac.NetworkPolicyPeer().WithIPBlock(block)))
	}
	return networkingv1ac.NetworkPolicy(objectName, namespace).WithSpec(spec)
}

// serverRule allows pods to reach the server: by address if the URL has one, else by
// labels.
func serverRule(config ControllerConfig) *networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	u, err := url.Parse(config.TaskURL)
	if err != nil || u.Host == "" {
		return nil
	}
	number := webPort
	if u.Scheme == "https" {
		number = webTLSPort
	}
	if n, err := strconv.Atoi(u.Port()); err == nil {
		number = n
	}
	peer := networkingv1ac.NetworkPolicyPeer()
	if address, err := netip.ParseAddr(u.Hostname()); err == nil {
		peer.WithIPBlock(networkingv1ac.IPBlock().WithCIDR((&net.IPNet{
			IP: address.AsSlice(), Mask: net.CIDRMask(address.BitLen(), address.BitLen()),
		}).String()))
		return networkingv1ac.NetworkPolicyEgressRule().WithTo(peer).WithPorts(port(corev1.ProtocolTCP, number))
	}
	labels := config.Network.ServerLabels
	if labels == nil {
		labels = map[string]string{"app.kubernetes.io/name": "flowforge"}
	}
	spaces := metav1ac.LabelSelector()
	if config.Network.ServerNamespace != "" {
		spaces.WithMatchLabels(map[string]string{nameOfSpace: config.Network.ServerNamespace})
	}
	peer.WithNamespaceSelector(spaces).WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(labels))
	// A Service's port may differ from that of its pods, and policies use the pods' port.
	// On it the server accepts only attempts' tokens.
	return networkingv1ac.NetworkPolicyEgressRule().WithTo(peer)
}

func port(protocol corev1.Protocol, number int) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
	return networkingv1ac.NetworkPolicyPort().WithProtocol(protocol).WithPort(intstr.FromInt32(int32(number))) //nolint:gosec // a port
}

// serviceAccount returns the account of pods; it has no permissions.
func serviceAccount(namespace string) *corev1ac.ServiceAccountApplyConfiguration {
	return corev1ac.ServiceAccount(pod.ServiceAccount, namespace).WithAutomountServiceAccountToken(false)
}
