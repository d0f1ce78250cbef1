package typeregistry

import (
	"encoding/json"
	"slices"
)

// UIField describes the form control of one value for the page, the API and other
// clients. Empty keys are omitted.
type UIField struct {
	Name               string         `json:"name"`
	Label              string         `json:"label"`
	Description        string         `json:"description,omitempty"`
	Type               string         `json:"type"` // the expression
	Kind               Kind           `json:"kind"`
	Required           bool           `json:"required"`
	Component          string         `json:"component"`
	Renderer           string         `json:"ui_renderer,omitempty"`
	Page               *RendererPage  `json:"renderer_page,omitempty"`
	AutocompleteSource string         `json:"autocomplete_source,omitempty"`
	Options            []Option       `json:"options,omitempty"`
	Min                any            `json:"min,omitempty"` // a number, or a date
	Max                any            `json:"max,omitempty"`
	ExclusiveMin       json.Number    `json:"exclusive_min,omitempty"`
	ExclusiveMax       json.Number    `json:"exclusive_max,omitempty"`
	Step               json.Number    `json:"step,omitempty"`
	LogScale           bool           `json:"log_scale,omitempty"`
	Unit               string         `json:"unit,omitempty"`
	MinLength          *int           `json:"min_length,omitempty"`
	MaxLength          *int           `json:"max_length,omitempty"`
	Pattern            string         `json:"pattern,omitempty"`
	Format             string         `json:"format,omitempty"`
	Multiline          bool           `json:"multiline,omitempty"`
	Filters            map[string]any `json:"filters,omitempty"`
	MultiSelect        bool           `json:"multi_select,omitempty"`
	PreviewEnabled     bool           `json:"preview_enabled,omitempty"`
	Accept             []string       `json:"accept,omitempty"` // media types of an upload
	MinItems           *int           `json:"min_items,omitempty"`
	MaxItems           *int           `json:"max_items,omitempty"`
	Schema             any            `json:"schema,omitempty"`   // JSON Schema of structured values
	Item               *UIField       `json:"item,omitempty"`     // of List, Map and Optional; of the other fields of a Struct with extra=true
	Fields             []UIField      `json:"fields,omitempty"`   // of Struct and HyperparameterSet
	Variants           []UIVariant    `json:"variants,omitempty"` // of Union
	Default            any            `json:"default,omitempty"`
	Validators         []UIValidator  `json:"validators"`
	Hint               string         `json:"hint,omitempty"` // what to enter, a sentence
	Placeholder        string         `json:"placeholder,omitempty"`
	Section            string         `json:"section,omitempty"`
	Order              int            `json:"order,omitempty"`
	Hidden             bool           `json:"hidden,omitempty"`
	Advanced           bool           `json:"advanced,omitempty"`
	Rules              *Rules         `json:"rules,omitempty"` // expressions over the other inputs
	Source             *Source        `json:"options_source,omitempty"`
}

// UIVariant is one alternative of a Union.
type UIVariant struct {
	Tag   string  `json:"tag"`
	Label string  `json:"label"`
	Field UIField `json:"field"`
}

// UIValidator is a rule that a client may check before it submits.
type UIValidator struct {
	Validator
	Message string `json:"message"`
}

// UISchema describes a whole launch form.
type UISchema struct {
	Fields          []UIField `json:"fields"`
	SubmitURL       string    `json:"submit_url"`
	Method          string    `json:"method"`
	SuccessRedirect string    `json:"success_redirect"`
}

// UISchema returns the description of the form for s, with fields in the order of their
// hints. env.Now is the default of date pickers.
func (s Schema) UISchema(env Env) UISchema {
	return UISchema{
		Fields:    uiFields(s.Fields, env),
		SubmitURL: "/api/v1/executions", Method: "POST", SuccessRedirect: "/executions/{execution_id}",
	}
}

func uiFields(fields []Field, env Env) []UIField {
	out := make([]UIField, len(fields))
	for i, f := range fields {
		out[i] = f.Type.UI(f, env)
	}
	slices.SortStableFunc(out, func(a, b UIField) int { return a.Order - b.Order })
	return out
}

// UI describes the widget of a field of type t; the field's hints win.
func (t *Type) UI(field Field, env Env) UIField {
	f := UIField{
		Name: field.Name, Label: field.label(), Description: field.Description,
		Type: t.String(), Kind: t.Kind, Required: field.Required, Component: "TextInput",
		Renderer: t.Renderer, Page: t.Page, Hint: t.impl.hint(t), Validators: []UIValidator{},
	}
	t.impl.ui(t, &f, env)
	if value, ok := field.DefaultValue(env); ok {
		f.Default = value
	}
	f.addValidators(t, field)
	f.merge(field.Hints)
	f.Rules = field.Rules
	f.Source = field.Source
	return f
}

// merge applies the hints of a field over the defaults of its type.
func (f *UIField) merge(h Hints) {
	if h.Help != "" {
		f.Hint = h.Help
	}
	if h.Widget != "" {
		f.Component = h.Widget
	}
	f.Placeholder, f.Section, f.Order = h.Placeholder, h.Section, h.Order
	f.Hidden, f.Advanced = h.Hidden, h.Advanced
}

func (f *UIField) addValidators(t *Type, field Field) {
	add := func(v Validator, message string) {
		f.Validators = append(f.Validators, UIValidator{Validator: v, Message: v.message(message)})
	}
	if field.Required {
		add(Validator{Rule: "required"}, sentence("A value is required.", f.Hint))
	}
	if p := t.Params.Pattern; p != "" {
		add(Validator{Rule: "pattern", Pattern: p}, "Enter text that matches "+p+".")
	}
	if p := t.Params; p.Bounds() != (Bounds{}) {
		add(Validator{Rule: "range", Min: p.Min, Max: p.Max, ExclusiveMin: p.ExclusiveMin, ExclusiveMax: p.ExclusiveMax}, f.Hint)
	}
	for _, rule := range t.impl.entryRules() {
		add(rule, rule.Error)
	}
	for _, v := range slices.Concat(t.Rules, field.Validators) {
		add(v, f.Hint)
	}
}

// unnamed describes the widget of a part without a name.
func (t *Type) unnamed(label string, env Env) UIField {
	f := t.UI(Field{Name: "", Type: t, Required: t.Kind != KindOptional}, env)
	f.Label = label
	return f
}
