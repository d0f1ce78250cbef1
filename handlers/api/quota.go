package api

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// quotaAmounts are whole numbers by resource.
type quotaAmounts map[fair.Resource]int64

// maxAmount bounds limits, so that sums of them are far from overflowing.
const maxAmount = 1_000_000_000_000

const aboutAmounts = "Whole numbers by resource: cpu (millicores), memory (MiB), gpu (of all types), gpu:<TYPE>, pods, executions, storage (MiB)"

// QuotaLimits are the limits of a node and its default requests.
type QuotaLimits struct {
	Limit   quotaAmounts `json:"limit" doc:"Guaranteed amounts. A resource that is absent shares the limit of the parent"`
	Borrow  quotaAmounts `json:"borrow" doc:"Amounts that may be borrowed beyond the limit from idle capacity of others. A resource that is absent cannot be borrowed"`
	Lend    quotaAmounts `json:"lend" doc:"Idle amounts that others may borrow. A resource that is absent can be borrowed completely"`
	Weight  float64      `json:"weight" doc:"Weight among siblings in the share of remaining capacity"`
	Default quotaAmounts `json:"default" doc:"cpu and memory that each pod of a task requests when the task names none. Absent: as the level above says; by default 100 and 256"`
}

type quotaUse struct {
	Used     int64  `json:"used"`
	Borrowed int64  `json:"borrowed" doc:"Part of used that exceeds the limit"`
	Lent     int64  `json:"lent" doc:"Part of the limit that others use"`
	Free     int64  `json:"free" doc:"Of the limit"`
	Most     *int64 `json:"most,omitempty" doc:"Maximum use; absent if no level above sets a bound"`
	Waiting  int64  `json:"waiting" doc:"Amount requested by waiting nodes"`
}

type quotaBody struct {
	NodeID uuid.UUID `json:"node_id"`
	Kind   string    `json:"kind" enum:"installation,tenant,department,team,project"`
	Name   string    `json:"name"`
	Path   string    `json:"path" doc:"Names from the topmost readable level, separated by slashes"`
	QuotaLimits
	Version   int64                      `json:"version" doc:"Increases with each change; 0 before the first"`
	UpdatedAt *time.Time                 `json:"updated_at,omitempty"`
	UpdatedBy string                     `json:"updated_by,omitempty"`
	Use       map[fair.Resource]quotaUse `json:"use"`
	Waiting   int                        `json:"waiting" doc:"Number of nodes that wait at or below this level"`
	Warnings  []string                   `json:"warnings,omitempty" doc:"Limits that the cluster cannot satisfy today"`
	NamedQuota
}

type quotaList struct {
	Nodes []quotaBody `json:"nodes" doc:"Parents before children"`
}

// QuotaPath names a node of the tenancy tree.
type QuotaPath struct {
	ID uuid.UUID `path:"id" doc:"ID of the tenant, department, team or project"`
}

// QuotaEdit is new limits of a node.
type QuotaEdit struct {
	Limit   quotaAmounts `json:"limit,omitempty"`
	Borrow  quotaAmounts `json:"borrow,omitempty"`
	Lend    quotaAmounts `json:"lend,omitempty"`
	Weight  float64      `json:"weight,omitempty" minimum:"0" maximum:"1000" doc:"0 or absent: 1"`
	Default quotaAmounts `json:"default,omitempty" doc:"cpu and memory that each pod of a task requests when the task names none; absent: as the level above says"`
	Version *int64       `json:"version,omitempty" doc:"Version that the change is based on; if absent, any version is overwritten"`
	Reason  string       `json:"reason,omitempty" maxLength:"1000" doc:"For the audit log"`
	Confirm bool         `json:"confirm,omitempty" doc:"Allow the change to interrupt running nodes"`
	NamedLimits
}

// limits are the new limits of a node that has now. Limits by the names of the design
// document change what they name alone; FlowForge's own replace all.
func (e QuotaEdit) limits(now fair.Limits) fair.Limits {
	own := fair.Limits{Limit: fair.Vector(e.Limit), Borrow: fair.Vector(e.Borrow), Lend: fair.Vector(e.Lend), Default: fair.Vector(e.Default), Weight: e.Weight}
	if !e.given() {
		return own
	}
	if e.Limit == nil && e.Borrow == nil && e.Lend == nil {
		own = now
		if e.Weight > 0 {
			own.Weight = e.Weight
		}
	}
	return e.over(own)
}

type quotaTarget struct {
	ExecutionID *uuid.UUID  `json:"execution_id,omitempty" doc:"Absent without permission to read it"`
	Workflow    string      `json:"workflow_name,omitempty"`
	Node        string      `json:"node,omitempty"`
	Amount      fair.Amount `json:"amount"`
}

type quotaPreviewBody struct {
	Interrupted []quotaTarget    `json:"interrupted" doc:"Running nodes that would be stopped; they start again from their last checkpoint"`
	Admitted    []quotaTarget    `json:"admitted" doc:"Waiting nodes that would start immediately"`
	Blocked     []quotaTarget    `json:"blocked" doc:"Waiting nodes that could never start"`
	StillWait   int              `json:"still_wait" doc:"Other nodes that wait before and after"`
	OverCeiling []quotaShortfall `json:"over_ceiling" doc:"Levels that remain above their maximum until running work ends"`
	After       quotaBody        `json:"after" doc:"The level after the change"`
}

type quotaShortfall struct {
	NodeID   uuid.UUID     `json:"node_id"`
	Name     string        `json:"name"`
	Resource fair.Resource `json:"resource"`
	Used     int64         `json:"used"`
	Ceiling  int64         `json:"ceiling"`
}

// quotaCollections are the paths of nodes, each for its kind.
func quotaCollections() map[string]string {
	return map[string]string{"tenants": "tenant", "departments": "department", "teams": "team", "projects": "project"}
}

func (h *API) quotaAPI(api huma.API) {
	list := get("list-quotas", "/quotas", "Limits and use of the whole tree", "Quotas")
	list.Description = aboutAmounts + "."
	operation(h, api, h.ledBy(list, nil), h.apiQuotas)
	for collection, kind := range quotaCollections() {
		h.quotaOperations(api, "/"+collection+"/{id}", kind)
	}
	operation(h, api, h.ledBy(get("get-installation-quota", "/quota", "Get the limits of the installation", "Quotas"), nil), h.apiInstallationQuota)
	put := edit("put-installation-quota", http.MethodPut, "/quota", "Set the limits of the installation")
	operation(h, api, put, func(ctx context.Context, in *struct{ Body QuotaEdit }) (*body[quotaBody], error) {
		return h.apiPutQuota(ctx, auth.Installation, "installation", in.Body)
	})
	preview := edit("preview-installation-quota", http.MethodPost, "/quota/preview", "Preview the effect of new limits of the installation")
	operation(h, api, h.ledBy(preview, nil), func(ctx context.Context, in *struct{ Body QuotaEdit }) (*body[quotaPreviewBody], error) {
		return h.apiPreviewQuota(ctx, auth.Installation, "installation", in.Body)
	})
}

// edit describes an operation that changes limits, or previews a change.
func edit(id, method, path, summary string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"Quotas"}, Description: aboutAmounts + ".",
	}
}

// quotaEditOf is new limits of a node that the path names.
type quotaEditOf struct {
	QuotaPath
	Body QuotaEdit
}

func (h *API) quotaOperations(api huma.API, path, kind string) {
	operation(h, api, h.ledBy(get("get-"+kind+"-quota", path+"/quota", "Get the limits and the use of a "+kind, "Quotas"), nil),
		func(ctx context.Context, in *QuotaPath) (*body[quotaBody], error) {
			return h.apiQuota(ctx, in.ID, kind)
		})
	operation(h, api, edit("put-"+kind+"-quota", http.MethodPut, path+"/quota", "Set the limits of a "+kind),
		func(ctx context.Context, in *quotaEditOf) (*body[quotaBody], error) {
			return h.apiPutQuota(ctx, in.ID, kind, in.Body)
		})
	operation(h, api, h.ledBy(edit("preview-"+kind+"-quota", http.MethodPost, path+"/quota/preview", "Preview the effect of new limits of a "+kind), nil),
		func(ctx context.Context, in *quotaEditOf) (*body[quotaPreviewBody], error) {
			return h.apiPreviewQuota(ctx, in.ID, kind, in.Body)
		})
}

func (h *API) apiQuotas(ctx context.Context, _ *struct{}) (*body[quotaList], error) {
	o, err := h.Quotas.Overview(ctx, uuid.Nil)
	if err != nil {
		return nil, err
	}
	list := quotaList{Nodes: []quotaBody{}}
	for i := range o.Nodes {
		list.Nodes = append(list.Nodes, toQuotaBody(&o.Nodes[i], o.Nodes[i].Limits))
	}
	return reply(list), nil
}

func (h *API) apiInstallationQuota(ctx context.Context, _ *struct{}) (*body[quotaBody], error) {
	return h.apiQuota(ctx, auth.Installation, "installation")
}

// quotaOf returns the limits of a node of a kind, as they are saved, and its use.
func (h *API) quotaOf(ctx context.Context, id uuid.UUID, kind string) (quotaBody, error) {
	set, err := h.Quotas.Get(ctx, id)
	if err != nil {
		return quotaBody{}, err
	}
	if set.Node.Kind != kind {
		return quotaBody{}, apperr.New(apperr.NotFound, "There is no tenant, department, team or project %s.", id)
	}
	o, err := h.Quotas.Overview(ctx, id)
	if err != nil {
		return quotaBody{}, err
	}
	out := toQuotaBody(&o.Nodes[0], set.Limits)
	out.Warnings = h.Quotas.Warnings(set.Limits)
	out.Version, out.UpdatedBy = set.Version, set.UpdatedBy
	if set.Version > 0 {
		out.UpdatedAt = &set.UpdatedAt
	}
	return out, nil
}

func (h *API) apiQuota(ctx context.Context, id uuid.UUID, kind string) (*body[quotaBody], error) {
	out, err := h.quotaOf(ctx, id, kind)
	if err != nil {
		return nil, err
	}
	return reply(out), nil
}

func (h *API) apiPutQuota(ctx context.Context, id uuid.UUID, kind string, in QuotaEdit) (*body[quotaBody], error) {
	now, err := h.quotaOf(ctx, id, kind)
	if err != nil {
		return nil, err
	}
	e := quota.Edit{Limits: in.limits(now.saved()), Version: now.Version, Reason: in.Reason, Interrupt: in.Confirm}
	if in.Version != nil {
		e.Version = *in.Version
	}
	if _, err := h.Quotas.Put(ctx, id, e); err != nil {
		return nil, err
	}
	return h.apiQuota(ctx, id, kind)
}

func (h *API) apiPreviewQuota(ctx context.Context, id uuid.UUID, kind string, in QuotaEdit) (*body[quotaPreviewBody], error) {
	now, err := h.quotaOf(ctx, id, kind)
	if err != nil {
		return nil, err
	}
	p, err := h.Quotas.Preview(ctx, id, in.limits(now.saved()))
	if err != nil {
		return nil, err
	}
	out := quotaPreviewBody{Interrupted: []quotaTarget{}, Admitted: []quotaTarget{}, Blocked: []quotaTarget{}, StillWait: p.StillWait, OverCeiling: []quotaShortfall{}, After: now}
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
		out.OverCeiling = append(out.OverCeiling, quotaShortfall{s.Level.ID, s.Level.Name, s.Resource, s.Used, s.Ceiling})
	}
	if len(p.Changed) > 0 && p.Changed[0].After.ID == id {
		after := toQuotaBody(&p.Changed[0].After, in.limits(now.saved()))
		out.After.QuotaLimits, out.After.Use, out.After.Waiting = after.QuotaLimits, after.Use, after.Waiting
		out.After.NamedQuota, out.After.Warnings = after.NamedQuota, h.Quotas.Warnings(in.limits(now.saved()))
	}
	return reply(out), nil
}

func toTarget(key fair.Key, name quota.Name, amount fair.Amount) quotaTarget {
	t := quotaTarget{Workflow: name.Workflow, Node: name.Node, Amount: amount}
	if key.Execution != uuid.Nil {
		t.ExecutionID = &key.Execution
	}
	return t
}

func toQuotaBody(n *quota.Node, limits fair.Limits) quotaBody {
	b := quotaBody{
		NamedQuota: namedQuotaOf(n, limits),
		NodeID:     n.ID, Kind: n.Kind, Name: n.Name, Version: n.Version, Waiting: n.Waiting, Path: levelNames(n.Path), Use: map[fair.Resource]quotaUse{},
		QuotaLimits: QuotaLimits{Limit: quotaAmounts{}, Borrow: quotaAmounts{}, Lend: quotaAmounts{}, Default: quotaAmounts{}, Weight: max(limits.Weight, 0)},
	}
	if b.Weight == 0 {
		b.Weight = 1
	}
	for _, part := range []struct {
		from fair.Vector
		to   quotaAmounts
	}{{limits.Limit, b.Limit}, {limits.Borrow, b.Borrow}, {limits.Lend, b.Lend}, {limits.Default, b.Default}} {
		maps.Copy(part.to, part.from)
	}
	for r, s := range n.Resources {
		use := quotaUse{Used: s.Used, Borrowed: s.Borrowed, Lent: s.Lent, Free: s.Free, Waiting: s.Waiting}
		if most, ok := n.Most[r]; ok {
			use.Most = &most
		}
		b.Use[r] = use
	}
	return b
}

// saved are the limits of an answer.
func (b quotaBody) saved() fair.Limits {
	return fair.Limits{Limit: fair.Vector(b.Limit), Borrow: fair.Vector(b.Borrow), Lend: fair.Vector(b.Lend), Weight: b.Weight}
}

// levelNames is the path of a node as programs name it.
func levelNames(path []fair.LevelRef) string {
	names := make([]string, 0, len(path))
	for i, l := range path {
		if l.Kind != "installation" || i == len(path)-1 {
			names = append(names, l.Name)
		}
	}
	return strings.Join(names, "/")
}
