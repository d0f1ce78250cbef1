package forms

import (
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/typeregistry"
)

// ErrorLine is one line of the error summary: the message at the field and a link to its
// control.
type ErrorLine struct {
	Target string // id of the control, "" without one
	Label  string // "Augmentations, entry 2, probability"
	Text   string
	Line   int // of the text that contains the value, 0 for a control
}

// ErrorLines lists the problems in order, each with its control or the nearest enclosing
// one.
func (f *Form) ErrorLines() []ErrorLine {
	places := map[string]ErrorLine{}
	for _, c := range f.Controls() {
		c.collect(places, c.Label)
	}
	out := make([]ErrorLine, 0, len(f.cfg.Problems))
	for _, p := range f.cfg.Problems {
		place := nearest(places, p.Path)
		place.Text = p.Message
		out = append(out, place)
	}
	return out
}

func nearest(places map[string]ErrorLine, path string) ErrorLine {
	for path != "" {
		if place, ok := places[path]; ok {
			return place
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return ErrorLine{}
}

// collect records the control and its descendants by path. The first control of a path
// wins, except for duplicate keys, where the second entry wins.
func (c Control) collect(places map[string]ErrorLine, label string) {
	if _, taken := places[c.Path]; !taken || strings.HasSuffix(c.Name, ".$value") {
		places[c.Path] = ErrorLine{Target: c.target(), Label: label}
	}
	switch c.Type.Kind {
	case typeregistry.KindStruct, typeregistry.KindHyperparam:
		for _, m := range (structControl{c}).Members() {
			m.collect(places, label+", "+m.Label)
		}
		if others := (structControl{c}).Others(); others != nil {
			others.collect(places, label)
		}
	case typeregistry.KindList:
		for _, row := range (listControl{c}).Rows() {
			row.Value.collect(places, fmt.Sprintf("%s, entry %d", label, row.Number))
		}
	case typeregistry.KindMap, typeregistry.KindMetrics:
		for _, row := range (listControl{c}).Rows() {
			row.Value.collect(places, fmt.Sprintf("%s, entry %d", label, row.Number))
		}
	case typeregistry.KindUnion:
		for _, a := range (unionControl{c}).Alternatives() {
			if a.Chosen {
				a.Value.collect(places, label)
			}
		}
	}
}

// target is the id of the link target: the first radio button of a choice, or the control
// or its fieldset.
func (c Control) target() string {
	if c.Type.Kind == typeregistry.KindEnum && (enumControl{c}).Segmented() {
		if options := (enumControl{c}).Options(); len(options) > 0 {
			return options[0].ID
		}
	}
	return c.ID()
}

// Changed lists the fields whose values differ from the defaults, for the notice about the origin of the values.
func (f *Form) Changed() []ErrorLine {
	var out []ErrorLine
	for _, c := range f.Controls() {
		if !c.Concealed && c.differs() {
			out = append(out, ErrorLine{Target: c.target(), Label: c.Label})
		}
	}
	return out
}

// differs reports whether the value differs from the default, ignoring its spelling.
func (c Control) differs() bool {
	v, present, _ := c.Declared.DecodeForm(typeregistry.Form{Values: c.Carried()}, c.Name)
	if !present || v == nil || v == "" {
		return c.initial != nil
	}
	return !same(c.Declared, v, c.initial)
}
