package api

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/web/contract"
)

// newSchemas returns the schemas of the API's types. An alias describes a type of
// another package that JSON writes in a form that reflection does not show.
func newSchemas() huma.Registry {
	schemas := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	schemas.RegisterTypeAlias(reflect.TypeFor[uuid.UUID](), reflect.TypeFor[uuidSchema]())
	schemas.RegisterTypeAlias(reflect.TypeFor[contract.QuotaAmounts](), reflect.TypeFor[amountsSchema]())
	schemas.RegisterTypeAlias(reflect.TypeFor[json.Number](), reflect.TypeFor[numberSchema]())
	schemas.RegisterTypeAlias(reflect.TypeFor[typeregistry.Column](), reflect.TypeFor[columnSchema]())
	schemas.RegisterTypeAlias(reflect.TypeFor[catalogue.Feature](), reflect.TypeFor[featureSchema]())
	return schemas
}

type featureSchema struct{}

// Schema implements huma.SchemaProvider.
func (featureSchema) Schema(r huma.Registry) *huma.Schema {
	s := columnSchema{}.Schema(r)
	s.Required = append(s.Required, "feature_set")
	s.Properties["feature_set"] = &huma.Schema{Type: huma.TypeString, Description: "Its feature set, as name@version"}
	s.PrecomputeMessages()
	return s
}

type columnSchema struct{}

// Schema implements huma.SchemaProvider. A column has more fields than those described.
func (columnSchema) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{
		Type: huma.TypeObject, Description: "A column, feature or tensor; other fields are kept", AdditionalProperties: true, Required: []string{"name", "dtype"},
		Properties: map[string]*huma.Schema{
			"name":          {Type: huma.TypeString},
			"dtype":         {Type: huma.TypeString, Description: "Data type, such as Integer"},
			"dimensions":    {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeInteger}, Description: "Dimensions of a tensor; -1 if a dimension is not fixed"},
			"description":   {Type: huma.TypeString},
			"default_value": {Description: "Default value of a feature"},
			"statistics":    {Type: huma.TypeObject, AdditionalProperties: true},
			"nullable":      {Type: huma.TypeBoolean},
			"attributes":    {Type: huma.TypeObject, AdditionalProperties: true, Description: "Additional fields, in the format of earlier versions"},
		},
	}
	s.PrecomputeMessages()
	return s
}

type uuidSchema struct{}

// Schema implements huma.SchemaProvider.
func (uuidSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "uuid"}
}

type numberSchema struct{}

// Schema implements huma.SchemaProvider.
func (numberSchema) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeNumber} }

// needsOne describes an object in which at least one of the properties must have a value.
func needsOne(s *huma.Schema, names ...string) *huma.Schema {
	var choices []map[string]any
	for _, name := range names {
		choices = append(choices, map[string]any{
			"required": []string{name}, "properties": map[string]any{name: map[string]any{"type": "string", "minLength": 1}},
		})
	}
	s.Extensions = map[string]any{"anyOf": choices}
	return s
}

// anyOf describes a value that is one of several types.
func anyOf(schemas huma.Registry, types ...reflect.Type) *huma.Schema {
	out := &huma.Schema{}
	for _, t := range types {
		out.AnyOf = append(out.AnyOf, schemas.Schema(t, true, ""))
	}
	return out
}

// roleName is a role that a member, a group or a service account can have.
type roleName string

// Schema implements huma.SchemaProvider.
func (roleName) Schema(huma.Registry) *huma.Schema {
	var roles []string
	for _, g := range auth.Grants() {
		roles = append(roles, g.Role)
	}
	return described(map[string]any{"enum": roles})
}

// stateNames are states of executions, separated by commas.
type stateNames string

// awaitingApproval is the value of stateNames that selects what only waits for approvals.
const awaitingApproval = "APPROVAL"

// Schema implements huma.SchemaProvider.
func (stateNames) Schema(huma.Registry) *huma.Schema {
	states := []query.State{query.Pending, query.Running, query.Paused, query.Succeeded, query.Failed, query.Cancelled}
	return described(map[string]any{"pattern": strings.Replace(listOf(states), "(", "("+awaitingApproval+"|", 1)})
}

type amountsSchema struct{}

// Schema implements huma.SchemaProvider.
func (amountsSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type:                 huma.TypeObject,
		AdditionalProperties: &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: new(0.0), Maximum: new(float64(maxAmount))},
		Extensions:           map[string]any{"propertyNames": map[string]any{"pattern": "^(cpu|memory|gpu|gpu:.+|pods|executions|storage)$"}},
	}
}

// Schema implements huma.SchemaProvider.
func (workflowAnswer) Schema(r huma.Registry) *huma.Schema {
	return anyOf(r, reflect.TypeFor[contract.WorkflowBody](), reflect.TypeFor[dagRun]())
}

// Schema implements huma.SchemaProvider.
func (registerAnswer) Schema(r huma.Registry) *huma.Schema {
	return anyOf(r, reflect.TypeFor[contract.Registered](), reflect.TypeFor[dagRun]())
}

// Schema implements huma.SchemaProvider.
func (workflowListAnswer) Schema(r huma.Registry) *huma.Schema {
	return anyOf(r, reflect.TypeFor[contract.WorkflowPage](), reflect.TypeFor[runPage]())
}
