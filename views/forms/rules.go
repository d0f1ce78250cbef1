package forms

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/typeregistry"
)

// ruled are the attributes of the element around a control with rules.
func (c Control) ruled() templ.Attributes {
	if c.rules == nil {
		return nil
	}
	return templ.Attributes{"data-field": c.Field, "hidden": c.Concealed}
}

// limited reports whether rules can bound the value.
func (c Control) limited() bool { return c.rules != nil && c.rules.Min+c.rules.Max != "" }

// bounds are the bounds that the rules give with the values of the form, a sentence.
func (c Control) bounds() string {
	low, high := c.state.Min, c.state.Max
	switch {
	case low != nil && high != nil:
		return fmt.Sprintf("With these values: %v to %v.", low, high)
	case low != nil:
		return fmt.Sprintf("With these values: at least %v.", low)
	case high != nil:
		return fmt.Sprintf("With these values: at most %v.", high)
	}
	return ""
}

// ruledField is what a script needs to know of a field that rules read or belong to.
type ruledField struct {
	Name     string              `json:"name"`
	Kind     typeregistry.Kind   `json:"kind"`
	Options  []any               `json:"options,omitempty"`
	Default  any                 `json:"default,omitempty"`
	Optional bool                `json:"optional,omitempty"` // an empty control means none, and not the default
	Blank    bool                `json:"blank,omitempty"`    // "" is a value
	Rules    *typeregistry.Rules `json:"rules,omitempty"`
}

// Rules describes the rules of the form for scripts as JSON; "" without any. Fields come after
// those that their rules read.
func (f *Form) Rules() string {
	if !f.cfg.Schema.HasRules() {
		return ""
	}
	var out []ruledField
	for _, field := range f.cfg.Schema.InOrderOfRules() {
		t := withoutOptional(field.Type)
		r := ruledField{Name: field.Name, Kind: t.Kind, Default: f.initial(field), Optional: field.Type.Kind == typeregistry.KindOptional, Blank: field.KeepsBlank(), Rules: field.Rules}
		for _, o := range t.Params.Options {
			r.Options = append(r.Options, o.Value)
		}
		out = append(out, r)
	}
	return encoded(out)
}

// HiddenFields is the name of the control with the fields that the form hides.
const HiddenFields = "$hidden"

// Concealed lists the fields that the rules hide, as the control HiddenFields does.
func (f *Form) Concealed() string {
	var names []string
	for name, state := range f.states {
		if state.Hidden {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// Moved reports whether a form was sent with other hidden fields than its values have: the user
// would submit what they cannot see, or lose what they typed. Senders that draw no form say
// nothing about hidden fields.
func (f *Form) Moved(sent []string) bool {
	return len(sent) > 0 && sent[0] != f.Concealed()
}

// States is what the rules say about the values of the form, as JSON by name; "" without rules.
func (f *Form) States() string {
	if f.states == nil {
		return ""
	}
	return encoded(f.states)
}

// encoded writes values of a schema, which are plain.
func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}
