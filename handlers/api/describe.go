package api

import (
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// describeRequests adds to the description what huma does with requests but does not write
// down by itself. It changes no check: everything here describes what is accepted already.
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

// shareProblems moves the answers with a problem, which are the same in every operation, into
// the components of the description.
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

// uuidParams are the parameters of paths that hold a UUID. Their handlers parse it, so that
// the answer to another text is 404: there is nothing of that id.
func uuidParams() []string {
	return []string{"execution_id", "artifact_id", "session_id", "breaker_id", "letter_id"}
}

// describeParam indicates that an empty value of a query is the same as none, and which parameters
// of paths are UUIDs. The latter goes into a copy, because huma checks the format of its own.
func describeParam(p *huma.Param) {
	p.AllowEmptyValue = p.In == "query" && !p.Required
	if p.In == "path" && slices.Contains(uuidParams(), p.Name) {
		s := *p.Schema
		s.Format, s.MaxLength = "uuid", nil
		p.Schema = &s
	}
}

// describeNull says for a body that null is the same as an absent property.
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

// nullable returns s with null alongside its values. A reference has no place for null, so what
// it refers to is copied.
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

// described returns the schema of a text with keywords that huma does not check, because the
// service does and describes in a sentence what is wrong.
func described(keywords map[string]any) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Extensions: keywords}
}

// listOf is the pattern of a comma-separated list of some of the values, or of none.
func listOf[T ~string](values []T) string {
	one := ""
	for _, v := range values {
		one += "|" + string(v)
	}
	one = "(" + one[1:] + ")"
	return "^(" + one + "(," + one + ")*)?$"
}
