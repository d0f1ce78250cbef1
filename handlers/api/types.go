package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/typeregistry"
)

type typeList struct {
	Types []typeregistry.Entry `json:"types"`
}

type typeBody struct {
	TypeName   string         `json:"type_name"`
	Extends    any            `json:"extends,omitempty" doc:"Type that the custom type extends"`
	Schema     map[string]any `json:"schema,omitempty" doc:"Type definition, as registered"`
	UIRenderer any            `json:"ui_renderer,omitempty" doc:"Renderer name, or an object with the page's file and inputs"`
	Rules      []any          `json:"validation_rules,omitempty" doc:"Rule definitions, as registered"`

	typeregistry.Entry

	JSONSchema map[string]any `json:"json_schema" doc:"JSON Schema (2020-12) of a value"`
}

// typeUIBody is the form field of a type, alongside the field that launch forms have.
type typeUIBody struct {
	TypeName    string   `json:"type_name"`
	UIComponent string   `json:"ui_component"`
	Rules       []uiRule `json:"validation_rules"`

	typeregistry.UIField
}

type uiRule struct {
	Rule    string      `json:"rule" doc:"Rule: required, pattern, range, exists_in_catalogue, exists_in_feature_store, access, or a comparison with another field"`
	Error   string      `json:"error" doc:"Error message"`
	Pattern string      `json:"pattern,omitempty"`
	Min     json.Number `json:"min,omitempty"`
	Max     json.Number `json:"max,omitempty"`
	Field   string      `json:"field,omitempty"`

	ExclusiveMin json.Number `json:"exclusive_min,omitempty"`
	ExclusiveMax json.Number `json:"exclusive_max,omitempty"`
}

type typePath struct {
	Name string `path:"type_name" doc:"Type name or type expression" maxLength:"2000"`
}

// typeAPI serves types of values.
type typeAPI struct {
	Now       func() time.Time
	Catalogue *catalogue.Service
	Launches  *execution.LaunchService
}

func (h *typeAPI) mount(api *operations) {
	register := post("register-type", "/types", "Register a custom type", "Types")
	register.DefaultStatus = http.StatusCreated
	register.SkipValidateBody = true // the registry describes what is wrong, all at once
	register.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {
		Schema: &huma.Schema{
			Type: "object", Required: []string{"type_name", "extends"},
			Properties: map[string]*huma.Schema{
				"type_name":        {Type: "string"},
				"extends":          {Description: "A type expression or its object form"},
				"description":      {Type: "string"},
				"schema":           {Type: "object", AdditionalProperties: true, Description: "Parameters of the extended type, fields of a Struct, and other facts"},
				"ui_renderer":      {Description: "A name, or an object with html, a page of at most 512 KiB that shows values, and inputs, true if launch forms use it"},
				"validation_rules": {Type: "array", Items: &huma.Schema{}, Description: "required, pattern, range, exists, access"},
			},
		},
	}}}
	operation(api, register, h.apiRegisterType)
	operation(api, get("list-types", "/types", "List the types", "Types"), h.apiTypes)
	operation(api, get("get-type", "/types/{type_name}", "Get a type", "Types"), h.apiType)
	operation(api, post("check-value", "/types/{type_name}/check", "Check a value of a type", "Types"), h.apiCheckValue)
	operation(api, get("get-type-ui-schema", "/types/{type_name}/ui-schema", "Get the form field of a type", "Types"), h.apiTypeUI)
}

func (h *typeAPI) apiRegisterType(ctx context.Context, in *struct{ RawBody []byte }) (*body[typeBody], error) {
	entry, _, err := h.Catalogue.RegisterType(ctx, bytes.Clone(in.RawBody)) // huma uses the buffer again
	if err != nil {
		return nil, err
	}
	registry, err := h.Catalogue.Types(ctx)
	if err != nil {
		return nil, err
	}
	return reply(toTypeBody(registry, entry)), nil
}

func (h *typeAPI) apiTypes(ctx context.Context, _ *struct{}) (*body[typeList], error) {
	registry, err := h.Catalogue.Types(ctx)
	if err != nil {
		return nil, err
	}
	return reply(typeList{Types: registry.Entries()}), nil
}

func (h *typeAPI) apiType(ctx context.Context, in *typePath) (*body[typeBody], error) {
	registry, err := h.Catalogue.Types(ctx)
	if err != nil {
		return nil, err
	}
	entry, ok := registry.Lookup(in.Name)
	if !ok {
		return nil, apperr.New(apperr.NotFound, "There is no type %q.", in.Name)
	}
	return reply(toTypeBody(registry, entry)), nil
}

func toTypeBody(registry *typeregistry.Registry, entry typeregistry.Entry) typeBody {
	out := typeBody{TypeName: entry.Name, Entry: entry}
	if c := entry.Custom; c != nil {
		out.Extends, out.Schema, out.UIRenderer, out.Rules = c.Extends, c.Schema, c.UIRenderer, c.Rules
	}
	if t, err := registry.Parse(entry.Example); err == nil {
		out.JSONSchema = t.JSONSchema()
	}
	return out
}

func (h *typeAPI) apiTypeUI(ctx context.Context, in *typePath) (*body[typeUIBody], error) {
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
	field := t.UI(typeregistry.Field{Name: in.Name, Type: t}, typeregistry.Env{Now: h.Now()})
	out := typeUIBody{TypeName: in.Name, UIComponent: field.Component, Rules: []uiRule{}, UIField: field}
	for _, v := range field.Validators {
		out.Rules = append(out.Rules, uiRule{
			Rule: ruleName(v.Rule, field.Kind), Error: cmp.Or(v.Error, v.Message), Pattern: v.Pattern, Min: v.Min, Max: v.Max, ExclusiveMin: v.ExclusiveMin, ExclusiveMax: v.ExclusiveMax, Field: v.Field,
		})
	}
	return reply(out), nil
}

// ruleName describes where a value must exist.
func ruleName(rule string, kind typeregistry.Kind) string {
	switch {
	case rule != "exists":
		return rule
	case kind == typeregistry.KindFeatureSet:
		return "exists_in_feature_store"
	}
	return "exists_in_catalogue"
}

// CheckValueInput is the request of check-value.
type CheckValueInput struct {
	Name string `path:"type_name" doc:"Type name or type expression" maxLength:"2000"`
	Body struct {
		Value json.RawMessage `json:"value" doc:"Value to check; numbers can be sent as strings"`
	}
}

type checkValueBody struct {
	Value    any            `json:"value" doc:"Canonical form of the value, if it is valid"`
	Problems []valueProblem `json:"problems"`
}

type valueProblem struct {
	Path    string `json:"path" doc:"Path within the value; empty for the value itself"`
	Message string `json:"message"`
}

func (h *typeAPI) apiCheckValue(ctx context.Context, in *CheckValueInput) (*body[checkValueBody], error) {
	registry, err := h.Catalogue.Types(ctx)
	if err != nil {
		return nil, err
	}
	expression := in.Name
	if entry, known := registry.Lookup(in.Name); known {
		expression = entry.Example
	}
	t, err := registry.Parse(expression)
	if err != nil {
		return nil, apperr.New(apperr.NotFound, "There is no type %q.", in.Name)
	}
	given, err := typeregistry.DecodeJSON(in.Body.Value)
	if err != nil {
		return nil, apperr.Wrap(apperr.Invalid, err, "The value is not valid JSON.")
	}
	value, problems := t.CheckValue(given, typeregistry.Env{Now: h.Now(), Exists: h.Launches.References(ctx)})
	out := checkValueBody{Problems: make([]valueProblem, 0, len(problems))}
	for _, p := range problems {
		out.Problems = append(out.Problems, valueProblem(p))
	}
	if len(problems) == 0 {
		out.Value = value
	}
	return reply(out), nil
}
