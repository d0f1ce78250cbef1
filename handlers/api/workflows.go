package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/source"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/web/contract"
)

type versionBody struct {
	WorkflowID uuid.UUID       `json:"workflow_id"`
	VersionID  uuid.UUID       `json:"version_id"`
	Name       string          `json:"name"`
	Version    string          `json:"version"`
	CreatedAt  time.Time       `json:"created_at"`
	Definition json.RawMessage `json:"definition" doc:"Canonical definition"`
	Plan       json.RawMessage `json:"plan" doc:"Plan with nodes, edges, levels, and entry and exit nodes"`
}

// WorkflowPath names a workflow.
type WorkflowPath struct {
	ID string `path:"workflow_id" doc:"Workflow ID or name" maxLength:"200"`
}

type versionPath struct {
	WorkflowPath
	Version string `path:"version" doc:"Semantic version, or latest" maxLength:"100"`
}

// version returns the version to look for, "" for the latest.
func (p versionPath) version() string {
	if p.Version == "latest" {
		return ""
	}
	return p.Version
}

// workflowAPI serves workflows and their versions.
type workflowAPI struct {
	Now       func() time.Time
	Workflows *workflow.Service
	Packages  source.Packages
	dag       *dagAPI
}

func (h *workflowAPI) mount(api *operations) {
	register := post("register-workflow", "/workflows", "Register a version of a workflow (YAML or JSON)", "Workflows")
	register.DefaultStatus = http.StatusCreated
	register.SkipValidateBody = true // it may be YAML
	register.MaxBodyBytes = workflow.MaxDocumentBytes
	definition := &huma.MediaType{Schema: &huma.Schema{Type: "object", Description: "A native definition or an Argo manifest. A body {project_id, name, dag_spec, parameters, priority, labels} registers and launches a workflow in one request, and returns the execution.", AdditionalProperties: true}}
	register.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": definition, "application/yaml": definition}}
	operation(api, register, h.apiRegister)
	operation(api, get("list-workflows", "/workflows", "List workflows; with project_id, offset or an execution state, list executions", "Workflows"), h.apiWorkflows)
	operation(api, get("get-workflow", "/workflows/{workflow_id}", "Get a workflow with its versions", "Workflows"), h.apiWorkflow)
	operation(api, get("get-version", "/workflows/{workflow_id}/versions/{version}", "Get a version: definition and plan", "Workflows"), h.apiVersion)
	operation(api, get("diff-versions", "/workflows/{workflow_id}/diff", "Compare two versions of a workflow", "Workflows"), h.apiVersionDiff)
	operation(api, get("get-ui-schema", "/workflows/{workflow_id}/versions/{version}/ui-schema", "Get the launch form of a version", "Workflows"), h.apiUISchema)
	operation(api, get("get-development", "/workflows/{workflow_id}/development", "Get your development version", "Workflows"), h.apiDeveloped)
	develop := post("develop", "/workflows/{workflow_id}/development", "Set your development version", "Workflows")
	develop.Method = http.MethodPut
	operation(api, develop, h.apiDevelop)
	operation(api, post("archive-workflow", "/workflows/{workflow_id}/archive", "Archive a workflow: its history stays readable, but it cannot be launched", "Workflows"), h.apiArchive)
	operation(api, post("unarchive-workflow", "/workflows/{workflow_id}/unarchive", "Restore an archived workflow", "Workflows"), h.apiUnarchive)
}

func (h *workflowAPI) apiRegister(ctx context.Context, in *struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"Idempotency key, with a dag_spec: a repeated request with the same key does not launch another execution" maxLength:"200"`
	RawBody        []byte
}) (*body[registerAnswer], error) {
	doc := bytes.Clone(in.RawBody) // huma uses the buffer again
	if isDagSpec(doc) {
		run, err := h.dag.runDagSpec(ctx, doc, in.IdempotencyKey)
		return reply(registerAnswer{run: run}), err
	}
	v, created, err := h.Workflows.Register(ctx, doc)
	if err != nil {
		return nil, err
	}
	status := "REGISTERED"
	if !created {
		status = "UNCHANGED"
	}
	return reply(registerAnswer{Registered: contract.Registered{
		WorkflowID: v.WorkflowID, VersionID: v.ID, Name: v.Name, Version: v.Version, Status: status,
		LaunchURL: "/workflows/" + v.Name + "/launch", Notices: v.Definition.Notices,
	}}), nil
}

func (h *workflowAPI) apiWorkflow(ctx context.Context, in *WorkflowPath) (*body[workflowAnswer], error) {
	w, err := h.Workflows.Get(ctx, in.ID)
	if apperr.Is(err, apperr.NotFound) {
		if run, runErr := h.dag.runByID(ctx, in.ID); runErr == nil {
			return reply(workflowAnswer{run: run}), nil
		}
	}
	if err != nil {
		return nil, err
	}
	out := contract.WorkflowBody{
		WorkflowID: w.ID, Name: w.Name, Description: w.Description, OwnerTeam: w.OwnerTeam, Tags: w.Tags,
		Status: string(w.Status), LatestVersion: w.Latest, CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt,
	}
	for _, v := range w.Versions {
		out.Versions = append(out.Versions, contract.VersionLine{VersionID: v.ID, Version: v.Version, Nodes: v.Nodes, CreatedAt: v.CreatedAt})
	}
	return reply(workflowAnswer{WorkflowBody: out}), nil
}

func (h *workflowAPI) apiVersion(ctx context.Context, in *versionPath) (*body[versionBody], error) {
	v, err := h.Workflows.Version(ctx, in.ID, in.version())
	if err != nil {
		return nil, err
	}
	definition, err := json.Marshal(v.Definition)
	if err != nil {
		return nil, err
	}
	plan, err := json.Marshal(v.Plan)
	if err != nil {
		return nil, err
	}
	return reply(versionBody{
		WorkflowID: v.WorkflowID, VersionID: v.ID, Name: v.Name, Version: v.Version, CreatedAt: v.CreatedAt,
		Definition: definition, Plan: plan,
	}), nil
}

func (h *workflowAPI) apiUISchema(ctx context.Context, in *versionPath) (*body[any], error) {
	v, err := h.Workflows.Version(ctx, in.ID, in.version())
	if err != nil {
		return nil, err
	}
	return reply[any](v.Definition.Inputs.UISchema(typeregistry.Env{Now: h.Now()})), nil
}

func (h *workflowAPI) apiArchive(ctx context.Context, in *WorkflowPath) (*body[workflowAnswer], error) {
	return h.apiSetArchived(ctx, in.ID, h.Workflows.Archive)
}

func (h *workflowAPI) apiUnarchive(ctx context.Context, in *WorkflowPath) (*body[workflowAnswer], error) {
	return h.apiSetArchived(ctx, in.ID, h.Workflows.Unarchive)
}

func (h *workflowAPI) apiSetArchived(ctx context.Context, ref string, set func(context.Context, string) error) (*body[workflowAnswer], error) {
	if err := set(ctx, ref); err != nil {
		return nil, err
	}
	return h.apiWorkflow(ctx, &WorkflowPath{ID: ref})
}

func toWorkflowBody(s workflow.Summary) contract.WorkflowBody {
	return contract.WorkflowBody{
		WorkflowID: s.ID, Name: s.Name, Description: s.Description, OwnerTeam: s.OwnerTeam, Tags: s.Tags,
		Status: string(s.Status), LatestVersion: s.Latest, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
}

// developmentBody is the version that a user develops.
type developmentBody struct {
	Name    string    `json:"name" doc:"Workflow name"`
	Version string    `json:"version"`
	SavedAt time.Time `json:"saved_at"`
	URL     string    `json:"ui_url" doc:"Path of the launch form, which reloads when you save another version"`
}

type developInput struct {
	WorkflowPath
	Body struct {
		Version string `json:"version" doc:"Registered version" minLength:"1" maxLength:"100"`
	}
}

func (h *workflowAPI) apiDevelop(ctx context.Context, in *developInput) (*body[developmentBody], error) {
	d, err := h.Workflows.Develop(ctx, in.ID, in.Body.Version)
	return toDevelopment(d, err)
}

func (h *workflowAPI) apiDeveloped(ctx context.Context, in *WorkflowPath) (*body[developmentBody], error) {
	d, err := h.Workflows.Developed(ctx, in.ID)
	return toDevelopment(d, err)
}

func toDevelopment(d workflow.Development, err error) (*body[developmentBody], error) {
	if err != nil {
		return nil, err
	}
	return reply(developmentBody{Name: d.Name, Version: d.Version, SavedAt: d.SavedAt, URL: "/workflows/" + d.Name + "/dev"}), nil
}
