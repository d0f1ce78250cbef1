package kube

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// Kinds of objects whose drift is corrected.
const (
	kindAccount = "ServiceAccount"
	kindQuota   = "ResourceQuota"
	kindLimits  = "LimitRange"
	kindPolicy  = "NetworkPolicy"
	kindServers = "NetworkPolicy of servers"
)

// state returns the part of an object that is compared.
func state(spec any) string {
	text, err := json.Marshal(spec)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// dropDrifted forgets what was applied to namespaces whose objects were changed or
// removed, so that they are applied again.
func (c *Controller) dropDrifted(ctx context.Context) {
	found, err := c.actual(ctx)
	if err != nil {
		if ctx.Err() == nil {
			c.logger.Warn("Namespaces of projects cannot be compared.", "error", err)
		}
		return
	}
	c.keeper.mu.Lock()
	defer c.keeper.mu.Unlock()
	for namespace, was := range c.keeper.applied {
		for kind, result := range was.results {
			if found[kind+"/"+namespace] != result {
				c.logger.Info("Restoring an object that was changed.", "namespace", namespace, "kind", kind)
				delete(c.keeper.applied, namespace)
				break
			}
		}
	}
}

// actual lists the existing objects of the four kinds, by kind and namespace. The API
// server answers version 0 from its cache.
func (c *Controller) actual(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	options := metav1.ListOptions{LabelSelector: pod.Selector(c.config.Installation), ResourceVersion: "0"}
	found := map[string]string{}
	accounts, err := c.api.CoreV1().ServiceAccounts("").List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	for i := range accounts.Items {
		if o := &accounts.Items[i]; o.Name == pod.ServiceAccount {
			found[kindAccount+"/"+o.Namespace] = state(o.AutomountServiceAccountToken)
		}
	}
	quotas, err := c.api.CoreV1().ResourceQuotas("").List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list quotas: %w", err)
	}
	for i := range quotas.Items {
		if o := &quotas.Items[i]; o.Name == objectName {
			found[kindQuota+"/"+o.Namespace] = state(o.Spec)
		}
	}
	limits, err := c.api.CoreV1().LimitRanges("").List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list limit ranges: %w", err)
	}
	for i := range limits.Items {
		if o := &limits.Items[i]; o.Name == objectName {
			found[kindLimits+"/"+o.Namespace] = state(o.Spec)
		}
	}
	policies, err := c.api.NetworkingV1().NetworkPolicies("").List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list network policies: %w", err)
	}
	for i := range policies.Items {
		o := &policies.Items[i]
		for kind, name := range policyNames() {
			if o.Name == name {
				found[kind+"/"+o.Namespace] = state(o.Spec)
			}
		}
	}
	return found, nil
}
