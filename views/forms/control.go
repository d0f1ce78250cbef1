package forms

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/typeregistry"
)

// Control is one value of a form: its name, its type and, through its methods, its
// submitted text and its errors.
type Control struct {
	Type        *typeregistry.Type // without Optional
	Declared    *typeregistry.Type // as written in the schema
	Name        string             // of the HTML control: "inputs.layers.0.width"
	Path        string             // of the value: "layers.0.width"
	Label       string
	Field       string // the declared name, "" for entries and variants
	Help        string
	Placeholder string
	Widget      string // widget from the hints, "" for the kind's default
	Optional    bool   // may be left out
	Bare        bool   // the label is visible to screen readers only
	Compact     bool   // a member of a struct: no slider, and the type in its tooltip
	Depth       int    // number of enclosing structs
	Concealed   bool   // its rules hide it
	Demanded    bool   // its rules require it

	form     *Form
	template int // number of enclosing row templates
	initial  any // the value before any input

	source *typeregistry.Source // of the options of the value, or of the entries of a list; nil without one
	at     string               // where typeregistry finds the value in the schema
	from   string               // where it finds the field with the source

	rules *typeregistry.Rules // over other fields, which scripts evaluate while users type; nil without any
	state typeregistry.State  // what they say about the values of the form
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
	out.at = joinPath(c.at, field.Name)
	out.source, out.from = field.Source, out.at
	out.Optional = out.Optional || !field.Required && len(field.Default) == 0
	out.Bare = false
	return out
}

// of returns the control of a value of type t inside c. A value that was not on the form
// shows initial.
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

// Value is the submitted text, or the default.
func (c Control) Value() string { return c.form.cfg.Values.Get(c.Name) }

// sub is the text of the control with a sub-name ("$zone", "from").
func (c Control) sub(sub string) string { return c.form.cfg.Values.Get(c.Name + "." + sub) }

// Errors are the messages for this value, not for its parts. The days of a date range have no
// field of their own, so their messages belong to the range.
func (c Control) Errors() []string {
	errs := c.form.problems[c.Path]
	if c.Type.Kind == typeregistry.KindDateRange {
		errs = slices.Concat(errs, c.form.problems[c.Path+".from"], c.form.problems[c.Path+".to"])
	}
	return errs
}

// Invalid reports whether this value has an error.
func (c Control) Invalid() bool { return len(c.Errors()) > 0 }

// hasErrors reports whether the value or a part of it has an error.
func (c Control) hasErrors() bool {
	for path := range c.form.problems {
		if path == c.Path || strings.HasPrefix(path, c.Path+".") {
			return true
		}
	}
	return false
}

// focused reports whether the control, or the one of a sub-name, gets the focus.
func (c Control) focused(sub ...string) bool {
	return c.form.cfg.Focus != "" && c.form.cfg.Focus == strings.Join(append([]string{c.Name}, sub...), ".")
}

// many takes many values for the control; nil: it takes one.
func (c Control) many() templ.Component {
	if c.form.cfg.Many == nil || c.Path == "" {
		return nil
	}
	return c.form.cfg.Many(c.Path)
}

// Tag is the type without its limits.
func (c Control) Tag() string { return ShortType(c.Type) }

// attrs links an HTML control to its label, help and errors.
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

// input is attrs for a control with a text value.
func (c Control) input() templ.Attributes {
	a := c.attrs()
	a["id"] = c.ID()
	a["name"] = c.Name
	if c.Placeholder != "" {
		a["placeholder"] = c.Placeholder
	}
	if !c.Optional || c.Demanded {
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

// Carried returns the submitted values at and below the control, for hidden fields.
func (c Control) Carried() url.Values {
	out := url.Values{}
	for key, v := range c.form.cfg.Values {
		if key == c.Name || strings.HasPrefix(key, c.Name+".") {
			out[key] = v
		}
	}
	return out
}

// Switched reports whether an optional value with several controls needs a checkbox that
// enables it.
func (c Control) Switched() bool { return c.Optional && c.Type.IsComposite() }

// Given reports whether that checkbox is checked: it was submitted so, or there is a value.
func (c Control) Given() bool {
	if present := c.form.has(c.Name + ".$set"); present || c.Declared.Kind == typeregistry.KindOptional {
		return c.sub("$set") == "1"
	}
	return c.form.has(c.Name)
}

// focusedName reports whether the control of name gets the focus.
func (c Control) focusedName(name string) bool { return c.form.cfg.Focus == name && name != "" }

// idOf turns a control's name into a unique id without spaces.
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

// Detached is a control outside of a form, to render a part of it: a control of type t
// called name with the value ref.
func Detached(t *typeregistry.Type, name, ref string, preview Preview) Control {
	f := New(Config{Values: url.Values{name: {ref}}, Offers: Offers{Previews: map[string]Preview{PreviewKey(t, ref): preview}}})
	c := Control{form: f}.of(t, name, "", nil)
	c.Label = t.Name()
	return c
}
