package typeregistry

import (
	"encoding/json"
	"fmt"
	"slices"
)

// enumKind is Enum: one of a fixed list of strings, numbers or Booleans.
type enumKind struct{ single }

func (enumKind) entry() Entry {
	return Entry{Name: "Enum", Group: "scalar", Summary: "One of a list of options, which can have labels.", Example: `Enum("adam": "Adam", "sgd": "Plain SGD")`}
}

func (enumKind) shape() shape { return optionsShape }

func (enumKind) params() []parameter {
	return []parameter{{name: "options", aliases: []string{"values", "enum_values"}, summary: "The options as a list.",
		set: func(p *Params, v any) error {
			list, ok := v.([]any)
			if !ok {
				return fmt.Errorf("%s is not a list of options", quote(v))
			}
			for _, e := range list {
				p.Options = append(p.Options, readOption(e))
			}
			return nil
		},
		get: func(*Params) any { return nil },
	}}
}

func (enumKind) prepare(t *Type) error {
	if len(t.Params.Options) == 0 {
		return fmt.Errorf("there are no options; write Enum(\"a\", \"b\")")
	}
	seen := map[string]bool{}
	for _, o := range t.Params.Options {
		switch o.Value.(type) {
		case string, json.Number, bool:
		default:
			return fmt.Errorf("the option %s is neither a string nor a number", literal(o.Value))
		}
		text := inputText(o.Value)
		if text == "" || seen[text] {
			return fmt.Errorf("the option %s is empty or appears twice", literal(o.Value))
		}
		seen[text] = true
	}
	return nil
}

func (enumKind) noun(*Type) string { return "one of the options" }

func (enumKind) hint(t *Type) string {
	var words []string
	for _, o := range t.Params.Options {
		words = append(words, inputText(o.Value))
	}
	if len(words) > 8 {
		return fmt.Sprintf("Choose one of the %d options.", len(words))
	}
	return "Choose " + listed(words) + "."
}

func (enumKind) normalize(c *checker, t *Type, path string, v any) any {
	for _, o := range t.Params.Options {
		if sameJSON(o.Value, v) {
			return o.Value
		}
	}
	return c.wrong(t, path, v)
}

func (enumKind) jsonSchema(t *Type) map[string]any {
	values := make([]any, len(t.Params.Options))
	for i, o := range t.Params.Options {
		values[i] = o.Value
	}
	return map[string]any{"enum": values}
}

func (enumKind) ui(t *Type, f *UIField, _ Env) {
	f.Component, f.Options = "Select", t.Params.Options
}

func (enumKind) decode(r *formReader, t *Type, name, _ string) (any, bool) {
	text, ok := r.text(name)
	if !ok || text == "" {
		return nil, false
	}
	return optionOf(t, text), true
}

// optionOf returns the option written as text, or the text itself.
func optionOf(t *Type, text string) any {
	for _, o := range t.Params.Options {
		if inputText(o.Value) == text {
			return o.Value
		}
	}
	return text
}

func (enumKind) render(t *Type, v any) string {
	for _, o := range t.Params.Options {
		if o.Label != "" && sameJSON(o.Value, v) {
			return o.Label
		}
	}
	return inputText(v)
}

func (enumKind) accept(t, from *Type) error {
	if from.Kind != KindEnum {
		return mismatch(t, from)
	}
	for _, o := range from.Params.Options {
		if !slices.ContainsFunc(t.Params.Options, func(mine Option) bool { return sameJSON(mine.Value, o.Value) }) {
			return fmt.Errorf("%s is not one of its options", literal(o.Value))
		}
	}
	return nil
}
