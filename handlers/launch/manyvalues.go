package launch

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// varied is an input, or a part of one, that can take many values.
type varied struct {
	path, label string
	declared    *typeregistry.Type
	kind        *typeregistry.Type // declared without Optional
	initial     any                // the default
}

// variable lists what can take many values: inputs, and the members of structures. Files and secrets
// take one value.
func variable(schema typeregistry.Schema, env typeregistry.Env) []varied {
	var out []varied
	for _, f := range schema.Fields {
		if f.Hints.Hidden {
			continue
		}
		initial, _ := f.DefaultValue(env)
		out = append(out, parts(f, f.Name, initial)...)
	}
	return out
}

func parts(f typeregistry.Field, path string, initial any) []varied {
	t := f.Type
	for t.Kind == typeregistry.KindOptional {
		t = t.Elem
	}
	switch t.Kind {
	case typeregistry.KindFile, typeregistry.KindImage, typeregistry.KindTable, typeregistry.KindDirectory, typeregistry.KindReport, typeregistry.KindSecret, typeregistry.KindConnection:
		return nil
	case typeregistry.KindStruct, typeregistry.KindHyperparam:
		members, _ := initial.(map[string]any)
		var out []varied
		for _, m := range t.Fields {
			value, ok := members[m.Name]
			if !ok {
				value, _ = m.DefaultValue(typeregistry.Env{})
			}
			out = append(out, parts(m, path+"."+m.Name, value)...)
		}
		return out
	}
	label := f.Hints.Label
	if label == "" {
		label = typeregistry.Humanize(f.Name)
	}
	return []varied{{path, label, f.Type, t, initial}}
}

func (v varied) isNumber() bool {
	return v.kind.Kind == typeregistry.KindInteger || v.kind.Kind == typeregistry.KindFloat
}

// lined reports whether each value is on a line of its own, because a value can contain commas.
func (v varied) lined() bool {
	switch v.kind.Kind {
	case typeregistry.KindInteger, typeregistry.KindFloat, typeregistry.KindDate, typeregistry.KindDuration:
		return false
	}
	return true
}

// choices are the values of an Enum or Boolean.
func (v varied) choices() []views.ManyPick {
	switch v.kind.Kind {
	case typeregistry.KindBoolean:
		return []views.ManyPick{{Value: "true", Name: "Yes"}, {Value: "false", Name: "No"}}
	case typeregistry.KindEnum:
		var out []views.ManyPick
		for _, o := range v.kind.Params.Options {
			name := o.Label
			if name == "" {
				name = space.Text(o.Value)
			}
			out = append(out, views.ManyPick{Value: compact(o.Value), Name: name})
		}
		return out
	}
	return nil
}

// compact is a value as JSON.
func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "" // values are decoded JSON, which encodes
	}
	return string(b)
}

// manyField is the controls of one input, as they were sent, or at first.
func manyField(v varied, sent url.Values) views.ManyField {
	f := views.ManyField{Path: v.path, Label: v.label, Number: v.isNumber(), Lines: v.lined(), Options: v.choices(), Help: "Separated by commas."}
	if f.Lines {
		f.Help = "One per line."
		if v.kind.IsComposite() || v.kind.Kind == typeregistry.KindJSON || v.kind.Kind == typeregistry.KindFeatureSet {
			f.Help = "One per line, as JSON."
		}
	}
	get := func(part string) string { return strings.TrimSpace(sent.Get(views.SweepPrefix + part + "." + v.path)) }
	f.On, f.Kind = get("on") != "", get("kind")
	if f.Kind == "" {
		f.Kind = views.ManyValues
		if f.Number {
			f.Kind = views.ManyRange
		}
		f = v.first(f)
	} else {
		f.Values, f.From, f.To, f.Scale, f.Steps, f.Step = sent.Get(views.SweepPrefix+"values."+v.path), get("from"), get("to"), get("scale"), get("steps"), get("step")
		f.Distribution, f.Mean, f.Deviation = get("distribution"), get("mean"), get("deviation")
	}
	picked, known := sent[views.SweepPrefix+"pick."+v.path]
	for i := range f.Options {
		f.Options[i].On = !known && !f.On || slices.Contains(picked, f.Options[i].Value)
	}
	if !f.Number && sent.Has(views.SweepPrefix+"values."+v.path) {
		f.Values = sent.Get(views.SweepPrefix + "values." + v.path)
	}
	for _, d := range []struct {
		kind space.Kind
		name string
	}{{space.Uniform, "uniform"}, {space.LogUniform, "log-uniform"}, {space.Normal, "normal"}, {space.Int, "whole numbers"}} {
		f.Distributions = append(f.Distributions, ui.Option{Value: string(d.kind), Name: d.name, Selected: string(d.kind) == f.Distribution})
	}
	return f
}

// first fills in the controls from the bounds of the type and the default.
func (v varied) first(f views.ManyField) views.ManyField {
	if f.Number {
		f.From, f.To = v.kind.Params.Min.String(), v.kind.Params.Max.String() // not exclusive bounds, which are no values
		if v.kind.Params.LogScale {
			f.Scale, f.Distribution = "log", string(space.LogUniform)
		}
	}
	switch {
	case v.initial == nil || len(f.Options) > 0:
	case f.Lines && f.Help != "One per line.":
		f.Values = compact(v.initial)
	default:
		f.Values = space.Text(v.initial)
	}
	return f
}

// parameter reads the controls of an input. It reports texts that are not numbers as problems,
// by the names of their controls.
func parameter(v varied, f views.ManyField) (space.Parameter, []string) {
	p := space.Parameter{Path: v.path, Kind: space.Kind(f.Kind)}
	var faults []string
	number := func(name, text string) *float64 {
		if text == "" {
			return nil
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s: %q is not a number. Enter a number such as 0.01 or 1e-4.", name, text))
			return nil
		}
		return &n
	}
	switch f.Kind {
	case views.ManyRange:
		p.Kind, p.From, p.To, p.Scale = space.Range, number("From", f.From), number("To", f.To), space.Scale(f.Scale)
		if n := number("Values", f.Steps); n != nil {
			if p.Steps = int(*n); float64(p.Steps) != *n {
				faults = append(faults, fmt.Sprintf("Values: %s is not a whole number.", f.Steps))
			}
		}
		if p.Scale != space.Log {
			p.Step = number("Step", f.Step)
		}
	case views.ManyDistribution:
		p.Kind = space.Kind(f.Distribution)
		p.From, p.To = number("From", f.From), number("To", f.To)
		if p.Kind == space.Normal {
			p.Mean, p.Deviation = number("Mean", f.Mean), number("Deviation", f.Deviation)
		}
	default:
		p.Kind = space.Values
		var texts []string
		p.Values, texts = v.values(f)
		faults = append(faults, texts...)
	}
	return p, faults
}

// values are the listed values of an input.
func (v varied) values(f views.ManyField) (values []any, faults []string) {
	if len(f.Options) > 0 {
		for _, o := range f.Options {
			if o.On {
				if decoded, err := typeregistry.DecodeJSON([]byte(o.Value)); err == nil {
					values = append(values, decoded)
				}
			}
		}
		return values, nil
	}
	split := func(r rune) bool { return r == '\n' || r == '\r' || !f.Lines && r == ',' }
	for text := range strings.FieldsFuncSeq(f.Values, split) {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		switch {
		case f.Number:
			if _, err := strconv.ParseFloat(text, 64); err != nil {
				faults = append(faults, fmt.Sprintf("%q is not a number.", text))
				continue
			}
			values = append(values, json.Number(text))
		case strings.HasSuffix(f.Help, "JSON."):
			decoded, err := typeregistry.DecodeJSON([]byte(text))
			if err != nil {
				faults = append(faults, fmt.Sprintf("%s is not JSON.", ui.Short(text, 40)))
				continue
			}
			values = append(values, decoded)
		default:
			values = append(values, text)
		}
	}
	return values, faults
}

// controls are the controls that describe a parameter. Values are on separate lines if one can
// contain commas.
func controls(p space.Parameter, lined bool) url.Values {
	out := url.Values{}
	set := func(part, text string) {
		if text != "" {
			out.Set(views.SweepPrefix+part+"."+p.Path, text)
		}
	}
	number := func(part string, n *float64) {
		if n != nil {
			set(part, strconv.FormatFloat(*n, 'g', -1, 64))
		}
	}
	set("on", "1")
	number("from", p.From)
	number("to", p.To)
	number("step", p.Step)
	number("mean", p.Mean)
	number("deviation", p.Deviation)
	switch p.Kind {
	case space.Values:
		set("kind", views.ManyValues)
		texts := make([]string, len(p.Values))
		for i, v := range p.Values {
			out.Add(views.SweepPrefix+"pick."+p.Path, compact(v))
			if texts[i] = space.Text(v); !isText(v) {
				texts[i] = compact(v)
			}
		}
		between := ", "
		if lined {
			between = "\n"
		}
		set("values", strings.Join(texts, between))
	case space.Range:
		set("kind", views.ManyRange)
		set("scale", string(p.Scale))
		if p.Steps > 0 {
			set("steps", strconv.Itoa(p.Steps))
		}
	default:
		set("kind", views.ManyDistribution)
		set("distribution", string(p.Kind))
	}
	return out
}

func isText(v any) bool {
	_, ok := v.(string)
	return ok
}
