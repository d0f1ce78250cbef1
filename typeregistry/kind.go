package typeregistry

import (
	"net/url"
)

// behaviour is the implementation of one kind. There is one value per kind, listed in
// builtins; no other code in the package branches on kinds.
type behaviour interface {
	// entry is the documentation of the kind; its Parameters come from params.
	entry() Entry
	// params lists the parameters in canonical order.
	params() []parameter
	// shape is the syntax of the kind besides parameters.
	shape() shape
	// prepare checks the parameters together and compiles patterns.
	prepare(t *Type) error
	// noun completes "… is not": "a whole number".
	noun(t *Type) string
	// hint is a sentence about the expected input.
	hint(t *Type) string
	// normalize checks v and returns its canonical form.
	normalize(c *checker, t *Type, path string, v any) any
	jsonSchema(t *Type) map[string]any
	// ui sets the properties of a field's widget.
	ui(t *Type, f *UIField, env Env)
	// decode reads a value from the form controls under name; path is the
	// value's own path, for problems. Invalid input stays as entered.
	decode(r *formReader, t *Type, name, path string) (v any, present bool)
	// encode is the inverse of decode, for any v, even a wrong one.
	encode(t *Type, v any, name string, out url.Values)
	// control returns the form control that holds the value at the path segments.
	control(r *formReader, t *Type, name string, segments []string) string
	render(t *Type, v any) string
	// accept returns why a value of type from is not assignable to t, or nil.
	accept(t, from *Type) error
	// entryRules are the rules that the form schema lists for every value of the kind.
	entryRules() []Validator
	blob() bool
	composite(t *Type) bool
}

// shape is the syntax after the name of a kind in an expression.
type shape int

const (
	plainShape    shape = iota
	elemShape           // <T>
	mapShape            // <String, T>
	variantsShape       // <A | B>
	fieldsShape         // {a: T}, at least one
	freeShape           // {a: T}, or nothing
	optionsShape        // (a, b, c)
	wordShape           // <kind>, short for (kind="kind")
)

// builtins lists every kind in display order.
func builtins() []behaviour {
	return []behaviour{
		stringKind{}, textKind{}, numberKind{integer: true}, numberKind{}, booleanKind{}, enumKind{},
		dateKind{}, dateTimeKind{}, durationKind{}, dateRangeKind{}, jsonKind{},
		listKind{}, mapKind{}, optionalKind{}, unionKind{}, structKind{}, hyperparameterKind{},
		datasetKind(), featureSetKind{datasetKind()}, modelKind(), metricsKind{}, fileKind(), directoryKind(),
		imageKind(), tableKind(), reportKind(), secretKind{}, connectionKind{},
	}
}

// single has the defaults of most kinds: no parameters, one text control, and
// assignability only within the kind.
type single struct{}

func (single) params() []parameter     { return nil }
func (single) shape() shape            { return plainShape }
func (single) prepare(*Type) error     { return nil }
func (single) blob() bool              { return false }
func (single) composite(*Type) bool    { return false }
func (single) entryRules() []Validator { return nil }

func (single) decode(r *formReader, _ *Type, name, _ string) (any, bool) {
	text, ok := r.text(name)
	if !ok || text == "" {
		return nil, false
	}
	return text, true
}

func (single) encode(_ *Type, v any, name string, out url.Values) { out.Set(name, inputText(v)) }

func (single) control(_ *formReader, _ *Type, name string, _ []string) string { return name }

func (single) render(_ *Type, v any) string { return inputText(v) }
