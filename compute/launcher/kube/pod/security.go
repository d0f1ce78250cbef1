package pod

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/flowforge/flowforge/apperr"
)

// user is the user of tasks, as in FlowForge's own image.
const user = int64(10001)

// podSecurity is the restricted default, overridden by the operator.
func podSecurity(own *corev1.PodSecurityContext) *corev1.PodSecurityContext {
	always := corev1.FSGroupChangeOnRootMismatch
	context := overlay(&corev1.PodSecurityContext{
		RunAsNonRoot: new(true), RunAsUser: new(user), RunAsGroup: new(user), FSGroup: new(user),
		FSGroupChangePolicy: &always,
		SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}, own)
	// An explicit request for root is kept; the policy decides whether it is allowed.
	if own != nil && own.RunAsNonRoot == nil && own.RunAsUser != nil && *own.RunAsUser == 0 {
		context.RunAsNonRoot = new(false)
	}
	return context
}

// containerSecurity is the restricted default, overridden by the operator.
func containerSecurity(own *corev1.SecurityContext) *corev1.SecurityContext {
	context := overlay(&corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}, own)
	privileged := own != nil && own.Privileged != nil && *own.Privileged
	if privileged && own.AllowPrivilegeEscalation == nil {
		context.AllowPrivilegeEscalation = nil // both together are contradictory
	}
	return context
}

// evaluator holds the cluster's own rules. It is built once because that takes longer
// than building a pod.
var evaluator = sync.OnceValues(func() (policy.Evaluator, error) { //nolint:gochecknoglobals // the same for every pod
	return policy.NewEvaluator(policy.DefaultChecks(), nil)
})

// admissible reports early, by the cluster's own rules, what the Pod Security level of
// the namespace forbids.
func admissible(pod *corev1.Pod, level string) error {
	parsed, err := api.ParseLevel(level)
	if err != nil {
		return apperr.New(apperr.Invalid, "%q is not a Pod Security level: use restricted, baseline or privileged.", level)
	}
	if parsed == api.LevelPrivileged {
		return nil
	}
	rules, err := evaluator()
	if err != nil {
		return apperr.Wrap(apperr.Internal, err, "The Pod Security rules cannot be read.")
	}
	results := rules.EvaluatePod(api.LevelVersion{Level: parsed, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec)
	if !slices.ContainsFunc(results, func(r policy.CheckResult) bool { return !r.Allowed }) {
		return nil
	}
	refused := policy.AggregateCheckResults(results)
	return apperr.New(apperr.Forbidden, "The project's namespace has the Pod Security level %s, which forbids this pod: %s.", level, refused.ForbiddenDetail())
}
