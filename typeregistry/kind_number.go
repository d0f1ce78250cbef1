package typeregistry

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// numberKind is Integer and Float. Numbers stay exact decimals throughout.
type numberKind struct {
	single
	integer bool
}

func (k numberKind) entry() Entry {
	if k.integer {
		return Entry{Name: "Integer", Group: "scalar", Summary: "A whole number of any size.", Example: "Integer(min=1, max=200)"}
	}
	return Entry{Name: "Float", Group: "scalar", Summary: "A number with a fraction.", Example: "Float(min=1e-5, max=0.1, log=true)"}
}

func (numberKind) params() []parameter {
	log := boolParam("log", "Use a logarithmic scale for the slider.", func(p *Params) *bool { return &p.LogScale })
	return []parameter{
		numberParam("min", "The minimum.", func(p *Params) *json.Number { return &p.Min }).as("min", "The minimum.", "min_value"),
		numberParam("max", "The maximum.", func(p *Params) *json.Number { return &p.Max }).as("max", "The maximum.", "max_value"),
		numberParam("exclusive_min", "The value must be more than this number.", func(p *Params) *json.Number { return &p.ExclusiveMin }).as("exclusive_min", "The value must be more than this number.", "gt"),
		numberParam("exclusive_max", "The value must be less than this number.", func(p *Params) *json.Number { return &p.ExclusiveMax }).as("exclusive_max", "The value must be less than this number.", "lt"),
		numberParam("step", "The step of the slider. It does not restrict values.", func(p *Params) *json.Number { return &p.Step }),
		log.as("log", log.summary, "log_scale"),
		textParam("unit", "The unit, shown after the value.", func(p *Params) *string { return &p.Unit }),
	}
}

func (k numberKind) prepare(t *Type) error {
	p := &t.Params
	if p.Min != "" && p.ExclusiveMin != "" {
		return fmt.Errorf("use either min or exclusive_min")
	}
	if p.Max != "" && p.ExclusiveMax != "" {
		return fmt.Errorf("use either max or exclusive_max")
	}
	if err := p.Bounds().problem(); err != nil {
		return err
	}
	if p.LogScale && p.Min != "" && compareNumbers(p.Min, "0") <= 0 {
		return fmt.Errorf("min must be more than 0 for a log scale")
	}
	if p.LogScale && p.ExclusiveMin != "" && compareNumbers(p.ExclusiveMin, "0") < 0 {
		return fmt.Errorf("exclusive_min must be 0 or more for a log scale")
	}
	if p.Step != "" && compareNumbers(p.Step, "0") <= 0 {
		return fmt.Errorf("step %s is not more than 0", p.Step)
	}
	for name, bound := range map[string]json.Number{"min": p.Min, "max": p.Max, "exclusive_min": p.ExclusiveMin, "exclusive_max": p.ExclusiveMax} {
		if d, ok := parseDecimal(bound.String()); k.integer && ok && !d.integral() {
			return fmt.Errorf("%s %s is not a whole number", name, bound)
		}
	}
	return nil
}

func (k numberKind) noun(*Type) string {
	if k.integer {
		return "a whole number"
	}
	return "a number"
}

func (k numberKind) hint(t *Type) string {
	if hint := t.Params.Bounds().hint(t.Params.Unit); hint != "" {
		return hint
	}
	return "Enter " + k.noun(t) + "."
}

func (k numberKind) normalize(c *checker, t *Type, path string, v any) any {
	n, ok := v.(json.Number)
	if !ok {
		return c.wrong(t, path, v)
	}
	d, ok := parseDecimal(n.String())
	if !ok || k.integer && !d.integral() {
		return c.wrong(t, path, v)
	}
	if _, err := strconv.ParseFloat(n.String(), 64); err != nil {
		c.problem(path, sentence("The number is too large.", k.hint(t)))
		return v
	}
	out := d.canonical()
	if k.integer {
		out = d.integer()
	}
	if reason := t.Params.Bounds().outside(out); reason != "" {
		c.problem(path, sentence(reason, k.hint(t)))
	}
	return out
}

func (k numberKind) jsonSchema(t *Type) map[string]any {
	out := map[string]any{"type": "number"}
	if k.integer {
		out["type"] = "integer"
	}
	t.Params.Bounds().jsonSchema(out)
	return out
}

func (k numberKind) ui(t *Type, f *UIField, _ Env) {
	p := t.Params
	f.Component, f.Step, f.LogScale, f.Unit = "NumberInput", p.Step, p.LogScale, p.Unit
	if f.Step == "" && k.integer {
		f.Step = "1"
	}
	if p.Min != "" {
		f.Min = p.Min
	}
	if p.Max != "" {
		f.Max = p.Max
	}
	f.ExclusiveMin, f.ExclusiveMax = p.ExclusiveMin, p.ExclusiveMax
}

// decode turns text into a number where it is one.
func (numberKind) decode(r *formReader, _ *Type, name, _ string) (any, bool) {
	text, ok := r.text(name)
	if !ok || text == "" {
		return nil, false
	}
	if d, ok := parseDecimal(text); ok {
		return d.canonical(), true
	}
	return text, true
}

func (k numberKind) render(t *Type, v any) string {
	text := inputText(v)
	if d, ok := parseDecimal(text); ok && d.integral() && k.integer {
		text = groupDigits(text)
	}
	if t.Params.Unit != "" {
		text += " " + t.Params.Unit
	}
	return text
}

// groupDigits writes 10009 as 10,009.
func groupDigits(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

func (k numberKind) accept(t, from *Type) error {
	if from.Kind == KindEnum {
		return acceptOptions(t, from)
	}
	if from.Kind != KindInteger && (k.integer || from.Kind != KindFloat) {
		return mismatch(t, from)
	}
	p, q := t.Params.Bounds(), from.Params.Bounds()
	if below := (Bounds{Low: p.Low, LowOpen: p.LowOpen, High: q.High, HighOpen: q.HighOpen}); below.problem() != nil {
		return fmt.Errorf("it is %s %s, but %s %s is required", openOr(q.HighOpen, "less than", "at most"), q.High, openOr(p.LowOpen, "more than", "at least"), p.Low)
	}
	if above := (Bounds{Low: q.Low, LowOpen: q.LowOpen, High: p.High, HighOpen: p.HighOpen}); above.problem() != nil {
		return fmt.Errorf("it is %s %s, but %s %s is allowed", openOr(q.LowOpen, "more than", "at least"), q.Low, openOr(p.HighOpen, "only less than", "at most"), p.High)
	}
	return nil
}

func openOr(open bool, ifOpen, ifClosed string) string {
	if open {
		return ifOpen
	}
	return ifClosed
}

// acceptOptions accepts an Enum whose every option is a value of t.
func acceptOptions(t, from *Type) error {
	for _, o := range from.Params.Options {
		if problems := t.Check(o.Value, Env{}); len(problems) > 0 {
			return fmt.Errorf("the option %s is not valid: %s", literal(o.Value), problems[0].Message)
		}
	}
	return nil
}

// canonicalScalar normalizes a number and returns other values unchanged.
func canonicalScalar(v any) any {
	if n, ok := Plain(v).(json.Number); ok {
		if d, ok := parseDecimal(n.String()); ok {
			return d.canonical()
		}
	}
	return v
}

// booleanKind is Boolean.
type booleanKind struct{ single }

func (booleanKind) entry() Entry {
	return Entry{Name: "Boolean", Group: "scalar", Summary: "True or false.", Example: "Boolean"}
}
func (booleanKind) noun(*Type) string { return "true or false" }
func (booleanKind) hint(*Type) string { return "Choose yes or no." }

func (booleanKind) normalize(c *checker, t *Type, path string, v any) any {
	if b, ok := v.(bool); ok {
		return b
	}
	return c.wrong(t, path, v)
}

func (booleanKind) jsonSchema(*Type) map[string]any { return map[string]any{"type": "boolean"} }

func (booleanKind) ui(_ *Type, f *UIField, _ Env) { f.Component = "Checkbox" }

// decode reads a checkbox with its "$bool" companion, or a text true or false.
func (booleanKind) decode(r *formReader, _ *Type, name, _ string) (any, bool) {
	_, box := r.text(name + ".$bool")
	text, ok := r.text(name)
	if b, err := strconv.ParseBool(text); err == nil {
		return b, true
	}
	switch {
	case text == "on":
		return true, true
	case box && text == "":
		return false, true
	}
	return text, ok && text != ""
}

func (booleanKind) encode(_ *Type, v any, name string, out url.Values) {
	out.Set(name+".$bool", "1")
	if v != false && v != nil {
		out.Set(name, inputText(v))
	}
}

func (booleanKind) render(_ *Type, v any) string {
	switch v {
	case true:
		return "Yes"
	case false:
		return "No"
	}
	return inputText(v)
}

func (booleanKind) accept(t, from *Type) error {
	if from.Kind == KindEnum {
		return acceptOptions(t, from)
	}
	if from.Kind != KindBoolean {
		return mismatch(t, from)
	}
	return nil
}
