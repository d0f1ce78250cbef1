package typeregistry

import (
	"maps"
	"slices"
)

// Registry contains the types that expressions may use. It is immutable; With returns a
// larger one.
type Registry struct {
	kinds   map[string]behaviour
	order   []string
	customs map[string]*custom
}

// Entry is the documentation of a type for the types page and the API.
type Entry struct {
	Name       string      `json:"name"`
	Kind       Kind        `json:"kind"`
	Group      string      `json:"group"` // scalar, time, container, data or reference
	Summary    string      `json:"summary"`
	Example    string      `json:"example"` // an expression that Parse accepts
	Parameters []Parameter `json:"parameters"`
	Custom     *CustomType `json:"custom,omitempty"`
}

// Parameter describes one parameter of a type.
type Parameter struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

// Builtin returns the registry of the built-in types.
func Builtin() *Registry {
	r := &Registry{kinds: map[string]behaviour{}, customs: map[string]*custom{}}
	for _, b := range builtins() {
		name := b.entry().Name
		r.kinds[name] = b
		r.order = append(r.order, name)
	}
	return r
}

// Entries returns every type: the built-ins in a fixed order, then the custom
// types by name.
func (r *Registry) Entries() []Entry {
	entries := make([]Entry, 0, len(r.order)+len(r.customs))
	for _, name := range r.order {
		entries = append(entries, describe(r.kinds[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(r.customs)) {
		entries = append(entries, r.customs[name].entry())
	}
	return entries
}

// Lookup returns the entry of a built-in or custom type.
func (r *Registry) Lookup(name string) (Entry, bool) {
	if b, ok := r.kinds[name]; ok {
		return describe(b), true
	}
	if c, ok := r.customs[name]; ok {
		return c.entry(), true
	}
	return Entry{}, false
}

func describe(b behaviour) Entry {
	e := b.entry()
	e.Kind = Kind(e.Name)
	e.Parameters = []Parameter{}
	for _, p := range b.params() {
		e.Parameters = append(e.Parameters, Parameter{Name: p.name, Summary: p.summary})
	}
	return e
}
