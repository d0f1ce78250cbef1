package change

import (
	"encoding/json"
	"fmt"

	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// inputs compares what launches give.
func inputs(before, after typeregistry.Schema) []Change {
	was, is := fields(before), fields(after)
	var changes []Change
	for _, name := range names(was, is) {
		old, existed := was[name]
		now, exists := is[name]
		c := Change{Section: Inputs, Name: name, Kind: kindOf(existed, exists)}
		switch c.Kind {
		case Removed:
			c.Details = details(inputProperties(&old), nil)
			c.Breaks = fmt.Sprintf("Launches that set %q are rejected.", name)
		case Added:
			c.Details = details(nil, inputProperties(&now))
			if mustSet(&now) {
				c.Breaks = fmt.Sprintf("Every launch must set %q.", name)
			}
		case Changed:
			c.Details = details(inputProperties(&old), inputProperties(&now))
			c.Breaks = inputBreaks(&old, &now)
			if len(c.Details) == 0 {
				continue
			}
		}
		changes = append(changes, c)
	}
	return changes
}

func inputBreaks(old, now *typeregistry.Field) string {
	if err := typeregistry.Assignable(old.Type, now.Type); err != nil && !mayBeAbsent(old, now) {
		return fmt.Sprintf("Values of %q no longer fit: %v.", now.Name, err)
	}
	if description := limitBreaks(now.Name, old.Type, now.Type); description != "" {
		return description
	}
	if mustSet(now) && !mustSet(old) {
		return fmt.Sprintf("Every launch must set %q.", now.Name)
	}
	if ruleBreaks(old, now) {
		return rulesChanged(now.Name)
	}
	return ""
}

// mayBeAbsent reports whether the types differ only in that a value was optional; a default
// replaces it then.
func mayBeAbsent(old, now *typeregistry.Field) bool {
	return old.Type.Kind == typeregistry.KindOptional && now.Type.Kind != typeregistry.KindOptional &&
		typeregistry.Assignable(old.Type.Elem, now.Type) == nil && !mustSet(now)
}

// outputs compares what callers read.
func outputs(before, after []workflow.Output) []Change {
	was, is := byOutput(before), byOutput(after)
	var changes []Change
	for _, name := range names(was, is) {
		old, existed := was[name]
		now, exists := is[name]
		c := Change{Section: Outputs, Name: name, Kind: kindOf(existed, exists)}
		switch c.Kind {
		case Removed:
			c.Details = details(outputProperties(&old), nil)
			c.Breaks = fmt.Sprintf("Callers that read %q fail.", name)
		case Added:
			c.Details = details(nil, outputProperties(&now))
		case Changed:
			c.Details = details(outputProperties(&old), outputProperties(&now))
			if len(c.Details) == 0 {
				continue
			}
			if err := typeregistry.Assignable(now.Type, old.Type); err != nil {
				c.Breaks = fmt.Sprintf("Callers that read %q get a different type: %v.", name, err)
			}
		}
		changes = append(changes, c)
	}
	return changes
}

func fields(s typeregistry.Schema) map[string]typeregistry.Field {
	out := make(map[string]typeregistry.Field, len(s.Fields))
	for _, f := range s.Fields {
		out[f.Name] = f
	}
	return out
}

func byOutput(list []workflow.Output) map[string]workflow.Output {
	out := make(map[string]workflow.Output, len(list))
	for _, o := range list {
		out[o.Name] = o
	}
	return out
}

// property is a named text of an input or an output.
type property struct{ path, text string }

func inputProperties(f *typeregistry.Field) []property {
	required := ""
	if mustSet(f) {
		required = "yes"
	}
	return []property{{"type", f.Type.String()}, {"default", string(f.Default)}, {"required", required}, {"description", f.Description}, {"rules", rulesText(f)}, {"validators", validatorsText(f)}}
}

func outputProperties(o *workflow.Output) []property {
	return []property{{"type", o.Type.String()}, {"from", o.Origin()}, {"description", o.Description}}
}

func rulesText(f *typeregistry.Field) string {
	if f.Rules == nil {
		return ""
	}
	raw, err := json.Marshal(f.Rules)
	if err != nil {
		return ""
	}
	return string(raw)
}

func validatorsText(f *typeregistry.Field) string {
	if len(f.Validators) == 0 {
		return ""
	}
	raw, err := json.Marshal(f.Validators)
	if err != nil {
		return ""
	}
	return string(raw)
}

// details are the properties whose texts differ; both lists have the same paths, or one is nil.
func details(was, is []property) []Detail {
	var out []Detail
	for i := range max(len(was), len(is)) {
		var d Detail
		if was != nil {
			d.Path, d.Before = was[i].path, was[i].text
		}
		if is != nil {
			d.Path, d.After = is[i].path, is[i].text
		}
		if d.Before != d.After {
			out = append(out, d)
		}
	}
	return out
}

// mustSet reports whether a launch without the input is refused.
func mustSet(f *typeregistry.Field) bool {
	if !f.Required || f.Type.Kind == typeregistry.KindOptional {
		return false
	}
	_, filled := f.DefaultValue(typeregistry.Env{})
	return !filled
}
