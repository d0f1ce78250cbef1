package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

const (
	fieldManager = "flowforge"
	keepAtOnce   = 4
)

// keeper caches what was applied to the namespaces of projects.
type keeper struct {
	mu      sync.Mutex
	applied map[string]applied // by namespace
	errors  map[string]string  // by namespace; of the last try
}

func (k *keeper) failed(namespace string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.errors == nil {
		k.errors = map[string]string{}
	}
	delete(k.errors, namespace)
	if err != nil {
		k.errors[namespace] = err.Error()
	}
}

func (k *keeper) errorOf(namespace string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.errors[namespace]
}

// applied contains the objects that were applied to a namespace, and the result.
type applied struct {
	desired string
	results map[string]string // by kind
}

func force() metav1.ApplyOptions {
	return metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
}

// reconcileNamespacesForever keeps the namespaces of projects consistent with their quotas.
func (c *Controller) reconcileNamespacesForever(ctx context.Context) {
	compared := c.now()
	every(ctx, c.config.Timing.Projects, func(ctx context.Context) {
		if now := c.now(); now.Sub(compared) >= c.config.Timing.Drift {
			compared = now
			c.dropDrifted(ctx)
		}
		if err := c.reconcileNamespaces(ctx); err != nil && ctx.Err() == nil {
			c.logger.Warn("Namespaces of projects cannot be reconciled yet.", "error", err)
		}
	})
}

func (c *Controller) reconcileNamespaces(ctx context.Context) error {
	projects, err := c.config.Projects(ctx)
	if err != nil {
		return fmt.Errorf("list projects: %w", err)
	}
	var group errgroup.Group
	group.SetLimit(keepAtOnce)
	errs := make([]error, len(projects))
	for i, p := range projects {
		group.Go(func() error {
			if p.Archived {
				errs[i] = c.retire(ctx, p)
			} else {
				errs[i] = c.reconcileNamespace(ctx, p)
			}
			c.keeper.failed(p.Namespace, errs[i])
			return nil
		})
	}
	_ = group.Wait()
	return errors.Join(errs...)
}

// Prepare returns a function that creates a project's namespace immediately, for callers
// that create a pod there before a controller has seen the project. It keeps no state.
func Prepare(config ControllerConfig) func(context.Context, Project) error {
	config.Config = config.Config.withDefaults()
	return func(ctx context.Context, p Project) error {
		if _, err := applyAll(ctx, config, p, objectsOf(config, p)); err != nil {
			return fmt.Errorf("namespace %s: %w", p.Namespace, err)
		}
		return nil
	}
}

// Keep creates a project's namespace immediately, whether or not c runs; see Prepare.
func (c *Controller) Keep(ctx context.Context, p Project) error {
	return Prepare(c.config)(ctx, p)
}

// reconcileNamespace ensures that a project has its namespace with the objects that its limits require.
// It does nothing when they are unchanged since they were last applied.
func (c *Controller) reconcileNamespace(ctx context.Context, p Project) error {
	objects := objectsOf(c.config, p)
	desired, err := json.Marshal([]any{objects.namespace, objects.account, objects.quota, objects.limits, objects.policies})
	if err != nil {
		return fmt.Errorf("objects of the project %s: %w", p.ID, err)
	}
	c.keeper.mu.Lock()
	was := c.keeper.applied[p.Namespace]
	c.keeper.mu.Unlock()
	if was.desired == string(desired) && c.present(p.Namespace) {
		return nil
	}
	if c.namespaceGoing(p.Namespace) {
		return nil // it is created again after its deletion
	}
	results, err := applyAll(ctx, c.config, p, objects)
	if err != nil {
		return fmt.Errorf("namespace %s: %w", p.Namespace, err)
	}
	c.keeper.mu.Lock()
	defer c.keeper.mu.Unlock()
	if c.keeper.applied == nil {
		c.keeper.applied = map[string]applied{}
	}
	c.keeper.applied[p.Namespace] = applied{desired: string(desired), results: results}
	return nil
}

// present reports whether a namespace exists according to the informer.
func (c *Controller) present(name string) bool {
	if !c.namespaces.HasSynced() {
		return true
	}
	obj, ok, _ := c.namespaces.GetStore().GetByKey(name)
	ns, isOne := obj.(*corev1.Namespace)
	return ok && isOne && ns.Labels["pod-security.kubernetes.io/enforce"] == c.config.PodSecurity
}

// errForeign reports that a namespace with the right name belongs to another
// installation.
var errForeign = errors.New("it belongs to another installation")

func applyAll(ctx context.Context, config ControllerConfig, p Project, o spaceObjects) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	core := config.API.CoreV1()
	there, err := core.Namespaces().Get(ctx, p.Namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return nil, err //nolint:wrapcheck // the caller names the namespace
	default:
		if owner := there.Labels[pod.LabelInstallation]; owner != "" && owner != config.Installation {
			return nil, errForeign
		}
	}
	results := map[string]string{}
	if _, err := core.Namespaces().Apply(ctx, o.namespace, force()); err != nil {
		return nil, err //nolint:wrapcheck // the caller names the namespace
	}
	account, err := core.ServiceAccounts(p.Namespace).Apply(ctx, o.account, force())
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names the namespace
	}
	results[kindAccount] = state(account.AutomountServiceAccountToken)
	quota, err := core.ResourceQuotas(p.Namespace).Apply(ctx, o.quota, force())
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names the namespace
	}
	results[kindQuota] = state(quota.Spec)
	limits, err := core.LimitRanges(p.Namespace).Apply(ctx, o.limits, force())
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names the namespace
	}
	results[kindLimits] = state(limits.Spec)
	return results, applyPolicies(ctx, config, p, o, results)
}

// applyPolicies applies the network policies of a project, or removes them.
func applyPolicies(ctx context.Context, config ControllerConfig, p Project, o spaceObjects, results map[string]string) error {
	policies := config.API.NetworkingV1().NetworkPolicies(p.Namespace)
	for kind, name := range policyNames() {
		if o.policies == nil {
			if err := policies.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err //nolint:wrapcheck // the caller names the namespace
			}
			continue
		}
		policy, err := policies.Apply(ctx, o.policies[kind], force())
		if err != nil {
			return err //nolint:wrapcheck // the caller names the namespace
		}
		results[kind] = state(policy.Spec)
	}
	return nil
}

// retire removes the namespace of an archived project when it holds no pods and no volume
// claims.
func (c *Controller) retire(ctx context.Context, p Project) error {
	obj, ok, _ := c.namespaces.GetStore().GetByKey(p.Namespace)
	ns, isOne := obj.(*corev1.Namespace)
	if !ok || !isOne || ns.DeletionTimestamp != nil || ns.Labels[pod.LabelProject] != p.ID {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pods, err := c.api.CoreV1().Pods(p.Namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("list pods of %s: %w", p.Namespace, err)
	}
	claims, err := c.api.CoreV1().PersistentVolumeClaims(p.Namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("list volume claims of %s: %w", p.Namespace, err)
	}
	if len(pods.Items)+len(claims.Items) > 0 {
		return nil
	}
	err = c.api.CoreV1().Namespaces().Delete(ctx, p.Namespace, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &ns.UID}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete the namespace %s: %w", p.Namespace, err)
	}
	c.keeper.mu.Lock()
	defer c.keeper.mu.Unlock()
	delete(c.keeper.applied, p.Namespace)
	return nil
}
