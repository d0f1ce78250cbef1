package expression

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// jsonPath implements jsonpath(text, path): the values of a JSON text at path. A path
// to a single value returns that value, or an error when it does not exist; a path with
// *, .., a slice, a filter or several names returns the list of all matches.
func jsonPath(m *meter, args []any) (any, error) {
	s, err := texts(args, 2)
	if err != nil {
		return nil, err
	}
	root, err := m.decode(s[0])
	if err != nil {
		return nil, err
	}
	steps, err := parsePath(m, s[1])
	if err != nil {
		return nil, fmt.Errorf("the path %s is not valid: %w", quoted(s[1]), err)
	}
	found, many := []any{root}, false
	for _, step := range steps {
		many = many || step.many()
		if step.deep {
			var all []any
			for _, v := range found {
				all = m.below(all, v)
			}
			found = all
		}
		var next []any
		for _, v := range found {
			for _, s := range step.selectors {
				m.spend(1)
				got, err := s(m, root, v)
				if err != nil {
					return nil, err
				}
				m.spend(len(got))
				next = append(next, got...)
			}
		}
		if found = next; len(found) == 0 && !many {
			return nil, fmt.Errorf("the path %s has no value at %s", quoted(s[1]), quoted(step.text))
		}
	}
	if many {
		return append([]any{}, found...), nil
	}
	return found[0], nil
}

// below appends v and all that is inside it.
func (m *meter) below(all []any, v any) []any {
	m.spend(1)
	all = append(all, v)
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			all = m.below(all, e)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			all = m.below(all, v[k])
		}
	}
	return all
}

// selector returns the selected parts of v.
type selector func(m *meter, root, v any) ([]any, error)

// step is one level of a path.
type step struct {
	text      string
	deep      bool // at any depth: ..
	plural    bool // it may select more than one
	selectors []selector
}

func (s step) many() bool { return s.deep || s.plural || len(s.selectors) > 1 }

// parsePath reads a path: $, then .name, .*, ..name, ['name'], [0], [-1], [1:3], [*], [0,2] and [?(…)].
func parsePath(m *meter, path string) ([]step, error) {
	m.spend(len(path))
	rest, ok := strings.CutPrefix(strings.TrimSpace(path), "$")
	if !ok {
		return nil, errors.New("it must begin with $")
	}
	var steps []step
	for rest != "" {
		var s step
		before := rest
		if r, ok := strings.CutPrefix(rest, ".."); ok {
			s.deep, rest = true, r
		} else if r, ok := strings.CutPrefix(rest, "."); ok {
			rest = r
		} else if rest[0] != '[' {
			return nil, fmt.Errorf("a name needs a dot before it, at %s", quoted(rest))
		}
		var err error
		if strings.HasPrefix(rest, "[") {
			rest, err = s.bracket(m, rest[1:])
		} else {
			rest, err = s.name(rest)
		}
		if err != nil {
			return nil, err
		}
		s.text = before[:len(before)-len(rest)]
		steps = append(steps, s)
	}
	return steps, nil
}

// name reads the name after a dot.
func (s *step) name(rest string) (string, error) {
	end := strings.IndexAny(rest, ".[")
	if end < 0 {
		end = len(rest)
	}
	name := rest[:end]
	switch name {
	case "":
		return "", errors.New("a name is missing after a dot")
	case "*":
		s.plural = true
		s.selectors = append(s.selectors, children)
	default:
		s.selectors = append(s.selectors, child(name))
	}
	return rest[end:], nil
}

// bracket reads the selectors between [ and ].
func (s *step) bracket(m *meter, rest string) (string, error) {
	for {
		rest = strings.TrimSpace(rest)
		if rest == "" {
			return "", errors.New("a ] is missing")
		}
		var err error
		switch rest[0] {
		case '*':
			s.plural = true
			s.selectors, rest = append(s.selectors, children), rest[1:]
		case '\'', '"':
			var name string
			if name, rest, err = quotedName(rest); err == nil {
				s.selectors = append(s.selectors, child(name))
			}
		case '?':
			rest, err = s.filter(m, rest[1:])
		default:
			rest, err = s.numbers(rest)
		}
		if err != nil {
			return "", err
		}
		rest = strings.TrimSpace(rest)
		if r, ok := strings.CutPrefix(rest, "]"); ok {
			return r, nil
		}
		r, ok := strings.CutPrefix(rest, ",")
		if !ok {
			return "", fmt.Errorf("a , or ] is missing at %s", quoted(rest))
		}
		rest = r
	}
}

// quotedName reads 'name' or "name", with \ as the escape character.
func quotedName(rest string) (name, after string, err error) {
	var b strings.Builder
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] == rest[0]:
			return b.String(), rest[i+1:], nil
		case rest[i] == '\\' && i+1 < len(rest):
			i++
		}
		b.WriteByte(rest[i])
	}
	return "", "", errors.New("a quote is missing")
}

// numbers reads an index or a slice from:to:step.
func (s *step) numbers(rest string) (string, error) {
	end := strings.IndexAny(rest, ",]")
	if end < 0 {
		return "", errors.New("a ] is missing")
	}
	parts := strings.Split(rest[:end], ":")
	at := make([]*int, 3)
	for i, p := range parts {
		if p = strings.TrimSpace(p); p == "" && len(parts) > 1 {
			continue
		}
		n, err := strconv.Atoi(p)
		if err != nil || i > 2 {
			return "", fmt.Errorf("%s is not an index: use a number, from:to, 'name' or *", quoted(rest[:end]))
		}
		at[i] = &n
	}
	if len(parts) == 1 {
		s.selectors = append(s.selectors, index(*at[0]))
		return rest[end:], nil
	}
	if at[2] != nil && *at[2] < 1 {
		return "", errors.New("the step of a slice must be above 0")
	}
	s.plural = true
	s.selectors = append(s.selectors, between3(at[0], at[1], at[2]))
	return rest[end:], nil
}

// filter reads (…) of [?(…)]: an expression in which @ is the element and $ the root.
func (s *step) filter(m *meter, rest string) (string, error) {
	depth, quote := 0, byte(0)
	var text strings.Builder
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		switch {
		case quote != 0:
			if c == '\\' && i+1 < len(rest) {
				text.WriteByte(c)
				i++
				c = rest[i]
			} else if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '@':
			text.WriteString("item")
			continue
		case c == '$':
			text.WriteString("root")
			continue
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		}
		if depth < 0 || depth == 0 && c == ']' && quote == 0 && strings.HasPrefix(rest[i+1:], "]") {
			return "", fmt.Errorf("the filter %s must be in ( )", quoted(rest))
		}
		text.WriteByte(c)
		if depth == 0 && quote == 0 {
			m.spend(20 * len(rest))
			e, err := parse(text.String(), &dialect{functions: basic})
			if err != nil {
				return "", err
			}
			s.plural = true
			s.selectors = append(s.selectors, where(e))
			return rest[i+1:], nil
		}
	}
	return "", errors.New("a ) is missing")
}

func child(name string) selector {
	return func(_ *meter, _, v any) ([]any, error) {
		if of, ok := v.(map[string]any); ok {
			if e, ok := of[name]; ok {
				return []any{e}, nil
			}
		}
		return nil, nil
	}
}

func children(_ *meter, _, v any) ([]any, error) {
	switch v := v.(type) {
	case []any:
		return v, nil
	case map[string]any:
		out := make([]any, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, v[k])
		}
		return out, nil
	}
	return nil, nil
}

func index(i int) selector {
	return func(_ *meter, _, v any) ([]any, error) {
		list, _ := v.([]any)
		at := i
		if at < 0 {
			at += len(list)
		}
		if at < 0 || at >= len(list) {
			return nil, nil
		}
		return list[at : at+1], nil
	}
}

// between3 is the slice from:to:step, each of which may be omitted.
func between3(from, to, by *int) selector {
	return func(_ *meter, _, v any) ([]any, error) {
		list, _ := v.([]any)
		place := func(p *int, otherwise int) int {
			if p == nil {
				return otherwise
			}
			if *p < 0 {
				return max(*p+len(list), 0)
			}
			return min(*p, len(list))
		}
		by := place(by, 1)
		var out []any
		for i := place(from, 0); i < place(to, len(list)); i += max(by, 1) {
			out = append(out, list[i])
		}
		return out, nil
	}
}

// where selects the elements for which e is true or any existing value.
func where(e *Expression) selector {
	return func(m *meter, root, v any) ([]any, error) {
		all, err := children(m, root, v)
		if err != nil {
			return nil, err
		}
		var out []any
		for _, element := range all {
			m.spend(len(e.refs) + 1)
			got, err := e.evaluate(map[string]any{"item": element, "root": root}, false, m)
			if errors.Is(err, errTooMuch) {
				return nil, errTooMuch
			}
			if err != nil || got == nil || got == false {
				continue // as usual in JSONPath, values that cannot be compared are not selected
			}
			out = append(out, element)
		}
		return out, nil
	}
}
