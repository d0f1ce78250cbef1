package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/engine/comparison/model"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web/contract"
)

// ModelPath names a model.
type ModelPath struct {
	Name string `path:"name" doc:"Model name" maxLength:"200"`
}

// ModelVersionPath names a version of a model.
type ModelVersionPath struct {
	ModelPath
	Version string `path:"version" doc:"Version, alias or stage" maxLength:"100"`
}

// ModelAliasPath names an alias of a model.
type ModelAliasPath struct {
	ModelPath
	Alias string `path:"alias" doc:"Alias name" maxLength:"60"`
}

// modelAPI serves stages, aliases and requests of models.
type modelAPI struct {
	Registry *registry.Service
	Models   *model.Service
}

func (h *modelAPI) mount(api *operations) {
	const one = "/model-registry/{name}"
	put := func(id, path, summary string) huma.Operation {
		o := post(id, path, summary, "Models")
		o.Method = http.MethodPut
		o.DefaultStatus = http.StatusNoContent
		return o
	}
	operation(api, get("list-registered-models", "/model-registry", "List the project's models with their production versions", "Models"), h.apiModels)
	operation(api, get("get-registered-model", one, "Get a model with its versions, stages, aliases, requests and history", "Models"), h.apiModel)
	operation(api, get("compare-model-versions", one+"/compare", "Compare two versions of a model", "Models"), h.apiCompareVersions)
	operation(api, post("move-model-version", one+"/versions/{version}/stage", "Move a version to a stage, or request the move", "Models"), h.apiMoveModel)
	operation(api, put("set-model-alias", one+"/aliases/{alias}", "Set an alias of a version"), h.apiSetAlias)
	remove := put("remove-model-alias", one+"/aliases/{alias}", "Remove an alias")
	remove.Method = http.MethodDelete
	operation(api, remove, h.apiRemoveAlias)
	operation(api, put("set-model-policy", one+"/policy", "Set the promotion policy of a model"), h.apiSetModelPolicy)
	operation(api, put("set-project-model-policy", "/model-policy", "Set the default promotion policy of the project"), h.apiSetProjectPolicy)
	decide := post("decide-model-request", "/model-requests/{request_id}", "Approve, reject or withdraw a request", "Models")
	decide.DefaultStatus = http.StatusNoContent
	operation(api, decide, h.apiDecideModel)
}

func (h *modelAPI) apiModels(ctx context.Context, in *struct {
	Text string `query:"q" doc:"Text to find in the name" maxLength:"200"`
	Page string `query:"page" doc:"Cursor: next_page from the previous response" maxLength:"200"`
}) (*body[contract.ModelList], error) {
	list, next, err := h.Registry.List(ctx, in.Text, in.Page)
	if err != nil {
		return nil, err
	}
	out := contract.ModelList{Models: make([]contract.ModelSummary, 0, len(list)), Next: next}
	for _, m := range list {
		out.Models = append(out.Models, contract.ModelSummary(m))
	}
	return reply(out), nil
}

func (h *modelAPI) apiModel(ctx context.Context, in *struct {
	ModelPath
	Page string `query:"page" doc:"Cursor: next_page from the previous response" maxLength:"100"`
}) (*body[contract.ModelBody], error) {
	m, err := h.Registry.Get(ctx, in.Name, in.Page)
	if err != nil {
		return nil, err
	}
	out := contract.ModelBody{
		Name: m.Name, Next: m.More, URL: views.ModelURL(m.Name, ""), Versions: []contract.ModelVersion{}, Aliases: []contract.ModelAlias{},
		Requests: []contract.ModelRequest{}, History: []contract.ModelEvent{},
		Policy: contract.ModelPolicy{Approval: m.Policy.Approval, Propose: m.Policy.Propose, OfModel: m.Policy.OfModel, Rules: []contract.ModelRule{}},
	}
	if m.Production != nil {
		out.Production = m.Production.Version
	}
	for _, v := range m.Versions {
		out.Versions = append(out.Versions, toModelVersion(v))
	}
	for _, a := range m.Aliases {
		out.Aliases = append(out.Aliases, contract.ModelAlias{Alias: a.Name, Version: a.Version, SetBy: a.By, SetAt: a.At})
	}
	for _, r := range m.Requests {
		out.Requests = append(out.Requests, toModelRequest(r))
	}
	for _, e := range m.History {
		out.History = append(out.History, contract.ModelEvent(e))
	}
	for _, r := range m.Policy.Rules {
		out.Policy.Rules = append(out.Policy.Rules, contract.ModelRule(r))
	}
	return reply(out), nil
}

func toModelVersion(v registry.Version) contract.ModelVersion {
	return contract.ModelVersion{
		Version: v.Version, Stage: string(v.Stage), Aliases: append([]string{}, v.Aliases...), Framework: v.Framework, Metrics: v.Metrics(), TestSet: v.TestSet(),
		ArtifactID: v.From, CreatedBy: v.CreatedBy, CreatedAt: v.CreatedAt, ChangedBy: v.ChangedBy, ChangedAt: v.ChangedAt,
	}
}

func toModelRequest(r registry.Request) contract.ModelRequest {
	out := contract.ModelRequest{
		ID: r.ID, Version: r.Version, Stage: string(r.Stage), Reason: r.Reason, Proposed: r.Proposed, RequestedBy: r.By, RequestedAt: r.At, Checks: []contract.ModelCheck{},
	}
	for _, c := range r.Checks {
		out.Checks = append(out.Checks, contract.ModelCheck{Rule: c.Text, Passed: c.OK, Detail: c.Detail})
	}
	return out
}

func (h *modelAPI) apiMoveModel(ctx context.Context, in *struct {
	ModelVersionPath
	Body contract.ModelMove
}) (*body[contract.ModelMoved], error) {
	r, err := h.Registry.Move(ctx, in.Name, in.Version, registry.Stage(in.Body.Stage), in.Body.Reason)
	if err != nil {
		return nil, err
	}
	out := contract.ModelMoved{Moved: r == nil}
	if r != nil {
		requested := toModelRequest(*r)
		out.Request = &requested
	}
	return reply(out), nil
}

func (h *modelAPI) apiSetAlias(ctx context.Context, in *struct {
	ModelAliasPath
	Body contract.ModelAliasTarget
}) (*struct{}, error) {
	return nil, h.Registry.SetAlias(ctx, in.Name, in.Alias, in.Body.Version)
}

func (h *modelAPI) apiRemoveAlias(ctx context.Context, in *ModelAliasPath) (*struct{}, error) {
	return nil, h.Registry.RemoveAlias(ctx, in.Name, in.Alias)
}

func (h *modelAPI) apiSetModelPolicy(ctx context.Context, in *struct {
	ModelPath
	Body contract.ModelPolicy
}) (*struct{}, error) {
	return nil, h.Registry.SetPolicy(ctx, in.Name, toPolicy(in.Body))
}

func (h *modelAPI) apiSetProjectPolicy(ctx context.Context, in *struct{ Body contract.ModelPolicy }) (*struct{}, error) {
	return nil, h.Registry.SetPolicy(ctx, "", toPolicy(in.Body))
}

func toPolicy(b contract.ModelPolicy) registry.Policy {
	p := registry.Policy{Approval: b.Approval, Propose: b.Propose}
	for _, r := range b.Rules {
		p.Rules = append(p.Rules, registry.Rule(r))
	}
	return p
}

func (h *modelAPI) apiDecideModel(ctx context.Context, in *struct {
	ID   string `path:"request_id" doc:"Request ID"`
	Body contract.ModelDecision
}) (*struct{}, error) {
	id, err := request.ParseID(in.ID, "request")
	if err != nil {
		return nil, err
	}
	return nil, h.Registry.Decide(ctx, id, registry.Decision(in.Body.Decision), in.Body.Reason)
}
