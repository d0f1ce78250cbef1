package api

import (
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// describeRequests adds to the description what huma accepts without describing it. It changes
// no check.
func describeRequests(o *huma.OpenAPI) {
	seen := map[*huma.Schema]bool{}
	for _, item := range o.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			for _, p := range op.Parameters {
				describeParam(p)
			}
			shareProblems(o.Components, op.Responses)
			if op.RequestBody != nil {
				for _, m := range op.RequestBody.Content {
					describeNull(o.Components.Schemas, m.Schema, seen)
				}
			}
		}
	}
}

// shareProblems moves the error responses, which are the same for every operation, to the
// components of the description.
func shareProblems(components *huma.Components, responses map[string]*huma.Response) {
	if components.Responses == nil {
		components.Responses = map[string]*huma.Response{}
	}
	for status, r := range responses {
		if r.Content["application/problem+json"] == nil {
			continue
		}
		name := strings.ReplaceAll(r.Description, " ", "")
		components.Responses[name] = r
		responses[status] = &huma.Response{Ref: "#/components/responses/" + name}
	}
}

// uuidParams are path parameters that hold a UUID. Their handlers parse it, so that text that is
// not a UUID gets a 404: no object has that ID.
func uuidParams() []string {
	return []string{"execution_id", "artifact_id", "session_id", "breaker_id", "letter_id"}
}

// describeParam documents that an empty query value means no value, and which path parameters
// are UUIDs. The format of a UUID goes into a copy, because huma would check it on its own.
func describeParam(p *huma.Param) {
	p.AllowEmptyValue = p.In == "query" && !p.Required
	if p.In == "path" && slices.Contains(uuidParams(), p.Name) {
		s := *p.Schema
		s.Format, s.MaxLength = "uuid", nil
		p.Schema = &s
	}
}

// describeNull documents that null in a body means an absent property.
func describeNull(schemas huma.Registry, s *huma.Schema, seen map[*huma.Schema]bool) {
	if s != nil && s.Ref != "" {
		s = schemas.SchemaFromRef(s.Ref)
	}
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	describeNull(schemas, s.Items, seen)
	for name, property := range s.Properties {
		describeNull(schemas, property, seen)
		if !slices.Contains(s.Required, name) {
			s.Properties[name] = nullable(schemas, property)
		}
	}
}

// nullable returns s with null as another allowed value. A reference cannot hold null, so its
// target is copied.
func nullable(schemas huma.Registry, s *huma.Schema) *huma.Schema {
	if s.Ref != "" {
		referred := *schemas.SchemaFromRef(s.Ref)
		if s.Description != "" {
			referred.Description = s.Description
		}
		s = &referred
	}
	if s.Type == "" {
		return s // every value is allowed
	}
	s.Nullable = true
	if len(s.Enum) > 0 {
		s.Extensions = map[string]any{"enum": append(slices.Clone(s.Enum), nil)}
	}
	return s
}

// described returns the schema of a string with keywords that huma does not check. The service
// checks them, and its errors are full sentences.
func described(keywords map[string]any) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Extensions: keywords}
}

// listOf is the pattern of a comma-separated list of some of the values. The list may be empty.
func listOf[T ~string](values []T) string {
	one := ""
	for _, v := range values {
		one += "|" + string(v)
	}
	one = "(" + one[1:] + ")"
	return "^(" + one + "(," + one + ")*)?$"
}
