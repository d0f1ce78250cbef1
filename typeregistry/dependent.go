package typeregistry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
)

// State is what the rules of a field say about given values.
type State struct {
	Hidden   bool  `json:"hidden,omitempty"`
	Required bool  `json:"required,omitempty"`
	Min      any   `json:"min,omitempty"`
	Max      any   `json:"max,omitempty"`
	Options  []any `json:"options,omitzero"` // allowed values; nil: no limit

	limited  bool   // Options applies, even if it is empty
	why      string // a rule that cannot be evaluated, a sentence
	whyRules string // its key
}

// HasRules reports whether a field of the schema has rules.
func (s Schema) HasRules() bool {
	return slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Rules != nil })
}

// States returns what the rules say about values that may be incomplete, for the fields that have
// rules.
func (s Schema) States(values map[string]any, env Env) map[string]State {
	plain, _ := Plain(values).(map[string]any)
	_, states := s.normalizeDependent(&checker{env: env}, plain)
	return states
}

// WithoutHidden removes the values of hidden fields and the problems with them. Forms keep such
// values while users type, and do not send them.
func (s Schema) WithoutHidden(values map[string]any, problems []Problem, env Env) (map[string]any, []Problem) {
	if !s.HasRules() || values == nil {
		return values, problems
	}
	states := s.States(values, env)
	out := maps.Clone(values)
	maps.DeleteFunc(out, func(name string, _ any) bool { return states[name].Hidden })
	problems = slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool {
		name, _, _ := strings.Cut(p.Path, ".")
		return states[name].Hidden
	})
	return out, problems
}

// checkDependent is normalizeFields for a schema with rules.
func (s Schema) checkDependent(c *checker, values map[string]any) map[string]any {
	out, states := s.normalizeDependent(c, values)
	compared := slices.DeleteFunc(slices.Clone(s.Fields), func(f Field) bool { return states[f.Name].Hidden })
	checkTogether(c, s.Fields, "", values, nil)
	checkTogether(c, compared, "", nil, out)
	return out
}

// normalizeDependent checks each field after those that its rules read. Problems come in the order
// of the fields.
func (s Schema) normalizeDependent(c *checker, values map[string]any) (map[string]any, map[string]State) {
	order, _ := ruleOrder(s.Fields) // registration rejects cycles
	out, states := make(map[string]any, len(s.Fields)), map[string]State{}
	scope, faulty, found := map[string]any{}, map[string]bool{}, make([][]Problem, len(s.Fields))
	for _, f := range s.Fields {
		scope[f.Name] = nil
	}
	for _, i := range order {
		f := s.Fields[i]
		given, ok := values[f.Name]
		state := f.state(scope)
		one := &checker{env: c.env, scope: scope, faulty: faulty}
		switch {
		case state.Hidden:
			out[f.Name] = f.hidden(one, given)
		default:
			if state.Required {
				f = f.requiredByRule()
			}
			out[f.Name] = f.normalize(one, f.Name, given, ok)
			if len(one.problems) == 0 && out[f.Name] != nil {
				state.check(one, f, out[f.Name])
			}
		}
		if state.why != "" && len(one.problems) == 0 {
			one.problem(f.Name, state.whyRules+" cannot be evaluated: "+state.why)
		}
		if len(one.problems) == 0 {
			scope[f.Name] = out[f.Name]
		}
		faulty[f.Name] = len(one.problems) > 0
		if f.Rules != nil {
			states[f.Name] = state
		}
		found[i] = one.problems
	}
	for _, problems := range found {
		for _, p := range problems {
			c.problem(p.Path, p.Message)
		}
	}
	return out, states
}

// requiredByRule is f while its rule requires a value: null is not one.
func (f Field) requiredByRule() Field {
	f.Required = true
	if f.Type.Kind == KindOptional {
		f.Type = f.Type.Elem
	}
	return f
}

// hidden is the value of a field that does not apply: its default. Another value is refused,
// because it would have no effect.
func (f Field) hidden(c *checker, given any) any {
	value, ok := f.fill(c)
	if !ok {
		value = nil
	}
	if given == nil || given == "" {
		return value
	}
	if canonical, problems := f.Type.Normalize(given); ok && len(problems) == 0 && compactJSON(canonical) == compactJSON(value) {
		return value
	}
	c.problem(f.Name, "It applies only if "+f.Rules.ShowIf+". Omit it.")
	return value
}

// state evaluates the rules of f over the values of the fields that it reads. A rule that fails
// leaves the field as if it had none.
func (f Field) state(scope map[string]any) State {
	var out State
	if f.Rules == nil {
		return out
	}
	env := maps.Clone(scope)
	if _, own := scope["inputs"]; !own {
		env["inputs"] = scope
	}
	for _, key := range ruleKeys() {
		e := f.Rules.parsed[key]
		if e == nil || out.Hidden {
			continue
		}
		v, err := e.Value(env)
		if err == nil {
			err = out.set(key, v)
		}
		if err != nil && out.why == "" {
			out.why, out.whyRules = apperr.MessageOf(err), key
		}
	}
	return out
}

func (s *State) set(key string, v any) error {
	b, isBool := v.(bool)
	list, isList := v.([]any)
	switch {
	case key == "min":
		s.Min = v
	case key == "max":
		s.Max = v
	case key == "options" && isList:
		s.Options, s.limited = list, true
	case key == "options" && v == nil: // no limit
	case key == "options":
		return apperr.New(apperr.Invalid, "The result must be a list of values.")
	case !isBool:
		return apperr.New(apperr.Invalid, "The result must be true or false.")
	case key == "show_if":
		s.Hidden = !b
	default:
		s.Required = b
	}
	return nil
}

// check applies the bounds and options of the rules to a valid value.
func (s State) check(c *checker, f Field, v any) {
	for _, bound := range []struct {
		limit      any
		text, word string
		sign       int
	}{{s.Min, f.Rules.minText(), "less", -1}, {s.Max, f.Rules.maxText(), "more", 1}} {
		if bound.limit == nil {
			continue
		}
		order, comparable := compareValues(v, Plain(bound.limit))
		switch {
		case !comparable:
			c.problem(f.Name, "Its limit "+bound.text+" is "+quote(bound.limit)+", which cannot be compared with "+quote(v)+".")
		case order*bound.sign > 0:
			c.problem(f.Name, fmt.Sprintf("%s is %s than %s, the limit with these values (%s).", inputText(v), bound.word, inputText(Plain(bound.limit)), bound.text))
		}
	}
	if !s.limited {
		return
	}
	shown := make([]string, len(s.Options))
	for i, o := range s.Options {
		shown[i] = fmt.Sprint(o)
		if canonical, problems := f.Type.Normalize(o); len(problems) == 0 && compactJSON(canonical) == compactJSON(v) {
			return
		}
	}
	if len(shown) == 0 {
		c.problem(f.Name, quote(v)+" is not allowed with these values, and no other value is allowed.")
		return
	}
	c.problem(f.Name, quote(v)+" is not allowed with these values. Choose "+strings.Join(shown, ", ")+".")
}

func (r *Rules) minText() string {
	if r == nil {
		return ""
	}
	return r.Min
}

func (r *Rules) maxText() string {
	if r == nil {
		return ""
	}
	return r.Max
}
