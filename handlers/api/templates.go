package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowforge/flowforge/engine/workflow"
)

type templateBody struct {
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Scope       string          `json:"scope" enum:"project,tenant"`
	Description string          `json:"description,omitempty"`
	Document    json.RawMessage `json:"document,omitempty" doc:"Operator definition without input sources; not included in lists"`
	CreatedBy   string          `json:"created_by"`
	CreatedAt   time.Time       `json:"created_at"`
}

type templateList struct {
	Templates []templateBody `json:"templates"`
}

// templateAPI serves operators that definitions refer to by name.
type templateAPI struct {
	Workflows *workflow.Service
}

func (h *templateAPI) mount(api *operations) {
	register := post("register-template", "/templates", "Register a version of an operator template", "Templates")
	register.DefaultStatus = http.StatusCreated
	register.SkipValidateBody = true // the service describes what is wrong, all at once
	register.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/json": {Schema: &huma.Schema{Type: "object", Required: []string{"name", "version", "type"}}},
		"application/yaml": {Schema: &huma.Schema{Type: "string"}},
	}}
	operation(api, register, h.apiRegisterTemplate)
	operation(api, get("list-templates", "/templates", "List the operator templates available to the project", "Templates"), h.apiTemplates)
	operation(api, get("get-template", "/templates/{template}", "Get an operator template", "Templates"), h.apiTemplate)
}

func (h *templateAPI) apiRegisterTemplate(ctx context.Context, in *struct {
	Scope   string `query:"scope" enum:"project,tenant" default:"project" doc:"Visibility of the template"`
	RawBody []byte
}) (*body[templateBody], error) {
	t, _, err := h.Workflows.RegisterTemplate(ctx, bytes.Clone(in.RawBody), in.Scope == "tenant") // huma uses the buffer again
	if err != nil {
		return nil, err
	}
	return reply(toTemplateBody(t)), nil
}

func (h *templateAPI) apiTemplates(ctx context.Context, _ *struct{}) (*body[templateList], error) {
	templates, err := h.Workflows.Templates(ctx)
	if err != nil {
		return nil, err
	}
	out := templateList{Templates: []templateBody{}}
	for _, t := range templates {
		out.Templates = append(out.Templates, toTemplateBody(t))
	}
	return reply(out), nil
}

func (h *templateAPI) apiTemplate(ctx context.Context, in *struct {
	Template string `path:"template" doc:"Template name" maxLength:"200"`
	Version  string `query:"version" doc:"Version; defaults to the latest release" maxLength:"100"`
}) (*body[templateBody], error) {
	t, err := h.Workflows.Template(ctx, in.Template, in.Version)
	if err != nil {
		return nil, err
	}
	return reply(toTemplateBody(t)), nil
}

func toTemplateBody(t workflow.Template) templateBody {
	out := templateBody{
		Name: t.Name, Version: t.Version, Scope: "project", Description: t.Description, Document: t.Document, CreatedBy: t.CreatedBy, CreatedAt: t.CreatedAt,
	}
	if t.Global {
		out.Scope = "tenant"
	}
	return out
}
