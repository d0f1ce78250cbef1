package pod

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/flowforge/flowforge/apperr"
)

// user is who tasks run as, as in FlowForge's own image.
const user = int64(10001)

// podSecurity is the restricted default with what the operator says over it.
func podSecurity(own *corev1.PodSecurityContext) *corev1.PodSecurityContext {
	always := corev1.FSGroupChangeOnRootMismatch
	context := overlay(&corev1.PodSecurityContext{
		RunAsNonRoot: new(true), RunAsUser: new(user), RunAsGroup: new(user), FSGroup: new(user),
		FSGroupChangePolicy: &always,
		SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}, own)
	// Who asks for root has said so; where it is forbidden, the policy answers.
	if own != nil && own.RunAsNonRoot == nil && own.RunAsUser != nil && *own.RunAsUser == 0 {
		context.RunAsNonRoot = new(false)
	}
	return context
}

// containerSecurity is the restricted default with what the operator says over it.
func containerSecurity(own *corev1.SecurityContext) *corev1.SecurityContext {
	context := overlay(&corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}, own)
	privileged := own != nil && own.Privileged != nil && *own.Privileged
	if privileged && own.AllowPrivilegeEscalation == nil {
		context.AllowPrivilegeEscalation = nil // both at once is a contradiction
	}
	return context
}

// evaluator holds the cluster's own rules, which are put together once: that takes
// longer than making a pod.
var evaluator = sync.OnceValues(func() (policy.Evaluator, error) { //nolint:gochecknoglobals // the same for every pod
	return policy.NewEvaluator(policy.DefaultChecks(), nil)
})

// admissible says early, and by the cluster's own rules, what the Pod Security
// level of the namespace does not let in.
func admissible(pod *corev1.Pod, level string) error {
	parsed, err := api.ParseLevel(level)
	if err != nil {
		return apperr.New(apperr.Invalid, "%q is not a level of Pod Security: write restricted, baseline or privileged.", level)
	}
	if parsed == api.LevelPrivileged {
		return nil
	}
	rules, err := evaluator()
	if err != nil {
		return apperr.Wrap(apperr.Internal, err, "The rules of Pod Security cannot be read.")
	}
	results := rules.EvaluatePod(api.LevelVersion{Level: parsed, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec)
	if !slices.ContainsFunc(results, func(r policy.CheckResult) bool { return !r.Allowed }) {
		return nil
	}
	refused := policy.AggregateCheckResults(results)
	return apperr.New(apperr.Forbidden, "The project's namespace has the Pod Security level %s, which does not let the pod in: %s.", level, refused.ForbiddenDetail())
}
