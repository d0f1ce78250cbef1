package api

import (
	"context"
	"errors"
	"maps"
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/web"
	"github.com/flowforge/flowforge/web/contract"
)

// The design document has names of its own for limits and their use, which answers have
// alongside FlowForge's and requests may use in their place. A limit there is what a node may
// hold at most, and a request what it is guaranteed: the limit plus what it may borrow, and
// the limit, in FlowForge's words.

const (
	mibInGiB       = 1024
	weightInSource = 100 // what the document has for a weight of 1
)

// namedResource is a resource with its fields.
type namedResource struct {
	resource       fair.Resource
	unit           int64 // of FlowForge in one of the document's
	limit, request **int64
}

func namedResources(l *contract.NamedLimits) []namedResource {
	return []namedResource{
		{fair.CPU, 1, &l.CPULimit, &l.CPURequest}, {fair.Memory, 1, &l.MemoryLimit, &l.MemoryRequest}, {fair.GPU, 1, &l.GPULimit, nil},
		{fair.Pods, 1, &l.Pods, nil}, {fair.Executions, 1, &l.Workflows, nil}, {fair.Storage, mibInGiB, &l.StorageLimit, nil},
	}
}

func namedUse(u *contract.NamedUse) map[fair.Resource]**int64 {
	return map[fair.Resource]**int64{
		fair.CPU: &u.CPU, fair.Memory: &u.Memory, fair.GPU: &u.GPU, fair.Pods: &u.Pods, fair.Executions: &u.Workflows, fair.Storage: &u.Storage,
	}
}

// overlay applies the named limits to limits and leaves all others unchanged.
func overlay(l contract.NamedLimits, limits fair.Limits) fair.Limits {
	limits.Limit, limits.Borrow = maps.Clone(limits.Limit), maps.Clone(limits.Borrow)
	if limits.Limit == nil {
		limits.Limit = fair.Vector{}
	}
	if limits.Borrow == nil {
		limits.Borrow = fair.Vector{}
	}
	for _, f := range namedResources(&l) {
		most := *f.limit
		if most == nil && (f.request == nil || *f.request == nil) {
			continue
		}
		if most == nil {
			most = *f.request
		}
		guaranteed := *most
		if f.request != nil && *f.request != nil {
			guaranteed = min(**f.request, *most)
		}
		limits.Limit[f.resource] = guaranteed * f.unit
		delete(limits.Borrow, f.resource)
		if rest := *most - guaranteed; rest > 0 {
			limits.Borrow[f.resource] = rest * f.unit
		}
		if lend, ok := limits.Lend[f.resource]; ok {
			limits.Lend = maps.Clone(limits.Lend)
			limits.Lend[f.resource] = min(lend, limits.Limit[f.resource])
		}
	}
	if l.PriorityWeight != nil {
		limits.Weight = float64(*l.PriorityWeight) / weightInSource
	}
	return limits
}

// namedQuotaOf is the quota of a node under the names of the design document.
func namedQuotaOf(n *quota.Node, limits fair.Limits) contract.NamedQuota {
	out := contract.NamedQuota{EntityType: n.Kind, EntityID: n.ID}
	if n.Kind == "team" {
		out.EntityType = "group"
	}
	used, available := namedUse(&out.Used), namedUse(&out.Available)
	for _, f := range namedResources(&out.Limits) {
		held := n.Resources[f.resource].Used
		*used[f.resource] = new((held + f.unit - 1) / f.unit)
		guaranteed, ok := limits.Limit[f.resource]
		if !ok {
			continue
		}
		most := guaranteed + limits.Borrow[f.resource]
		*f.limit = new(most / f.unit)
		if f.request != nil {
			*f.request = new(guaranteed / f.unit)
		}
		*available[f.resource] = new(max(most-held, 0) / f.unit)
		if most > 0 {
			out.Utilization = max(out.Utilization, float64(held)/float64(most)*100)
		}
	}
	out.Limits.PriorityWeight = new(int64(max(limits.Weight, 0)*weightInSource + 0.5))
	if *out.Limits.PriorityWeight == 0 {
		out.Limits.PriorityWeight = new(int64(weightInSource))
	}
	return out
}

// quotaExceededError is a refused launch with the quota that it exceeds.
type quotaExceededError struct {
	error
	info contract.NamedQuota
}

// Unwrap returns the refusal.
func (e *quotaExceededError) Unwrap() error { return e.error }

// extend adds the fields of the design document to a problem.
func (e *quotaExceededError) extend(p *web.Problem) {
	p.Status, p.Title, p.Code = http.StatusForbidden, http.StatusText(http.StatusForbidden), "quota"
	p.QuotaInfo = e.info
}

// overQuota adds the quota to the refusal of a launch that requests more than a level may ever
// use. Callers who may not see that level get only the refusal.
func (h *dagAPI) overQuota(ctx context.Context, err error) error {
	beyond, ok := errors.AsType[*execution.BeyondLimitError](err)
	if !ok {
		return err
	}
	o, failed := h.Quotas.Reader.Overview(ctx, beyond.Level)
	if failed != nil || len(o.Nodes) == 0 {
		return err
	}
	limits := o.Nodes[0].Limits
	if set, failed := h.Quotas.Editor.Get(ctx, beyond.Level); failed == nil && beyond.Level != auth.Installation {
		limits = set.Limits
	}
	return &quotaExceededError{err, namedQuotaOf(&o.Nodes[0], limits)}
}
