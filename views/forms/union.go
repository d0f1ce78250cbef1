package forms

import "github.com/flowforge/flowforge/typeregistry"

// unionControl is the control of a Union: the controls of its variants, of which one is chosen.
type unionControl struct{ c Control }

// Alternative is one variant of a union.
type Alternative struct {
	Tag    string
	Number int // from 1
	Chosen bool
	ID     string // of the radio button
	Value  Control
	Empty  bool // a struct without members: selecting it is enough
}

// Alternatives returns the variants; each keeps its submitted values, selected or not.
func (u unionControl) Alternatives() []Alternative {
	chosen := u.c.sub("$type")
	out := make([]Alternative, len(u.c.Type.Variants))
	for i, v := range u.c.Type.Variants {
		path := u.c.Path
		if v.Type.Kind != typeregistry.KindStruct && v.Type.Kind != typeregistry.KindHyperparam {
			path += ".value"
		}
		value := u.c.of(v.Type, u.c.Name+"."+v.Tag, path, InitialOf(v.Type))
		value.Bare = true
		value.Label = u.c.Label + ", " + v.Tag
		value.at = joinPath(u.c.at, v.Tag)
		if v.Tag != chosen {
			value.form = value.form.quiet()
		}
		out[i] = Alternative{
			Tag: v.Tag, Number: i + 1, Chosen: v.Tag == chosen, ID: idOf(u.c.Name + ".$type." + v.Tag), Value: value,
			Empty: v.Type.Kind == typeregistry.KindStruct && len(v.Type.Fields) == 0,
		}
	}
	return out
}

// manyVariants is the number of variants from which a select replaces the radio buttons.
const manyVariants = 5

// ManyVariants reports whether a select lists the variants.
func (u unionControl) ManyVariants() bool {
	letters := 0
	for _, v := range u.c.Type.Variants {
		letters += len(v.Tag) + 3
	}
	return len(u.c.Type.Variants) >= manyVariants || letters > 2*segmentedLetters
}
