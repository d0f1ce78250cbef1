package api

import (
	"context"
	"maps"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/web/contract"
)

// maxAmount bounds limits, so that sums of them are far from overflowing.
const maxAmount = 1_000_000_000_000

const aboutAmounts = "Whole numbers by resource: cpu (millicores), memory (MiB), gpu (of all types), gpu:<TYPE>, pods, executions, storage (MiB)"

// QuotaPath names a node of the tenancy tree.
type QuotaPath struct {
	ID uuid.UUID `path:"id" doc:"ID of the tenant, department, team or project"`
}

// editedLimits are the new limits of a node whose present limits are now. Limits under the names
// of the design document change only what they name; FlowForge's own format replaces all limits.
func editedLimits(e contract.QuotaEdit, now fair.Limits) fair.Limits {
	own := fair.Limits{Limit: fair.Vector(e.Limit), Borrow: fair.Vector(e.Borrow), Lend: fair.Vector(e.Lend), Default: fair.Vector(e.Default), Weight: e.Weight}
	if e.NamedLimits == (contract.NamedLimits{}) {
		return own
	}
	if e.Limit == nil && e.Borrow == nil && e.Lend == nil {
		own = now
		if e.Weight > 0 {
			own.Weight = e.Weight
		}
	}
	return overlay(e.NamedLimits, own)
}

// quotaCollections are the paths of nodes by kind.
func quotaCollections() map[string]string {
	return map[string]string{"tenants": "tenant", "departments": "department", "teams": "team", "projects": "project"}
}

// quotaAPI serves limits of resources and their usage.
type quotaAPI struct {
	Quotas *quota.Service
}

func (h *quotaAPI) mount(api *operations) {
	list := get("list-quotas", "/quotas", "List limits and usage of the whole tree", "Quotas")
	list.Description = aboutAmounts + "."
	operation(api, api.ledBy(list, nil), h.apiQuotas)
	for collection, kind := range quotaCollections() {
		h.quotaOperations(api, "/"+collection+"/{id}", kind)
	}
	operation(api, api.ledBy(get("get-installation-quota", "/quota", "Get the limits of the installation", "Quotas"), nil), h.apiInstallationQuota)
	put := edit("put-installation-quota", http.MethodPut, "/quota", "Set the limits of the installation")
	operation(api, put, func(ctx context.Context, in *struct{ Body contract.QuotaEdit }) (*body[contract.QuotaBody], error) {
		return h.apiPutQuota(ctx, auth.Installation, "installation", in.Body)
	})
	preview := edit("preview-installation-quota", http.MethodPost, "/quota/preview", "Preview the effect of new limits of the installation")
	operation(api, api.ledBy(preview, nil), func(ctx context.Context, in *struct{ Body contract.QuotaEdit }) (*body[contract.QuotaPreviewBody], error) {
		return h.apiPreviewQuota(ctx, auth.Installation, "installation", in.Body)
	})
}

// edit describes an operation that changes limits, or previews a change.
func edit(id, method, path, summary string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"Quotas"}, Description: aboutAmounts + ".",
	}
}

// quotaEditOf contains the new limits of the node in the path.
type quotaEditOf struct {
	QuotaPath
	Body contract.QuotaEdit
}

func (h *quotaAPI) quotaOperations(api *operations, path, kind string) {
	operation(api, api.ledBy(get("get-"+kind+"-quota", path+"/quota", "Get the limits and usage of a "+kind, "Quotas"), nil),
		func(ctx context.Context, in *QuotaPath) (*body[contract.QuotaBody], error) {
			return h.apiQuota(ctx, in.ID, kind)
		})
	operation(api, edit("put-"+kind+"-quota", http.MethodPut, path+"/quota", "Set the limits of a "+kind),
		func(ctx context.Context, in *quotaEditOf) (*body[contract.QuotaBody], error) {
			return h.apiPutQuota(ctx, in.ID, kind, in.Body)
		})
	operation(api, api.ledBy(edit("preview-"+kind+"-quota", http.MethodPost, path+"/quota/preview", "Preview the effect of new limits of a "+kind), nil),
		func(ctx context.Context, in *quotaEditOf) (*body[contract.QuotaPreviewBody], error) {
			return h.apiPreviewQuota(ctx, in.ID, kind, in.Body)
		})
}

func (h *quotaAPI) apiQuotas(ctx context.Context, _ *struct{}) (*body[contract.QuotaList], error) {
	o, err := h.Quotas.Reader.Overview(ctx, uuid.Nil)
	if err != nil {
		return nil, err
	}
	list := contract.QuotaList{Nodes: []contract.QuotaBody{}}
	for i := range o.Nodes {
		list.Nodes = append(list.Nodes, toQuotaBody(&o.Nodes[i], o.Nodes[i].Limits))
	}
	return reply(list), nil
}

func (h *quotaAPI) apiInstallationQuota(ctx context.Context, _ *struct{}) (*body[contract.QuotaBody], error) {
	return h.apiQuota(ctx, auth.Installation, "installation")
}

// quotaOf returns the saved limits of a node of a kind and its usage.
func (h *quotaAPI) quotaOf(ctx context.Context, id uuid.UUID, kind string) (contract.QuotaBody, error) {
	set, err := h.Quotas.Editor.Get(ctx, id)
	if err != nil {
		return contract.QuotaBody{}, err
	}
	if set.Node.Kind != kind {
		return contract.QuotaBody{}, apperr.New(apperr.NotFound, "There is no tenant, department, team or project %s.", id)
	}
	o, err := h.Quotas.Reader.Overview(ctx, id)
	if err != nil {
		return contract.QuotaBody{}, err
	}
	out := toQuotaBody(&o.Nodes[0], set.Limits)
	out.Warnings = h.Quotas.Editor.Warnings(set.Limits)
	out.Version, out.UpdatedBy = set.Version, set.UpdatedBy
	if set.Version > 0 {
		out.UpdatedAt = &set.UpdatedAt
	}
	return out, nil
}

func (h *quotaAPI) apiQuota(ctx context.Context, id uuid.UUID, kind string) (*body[contract.QuotaBody], error) {
	out, err := h.quotaOf(ctx, id, kind)
	if err != nil {
		return nil, err
	}
	return reply(out), nil
}

func (h *quotaAPI) apiPutQuota(ctx context.Context, id uuid.UUID, kind string, in contract.QuotaEdit) (*body[contract.QuotaBody], error) {
	now, err := h.quotaOf(ctx, id, kind)
	if err != nil {
		return nil, err
	}
	e := quota.Edit{Limits: editedLimits(in, savedLimits(now)), Version: now.Version, Reason: in.Reason, Interrupt: in.Confirm}
	if in.Version != nil {
		e.Version = *in.Version
	}
	if _, err := h.Quotas.Editor.Put(ctx, id, e); err != nil {
		return nil, err
	}
	return h.apiQuota(ctx, id, kind)
}

func (h *quotaAPI) apiPreviewQuota(ctx context.Context, id uuid.UUID, kind string, in contract.QuotaEdit) (*body[contract.QuotaPreviewBody], error) {
	now, err := h.quotaOf(ctx, id, kind)
	if err != nil {
		return nil, err
	}
	p, err := h.Quotas.Editor.Preview(ctx, id, editedLimits(in, savedLimits(now)))
	if err != nil {
		return nil, err
	}
	out := contract.QuotaPreviewBody{Interrupted: []contract.QuotaTarget{}, Admitted: []contract.QuotaTarget{}, Blocked: []contract.QuotaTarget{}, StillWait: p.StillWait, OverCeiling: []contract.QuotaShortfall{}, After: now}
	for _, r := range append(p.Lowered, p.Reclaimed...) {
		out.Interrupted = append(out.Interrupted, toTarget(r.Key, r.Name, r.Amount))
	}
	for _, q := range p.Admitted {
		out.Admitted = append(out.Admitted, toTarget(q.Key, q.Name, q.Amount))
	}
	for _, q := range p.Blocked {
		out.Blocked = append(out.Blocked, toTarget(q.Key, q.Name, q.Amount))
	}
	for _, s := range p.OverCeiling {
		out.OverCeiling = append(out.OverCeiling, contract.QuotaShortfall{NodeID: s.Level.ID, Name: s.Level.Name, Resource: s.Resource, Used: s.Used, Ceiling: s.Ceiling})
	}
	if len(p.Changed) > 0 && p.Changed[0].After.ID == id {
		after := toQuotaBody(&p.Changed[0].After, editedLimits(in, savedLimits(now)))
		out.After.QuotaLimits, out.After.Use, out.After.Waiting = after.QuotaLimits, after.Use, after.Waiting
		out.After.NamedQuota, out.After.Warnings = after.NamedQuota, h.Quotas.Editor.Warnings(editedLimits(in, savedLimits(now)))
	}
	return reply(out), nil
}

func toTarget(key fair.Key, name quota.Name, amount fair.Amount) contract.QuotaTarget {
	t := contract.QuotaTarget{Workflow: name.Workflow, Node: name.Node, Amount: amount}
	if key.Execution != uuid.Nil {
		t.ExecutionID = &key.Execution
	}
	return t
}

func toQuotaBody(n *quota.Node, limits fair.Limits) contract.QuotaBody {
	b := contract.QuotaBody{
		NamedQuota: namedQuotaOf(n, limits),
		NodeID:     n.ID, Kind: n.Kind, Name: n.Name, Version: n.Version, Waiting: n.Waiting, Path: levelNames(n.Path), Use: map[fair.Resource]contract.QuotaUse{},
		QuotaLimits: contract.QuotaLimits{Limit: contract.QuotaAmounts{}, Borrow: contract.QuotaAmounts{}, Lend: contract.QuotaAmounts{}, Default: contract.QuotaAmounts{}, Weight: max(limits.Weight, 0)},
	}
	if b.Weight == 0 {
		b.Weight = 1
	}
	for _, part := range []struct {
		from fair.Vector
		to   contract.QuotaAmounts
	}{{limits.Limit, b.Limit}, {limits.Borrow, b.Borrow}, {limits.Lend, b.Lend}, {limits.Default, b.Default}} {
		maps.Copy(part.to, part.from)
	}
	for r, s := range n.Resources {
		use := contract.QuotaUse{Used: s.Used, Borrowed: s.Borrowed, Lent: s.Lent, Free: s.Free, Waiting: s.Waiting}
		if most, ok := n.Most[r]; ok {
			use.Most = &most
		}
		b.Use[r] = use
	}
	return b
}

// savedLimits are the limits in a response.
func savedLimits(b contract.QuotaBody) fair.Limits {
	return fair.Limits{Limit: fair.Vector(b.Limit), Borrow: fair.Vector(b.Borrow), Lend: fair.Vector(b.Lend), Weight: b.Weight}
}

// levelNames is the path of a node with the names that programs use.
func levelNames(path []fair.LevelRef) string {
	names := make([]string, 0, len(path))
	for i, l := range path {
		if l.Kind != "installation" || i == len(path)-1 {
			names = append(names, l.Name)
		}
	}
	return strings.Join(names, "/")
}
