package forms

import (
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/typeregistry"
)

// Trouble is one line of the error summary: the words of the message at the field, and
// the control that it leads to.
type Trouble struct {
	Target string // id of the control, "" when the problem has none
	Label  string // "Augmentations, entry 2, probability"
	Text   string
}

// Troubles lists what is wrong, in the order of the problems, each tied to the control
// it belongs to or to the nearest one around it.
func (f *Form) Troubles() []Trouble {
	places := map[string]Trouble{}
	for _, c := range f.Controls() {
		c.collect(places, c.Label)
	}
	out := make([]Trouble, 0, len(f.cfg.Problems))
	for _, p := range f.cfg.Problems {
		place := nearest(places, p.Path)
		place.Text = p.Message
		out = append(out, place)
	}
	return out
}

func nearest(places map[string]Trouble, path string) Trouble {
	for path != "" {
		if place, ok := places[path]; ok {
			return place
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return Trouble{}
}

// collect notes the place of the control and of everything inside it. The first control
// of a path wins, but an entry with a key that is there twice is the later one.
func (c Control) collect(places map[string]Trouble, label string) {
	if _, taken := places[c.Path]; !taken || strings.HasSuffix(c.Name, ".$value") {
		places[c.Path] = Trouble{Target: c.target(), Label: label}
	}
	switch c.Type.Kind {
	case typeregistry.KindStruct, typeregistry.KindHyperparam:
		for _, m := range c.Members() {
			m.collect(places, label+", "+m.Label)
		}
	case typeregistry.KindList:
		for _, row := range c.Rows() {
			row.Value.collect(places, fmt.Sprintf("%s, entry %d", label, row.Number))
		}
	case typeregistry.KindMap, typeregistry.KindMetrics:
		for _, row := range c.Rows() {
			row.Value.collect(places, fmt.Sprintf("%s, entry %d", label, row.Number))
		}
	case typeregistry.KindUnion:
		for _, a := range c.Alternatives() {
			if a.Chosen {
				a.Value.collect(places, label)
			}
		}
	}
}

// target is the id of what a link to the control leads to: the first radio button of a
// choice, else the control or its fieldset.
func (c Control) target() string {
	if c.Type.Kind == typeregistry.KindEnum && c.Segmented() {
		if options := c.Options(); len(options) > 0 {
			return options[0].ID
		}
	}
	return c.ID()
}

// Invalid reports how many values need a change.
func (f *Form) Invalid() int { return len(f.cfg.Problems) }

// Changed lists the labels and ids of the fields whose values are not their defaults, for the notice that says where values came from.
func (f *Form) Changed() []Trouble {
	var out []Trouble
	for _, c := range f.Controls() {
		if c.differs() {
			out = append(out, Trouble{Target: c.target(), Label: c.Label})
		}
	}
	return out
}

// differs reports whether the value is not that of the default, however it is written.
func (c Control) differs() bool {
	v, present, _ := c.Declared.DecodeForm(typeregistry.Form{Values: c.Carried()}, c.Name)
	if !present || v == nil || v == "" {
		return c.initial != nil
	}
	return !same(c.Declared, v, c.initial)
}
