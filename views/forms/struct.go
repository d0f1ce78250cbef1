package forms

import (
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// nestedDetails is the depth from which structs are collapsed.
const nestedDetails = 2

// structControl is the control of a Struct or a HyperparameterSet: a control for each field.
type structControl struct{ c Control }

// Members returns the controls of the fields of a Struct or HyperparameterSet.
func (s structControl) Members() []Control {
	fields := ordered(s.c.Type.Fields)
	out := make([]Control, 0, len(fields))
	for _, field := range fields {
		m := s.c.child(field, s.c.Name+"."+field.Name, s.c.Path+"."+field.Name)
		m.Depth = s.c.Depth + 1
		out = append(out, m)
	}
	return out
}

// Others returns the control of the fields that a Struct with extra=true does not declare, nil for
// other types. Their paths are those of declared fields.
func (s structControl) Others() *Control {
	t := s.c.Type.Others()
	if t == nil {
		return nil
	}
	others := s.c.of(t, s.c.Name+"."+typeregistry.OthersControl, s.c.Path, nil)
	others.Label, others.Compact = s.c.Label+", other fields", true
	return &others
}

// Folded reports whether the members are collapsed.
func (s structControl) Folded() bool { return s.c.Depth >= nestedDetails }

// Unfolded reports whether the collapsed members start expanded.
func (s structControl) Unfolded() bool { return s.c.hasErrors() || len(s.c.Carried()) > 0 }

// HyperSize is the number of parameters.
func (s structControl) HyperSize() string {
	return units.Plural(len(s.c.Type.Fields), "parameter", "parameters")
}

// HyperChanged is how many parameters differ from their defaults.
func (s structControl) HyperChanged() string {
	changed := 0
	for _, m := range s.Members() {
		if m.differs() {
			changed++
		}
	}
	if changed == 0 {
		return "all default"
	}
	return fmt.Sprintf("%d changed", changed)
}

// KindWords describes the type of a hyperparameter: "float, log", "one of 3".
func (c Control) KindWords() string {
	p := c.Type.Params
	words := strings.ToLower(c.Tag())
	if c.Type.Kind == typeregistry.KindEnum {
		words = fmt.Sprintf("one of %d", len(p.Options))
	}
	if p.LogScale {
		words += ", log"
	}
	if limits := strings.TrimSuffix(c.hint(), "."); limits != "" {
		words += ", " + limits
	}
	if c.Optional && c.initial == nil {
		words += ", optional"
	}
	return words
}

// bare returns the control without a visible label.
func (c Control) bare() Control {
	c.Bare = true
	return c
}

// compact returns the control as a member of a struct.
func (c Control) compact() Control {
	c.Compact = true
	return c
}

// InitialOf is the initial value of type t: the defaults of its members, nil for members
// without a default.
func InitialOf(t *typeregistry.Type) any {
	if t.Kind != typeregistry.KindStruct && t.Kind != typeregistry.KindHyperparam {
		return nil
	}
	out := map[string]any{}
	for _, f := range t.Fields {
		v := defaultOf(f.Default)
		if v == nil {
			v = InitialOf(f.Type)
		}
		if v != nil {
			out[f.Name] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
