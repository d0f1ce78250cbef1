package forms

import (
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// grouped reports whether the value has several HTML controls.
func (c Control) grouped() bool {
	switch c.Type.Kind {
	case typeregistry.KindList, typeregistry.KindMap, typeregistry.KindMetrics, typeregistry.KindUnion, typeregistry.KindStruct,
		typeregistry.KindHyperparam, typeregistry.KindDateRange, typeregistry.KindFeatureSet:
		return true
	case typeregistry.KindEnum:
		return enumControl{c}.Segmented()
	}
	return false
}

// wide reports whether the control needs the full width of a card.
func (c Control) wide() bool {
	switch c.Type.Kind {
	case typeregistry.KindUnion, typeregistry.KindStruct, typeregistry.KindHyperparam, typeregistry.KindFeatureSet, typeregistry.KindDataset:
		return true
	case typeregistry.KindList, typeregistry.KindMap:
		return c.Compact || c.Type.Elem.IsComposite()
	case typeregistry.KindString, typeregistry.KindText, typeregistry.KindJSON:
		return c.LongText()
	}
	return false
}

// group links a fieldset to its help and messages.
func (c Control) group() templ.Attributes {
	a := templ.Attributes{}
	if d := c.describedby(); d != "" {
		a["aria-describedby"] = d
	}
	return a
}

// LongText reports whether a text may have several lines.
func (c Control) LongText() bool {
	return c.Type.Params.Multiline || c.Type.Kind == typeregistry.KindText || c.Type.Kind == typeregistry.KindJSON ||
		c.Widget == "textarea" || strings.Contains(c.Value(), "\n")
}

// TextType is the input type that selects the right keyboard on phones. The server checks
// the format, so only input types that keep every entered value are used.
func (c Control) TextType() string {
	switch c.Type.Params.Format {
	case "uri", "url":
		return "url"
	case "email":
		return "email"
	}
	return "text"
}

// booleanControl is the control of a Boolean.
type booleanControl struct{ c Control }

// Checked reports whether a Boolean is checked.
func (b booleanControl) Checked() bool {
	switch strings.ToLower(b.c.Value()) {
	case "true", "on", "1", "yes":
		return true
	}
	return false
}

// ThreeWay reports whether a Boolean is optional, which a checkbox cannot express.
func (b booleanControl) ThreeWay() bool { return b.c.Optional && b.c.initial == nil }

// Echo is a duration in seconds, or "" if it is invalid.
func (c Control) Echo() string {
	d, err := units.ParseDuration(c.Value())
	if c.Value() == "" || err != nil {
		return ""
	}
	seconds := strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
	whole, fraction, _ := strings.Cut(seconds, ".")
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil {
		whole = units.Number(n)
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return "= " + whole + " s"
}
