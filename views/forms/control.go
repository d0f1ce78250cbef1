package forms

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/typeregistry"
)

// Control is one value's place in a form: what it is called, what its type is, and
// through its methods what was typed and what is wrong with it.
type Control struct {
	Type        *typeregistry.Type // without the Optional around it
	Declared    *typeregistry.Type // as written in the schema
	Name        string             // of the HTML control: "inputs.layers.0.width"
	Path        string             // of the value: "layers.0.width"
	Label       string
	Field       string // the declared name, "" for entries and variants
	Help        string
	Placeholder string
	Widget      string // asked for by the hints, "" for the kind's own
	Optional    bool   // may be left out
	Bare        bool   // the label is for screen readers alone: the place says what it is
	Compact     bool   // a member of a struct: no slider, and the type in its tooltip
	Depth       int    // how many structs are around it

	form     *Form
	template int // how many row templates are around it
	initial  any // the value where nothing was typed yet
}

// child returns the control of field with its own name and value path.
func (c Control) child(field typeregistry.Field, name, path string) Control {
	out := c.of(field.Type, name, path, c.form.initial(field))
	out.Label = typeregistry.Humanize(field.Name)
	out.Field = field.Name
	if field.Hints.Label != "" {
		out.Label = field.Hints.Label
	}
	out.Help = field.Hints.Help
	if out.Help == "" {
		out.Help = field.Description
	}
	out.Placeholder = field.Hints.Placeholder
	out.Widget = field.Hints.Widget
	out.Optional = out.Optional || !field.Required && len(field.Default) == 0
	out.Bare = false
	return out
}

// of returns the control of a value of type t inside c. A value that was never on a
// form shows initial.
func (c Control) of(t *typeregistry.Type, name, path string, initial any) Control {
	out := Control{Type: t, Declared: t, Name: name, Path: path, Depth: c.Depth, form: c.form, template: c.template, initial: initial}
	for out.Type.Kind == typeregistry.KindOptional {
		out.Optional = true
		out.Type = out.Type.Elem
	}
	if !out.form.has(name) && initial != nil {
		out.form = out.form.with(t.EncodeForm(initial, name))
	}
	return out
}

// ID is the id of the HTML control.
func (c Control) ID() string { return idOf(c.Name) }

// GroupID is the id of the fieldset around several controls.
func (c Control) GroupID() string {
	if c.Type.Kind == typeregistry.KindFeatureSet { // its first control has the plain id
		return c.ID() + "-group"
	}
	return c.ID()
}

// HelpID is the id of the help above the control.
func (c Control) HelpID() string { return c.ID() + "-help" }

// ErrorID is the id of the messages above the control.
func (c Control) ErrorID() string { return c.ID() + "-error" }

// Value is what the control holds: what was typed, else the default.
func (c Control) Value() string { return c.form.cfg.Values.Get(c.Name) }

// at is what the control of a sub-name holds ("$zone", "from").
func (c Control) at(sub string) string { return c.form.cfg.Values.Get(c.Name + "." + sub) }

// Errors are the messages about exactly this value.
func (c Control) Errors() []string { return c.form.problems[c.Path] }

// Invalid reports whether something is wrong with this very value.
func (c Control) Invalid() bool { return len(c.Errors()) > 0 }

// troubled reports whether something is wrong with the value or with a part of it.
func (c Control) troubled() bool {
	for path := range c.form.problems {
		if path == c.Path || strings.HasPrefix(path, c.Path+".") {
			return true
		}
	}
	return false
}

// focused reports whether the control, or the one of a sub-name, takes the focus.
func (c Control) focused(sub ...string) bool {
	return c.form.cfg.Focus != "" && c.form.cfg.Focus == strings.Join(append([]string{c.Name}, sub...), ".")
}

// Tag is the type as people read it, without its limits.
func (c Control) Tag() string { return ShortType(c.Type) }

// attrs ties an HTML control to its label, help and errors.
func (c Control) attrs() templ.Attributes {
	a := templ.Attributes{}
	if d := c.describedby(); d != "" {
		a["aria-describedby"] = d
	}
	if c.Invalid() {
		a["aria-invalid"] = "true"
	}
	if c.Bare {
		a["aria-label"] = c.Label
	}
	if c.focused() {
		a["autofocus"] = true
	}
	return a
}

// input is attrs for a control that also has a text of its own.
func (c Control) input() templ.Attributes {
	a := c.attrs()
	a["id"] = c.ID()
	a["name"] = c.Name
	if c.Placeholder != "" {
		a["placeholder"] = c.Placeholder
	}
	if !c.Optional {
		a["aria-required"] = "true"
	}
	return a
}

func (c Control) describedby() string {
	var ids []string
	if !c.Bare && (c.Help != "" || c.Hint() != "") {
		ids = append(ids, c.HelpID())
	}
	if c.Invalid() {
		ids = append(ids, c.ErrorID())
	}
	return strings.Join(ids, " ")
}

// Carried returns what was typed at and below the control, for travelling along
// without being drawn.
func (c Control) Carried() url.Values {
	out := url.Values{}
	for key, v := range c.form.cfg.Values {
		if key == c.Name || strings.HasPrefix(key, c.Name+".") {
			out[key] = v
		}
	}
	return out
}

// idOf turns a control's name into an id without blanks, one to one.
func idOf(name string) string {
	var b strings.Builder
	b.WriteString("f-")
	for _, r := range strings.TrimPrefix(name, Prefix+".") {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-', r == ':':
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "~%x~", r)
		}
	}
	return b.String()
}

// ShortType writes a type without its limits: "List<Augmentation>", "Integer".
func ShortType(t *typeregistry.Type) string {
	if t == nil {
		return ""
	}
	if t.Custom != "" {
		return t.Custom
	}
	switch t.Kind {
	case typeregistry.KindList:
		return "List<" + ShortType(t.Elem) + ">"
	case typeregistry.KindOptional:
		return ShortType(t.Elem)
	case typeregistry.KindMap:
		return "Map<String, " + ShortType(t.Elem) + ">"
	case typeregistry.KindUnion:
		tags := make([]string, len(t.Variants))
		for i, v := range t.Variants {
			tags[i] = v.Tag
		}
		return "Union<" + strings.Join(tags, " | ") + ">"
	}
	return string(t.Kind)
}

// inputNamed is input for a control whose name is not that of the value.
func (c Control) inputNamed(name string) templ.Attributes {
	a := c.input()
	a["name"] = name
	if c.Type.Kind == typeregistry.KindFeatureSet {
		a["aria-label"] = c.Label + ", name of the set"
	}
	return a
}

// uploadID is the id of the file control: the plain one where a file is all that is
// asked for.
func (c Control) uploadID() string {
	if c.reference() {
		return c.ID() + "-upload"
	}
	return c.ID()
}

// reference reports whether the control asks for a reference first, and for a file of
// one's own only beside it.
func (c Control) reference() bool {
	return c.Type.Kind == typeregistry.KindDataset || c.Type.Kind == typeregistry.KindModel
}

// fileAttrs ties a file control to its label, which only the main control has.
func (c Control) fileAttrs() templ.Attributes {
	a := c.attrs()
	if c.reference() {
		a["aria-label"] = c.Label + ", own file"
		delete(a, "autofocus")
	}
	return a
}

// featureID is the id of the box of the i-th feature.
func (c Control) featureID(i int) string { return fmt.Sprintf("%s-feature-%d", c.ID(), i) }

// rangeAttrs is attrs for one end of a date range.
func (c Control) rangeAttrs(end string) templ.Attributes {
	a := c.attrs()
	a["name"] = c.Name + "." + end
	a["aria-label"] = c.Label + ", " + end
	if end != "from" {
		delete(a, "autofocus")
	}
	return a
}

// Detached is a control outside of a form, for a part of it that is drawn alone: one of
// type t called name that holds ref.
func Detached(t *typeregistry.Type, name, ref string, preview Preview) Control {
	f := New(Config{Values: url.Values{name: {ref}}, Offers: Offers{Previews: map[string]Preview{PreviewKey(t, ref): preview}}})
	c := Control{form: f}.of(t, name, "", nil)
	c.Label = t.Name()
	return c
}
