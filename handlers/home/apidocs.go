package home

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// fieldsDeep is the depth to which fields of objects in objects are listed.
const fieldsDeep = 3

// description is the part of an OpenAPI description that the reference shows.
type description struct {
	Tags []struct {
		Name, Description string
	}
	Paths      map[string]map[string]operation
	Components struct {
		Schemas   map[string]*schema
		Responses map[string]answer
	}
}

type operation struct {
	OperationID, Summary, Description string
	Tags                              []string
	Parameters                        []parameter
	RequestBody                       struct {
		Required bool
		Content  map[string]struct{ Schema *schema }
	}
	Responses map[string]answer
}

type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                *schema
}

type answer struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]struct{ Schema *schema }
}

type schema struct {
	Ref         string `json:"$ref"`
	Type        any
	Format      string
	Description string
	Enum        []any
	Default     any
	Properties  map[string]*schema
	Required    []string
	Items       *schema
	AnyOf       []*schema
	OneOf       []*schema
	AllOf       []*schema
}

// reference is the API's reference, read from its description once.
type reference struct {
	describe func() ([]byte, error) // in the format of OpenAPI
	once     sync.Once
	doc      description
	list     []views.APIPart
	err      error
}

// parts are the parts of the API with their operations.
func (a *reference) parts() ([]views.APIPart, error) {
	a.once.Do(func() {
		raw, err := a.describe()
		if err == nil {
			err = json.Unmarshal(raw, &a.doc)
		}
		if err != nil {
			a.err = fmt.Errorf("read the description of the API: %w", err)
			return
		}
		for _, tag := range a.doc.Tags {
			slug := strings.ToLower(strings.ReplaceAll(tag.Name, " ", "-"))
			a.list = append(a.list, views.APIPart{Name: tag.Name, Slug: slug, Text: tag.Description, URL: views.APIPartURL(slug), Operations: a.operations(tag.Name)})
		}
	})
	return a.list, a.err
}

// operations are those of a tag, by path.
func (a *reference) operations(tag string) []views.APIOperation {
	var out []views.APIOperation
	for _, path := range slices.Sorted(maps.Keys(a.doc.Paths)) {
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			if op, ok := a.doc.Paths[path][method]; ok && slices.Contains(op.Tags, tag) {
				out = append(out, a.operation(method, path, op))
			}
		}
	}
	return out
}

func (a *reference) operation(method, path string, op operation) views.APIOperation {
	out := views.APIOperation{ID: op.OperationID, Method: strings.ToUpper(method), Path: path, Summary: op.Summary, Text: op.Description}
	for _, p := range op.Parameters {
		f := a.field(p.Name, p.Schema, p.Required)
		f.Text = cmp.Or(p.Description, f.Text)
		f.In = p.In
		out.Parameters = append(out.Parameters, f)
	}
	for _, media := range slices.Sorted(maps.Keys(op.RequestBody.Content)) {
		out.Media, out.Body = media, a.fields(op.RequestBody.Content[media].Schema, "", fieldsDeep)
		break
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		answer := op.Responses[status]
		if name, ok := strings.CutPrefix(answer.Ref, "#/components/responses/"); ok {
			answer = a.doc.Components.Responses[name]
		}
		given := views.APIAnswer{Status: status, Text: answer.Description}
		for _, media := range slices.Sorted(maps.Keys(answer.Content)) {
			given.Media = media
			if strings.HasPrefix(status, "2") {
				given.Fields = a.fields(answer.Content[media].Schema, "", fieldsDeep)
			}
			break
		}
		out.Answers = append(out.Answers, given)
	}
	return out
}

// resolved follows a reference, and the alternative of a schema that may also be null.
func (a *reference) resolved(s *schema) *schema {
	for range 8 { // references never nest deeper
		if s == nil {
			return &schema{}
		}
		if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
			s = a.doc.Components.Schemas[name]
			continue
		}
		if s.Type == nil && len(s.Properties) == 0 {
			if one := slices.Concat(s.AllOf, s.OneOf, s.AnyOf); len(one) > 0 {
				s = one[0]
				continue
			}
		}
		return s
	}
	return s
}

// fields lists the fields of an object, each with its path, down to some depth.
func (a *reference) fields(s *schema, prefix string, depth int) []views.APIField {
	s = a.resolved(s)
	if s.Items != nil && typeName(s.Type) == "array" {
		return a.fields(s.Items, prefix+"[]", depth)
	}
	if prefix != "" {
		prefix += "."
	}
	var out []views.APIField
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		of := s.Properties[name]
		if name == "$schema" {
			continue
		}
		out = append(out, a.field(prefix+name, of, slices.Contains(s.Required, name)))
		if depth > 1 {
			out = append(out, a.fields(of, prefix+name, depth-1)...)
		}
	}
	return out
}

func (a *reference) field(name string, s *schema, required bool) views.APIField {
	of := a.resolved(s)
	f := views.APIField{Name: name, Type: a.typeText(of), Required: required, Text: of.Description}
	if s != nil && s.Description != "" {
		f.Text = s.Description
	}
	if s != nil && s.Default != nil {
		f.Default = fmt.Sprint(s.Default)
	}
	if len(of.Enum) > 0 {
		var values []string
		for _, v := range of.Enum {
			if v != nil {
				values = append(values, fmt.Sprint(v))
			}
		}
		f.Values = strings.Join(values, ", ")
	}
	return f
}

// typeText is a type in words: "string (uuid)", "array of object".
func (a *reference) typeText(s *schema) string {
	text := cmp.Or(typeName(s.Type), "any")
	switch {
	case text == "array" && s.Items != nil:
		return "array of " + a.typeText(a.resolved(s.Items))
	case s.Format != "":
		return text + " (" + s.Format + ")"
	}
	return text
}

// typeName is the type of a schema, which may also be null.
func typeName(t any) string {
	switch t := t.(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if one != "null" {
				return fmt.Sprint(one)
			}
		}
	}
	return ""
}

// apiPage lists the operations of the API, or shows those of one part.
func (h *Pages) apiPage(w http.ResponseWriter, r *http.Request) error {
	crumbs := []views.Crumb{{Name: "Documentation", URL: views.DocsURL()}}
	slug := chi.URLParam(r, "part")
	if slug != "" {
		crumbs = append(crumbs, views.Crumb{Name: "API reference", URL: views.APIDocsURL()})
	}
	m, err := h.docsBase(r, "API reference", crumbs...)
	if err != nil {
		return err
	}
	m.Current = "api"
	if slug == "" {
		return web.Render(w, r, http.StatusOK, views.APIPage(m))
	}
	at := slices.IndexFunc(m.Parts, func(p views.APIPart) bool { return p.Slug == slug })
	if at < 0 {
		return apperr.New(apperr.NotFound, "The API reference has no section %q.", slug)
	}
	m.Part, m.Current = m.Parts[at], "api/"+slug
	m.Title = m.Part.Name + " API"
	m.Crumbs[len(m.Crumbs)-1].Name = m.Part.Name
	return web.Render(w, r, http.StatusOK, views.APIPartPage(m))
}
