package handlers

import (
	"bytes"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/typeregistry"
)

type typeList struct {
	Types []typeregistry.Entry `json:"types"`
}

type typeBody struct {
	typeregistry.Entry

	JSONSchema map[string]any `json:"json_schema" doc:"JSON Schema 2020-12 of a value"`
}

type typePath struct {
	Name string `path:"type_name" doc:"Name of the type, or a type expression" maxLength:"2000"`
}

func (h *Handlers) typeAPI(api huma.API) {
	register := post("register-type", "/types", "Register a custom type", "Types")
	register.DefaultStatus = http.StatusCreated
	register.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {
		Schema: &huma.Schema{
			Type: "object", Required: []string{"type_name", "extends"},
			Properties: map[string]*huma.Schema{
				"type_name":        {Type: "string"},
				"extends":          {Description: "A type expression or its object form"},
				"description":      {Type: "string"},
				"schema":           {Type: "object", AdditionalProperties: true, Description: "Parameters of the extended type, fields of a Struct, and other facts"},
				"ui_renderer":      {Type: "string"},
				"validation_rules": {Type: "array", Items: &huma.Schema{}, Description: "required, pattern, range, exists, access"},
			},
		},
	}}}
	register.Errors = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity}
	operation(h, api, register, h.apiRegisterType)
	operation(h, api, get("list-types", "/types", "List the types", "Types"), h.apiTypes)
	operation(h, api, get("get-type", "/types/{type_name}", "Get a type", "Types"), h.apiType)
	operation(h, api, get("get-type-ui-schema", "/types/{type_name}/ui-schema", "Get how a form asks for a type", "Types"), h.apiTypeUI)
}

func (h *Handlers) apiRegisterType(ctx context.Context, in *struct{ RawBody []byte }) (*body[typeregistry.Entry], error) {
	entry, _, err := h.Catalogue.RegisterType(ctx, bytes.Clone(in.RawBody)) // huma uses the buffer again
	if err != nil {
		return nil, err
	}
	return reply(entry), nil
}

func (h *Handlers) apiTypes(ctx context.Context, _ *struct{}) (*body[typeList], error) {
	registry, err := h.Catalogue.Types(ctx)
	if err != nil {
		return nil, err
	}
	return reply(typeList{Types: registry.Entries()}), nil
}

func (h *Handlers) apiType(ctx context.Context, in *typePath) (*body[typeBody], error) {
	registry, err := h.Catalogue.Types(ctx)
	if err != nil {
		return nil, err
	}
	entry, ok := registry.Lookup(in.Name)
	if !ok {
		return nil, apperr.New(apperr.NotFound, "There is no type %q.", in.Name)
	}
	out := typeBody{Entry: entry}
	if t, err := registry.Parse(entry.Example); err == nil {
		out.JSONSchema = t.JSONSchema()
	}
	return reply(out), nil
}

func (h *Handlers) apiTypeUI(ctx context.Context, in *typePath) (*body[typeregistry.UIField], error) {
	registry, err := h.Catalogue.Types(ctx)
	if err != nil {
		return nil, err
	}
	expression := in.Name
	entry, known := registry.Lookup(in.Name)
	if known {
		expression = entry.Example
	}
	t, err := registry.Parse(expression)
	if err != nil {
		return nil, apperr.New(apperr.NotFound, "There is no type %q.", in.Name)
	}
	return reply(t.UI(typeregistry.Field{Name: in.Name, Type: t}, typeregistry.Env{Now: h.Now()})), nil
}
