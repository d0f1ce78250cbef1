package kube

import (
	"errors"
	"fmt"

	"k8s.io/client-go/discovery"
	authenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	networkingv1 "k8s.io/client-go/kubernetes/typed/networking/v1"
	policyv1 "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// API has the groups of the Kubernetes API that this package calls. The Clientset of client-go
// implements it with all other groups, which would become part of the program.
type API interface {
	AuthenticationV1() authenticationv1.AuthenticationV1Interface
	CoordinationV1() coordinationv1.CoordinationV1Interface
	CoreV1() corev1.CoreV1Interface
	Discovery() discovery.DiscoveryInterface
	NetworkingV1() networkingv1.NetworkingV1Interface
	PolicyV1() policyv1.PolicyV1Interface
}

// apiClients implements API.
type apiClients struct {
	authentication *authenticationv1.AuthenticationV1Client
	coordination   *coordinationv1.CoordinationV1Client
	core           *corev1.CoreV1Client
	discovery      *discovery.DiscoveryClient
	networking     *networkingv1.NetworkingV1Client
	policy         *policyv1.PolicyV1Client
}

func (a *apiClients) AuthenticationV1() authenticationv1.AuthenticationV1Interface {
	return a.authentication
}
func (a *apiClients) CoordinationV1() coordinationv1.CoordinationV1Interface { return a.coordination }
func (a *apiClients) CoreV1() corev1.CoreV1Interface                         { return a.core }
func (a *apiClients) Discovery() discovery.DiscoveryInterface                { return a.discovery }
func (a *apiClients) NetworkingV1() networkingv1.NetworkingV1Interface       { return a.networking }
func (a *apiClients) PolicyV1() policyv1.PolicyV1Interface                   { return a.policy }

// NewAPI returns a client of the cluster of rc, with one throttle and one set of connections.
// It sends no request.
func NewAPI(rc *rest.Config) (API, error) {
	shared := rest.CopyConfig(rc)
	if shared.RateLimiter == nil && shared.QPS > 0 {
		shared.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(shared.QPS, shared.Burst)
	}
	connections, err := rest.HTTPClientFor(shared)
	if err != nil {
		return nil, fmt.Errorf("client of the cluster: %w", err)
	}
	a := &apiClients{}
	errs := make([]error, 6)
	a.authentication, errs[0] = authenticationv1.NewForConfigAndClient(shared, connections)
	a.core, errs[1] = corev1.NewForConfigAndClient(shared, connections)
	a.discovery, errs[2] = discovery.NewDiscoveryClientForConfigAndClient(shared, connections)
	a.networking, errs[3] = networkingv1.NewForConfigAndClient(shared, connections)
	a.coordination, errs[5] = coordinationv1.NewForConfigAndClient(shared, connections)
	a.policy, errs[4] = policyv1.NewForConfigAndClient(shared, connections)
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("client of the cluster: %w", err)
	}
	return a, nil
}
