package expression

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
)

// The limits of a text with tags.
const (
	MaxTemplate = 4 << 20  // bytes of a text with tags
	MaxRendered = 16 << 20 // bytes of a text after its tags are replaced
	maxTags     = 10_000   // tags of one text
	maxNesting  = 5        // tags inside tags
)

// Template is a text with tags: {{a.name}} and {{=an expression}}.
type Template struct {
	parts  []part
	nested bool // it has a tag inside another: replacing it creates one more tag
	length int
}

// part is a piece of text or a tag.
type part struct {
	text string // as written, with its braces
	name string // of a simple tag
	tag  bool
	expr *Expression
	err  error // why an expression cannot be parsed
}

// Tag is one tag of a template.
type Tag struct {
	Name       string      // of a simple tag, trimmed
	Expression *Expression // of {{=…}}, nil when it cannot be read
	Text       string      // as it is written
	Err        error       // why an expression cannot be parsed
}

// ParseTemplate reads a text with tags. A {{ without its }} is text. An expression that
// cannot be parsed is reported in its [Tag] and when it is rendered, not here, because
// text for other programs may look like one.
func ParseTemplate(text string) (*Template, error) { return parseTemplate(text, newMeter()) }

func parseTemplate(text string, m *meter) (*Template, error) {
	if len(text) > MaxTemplate {
		return nil, apperr.New(apperr.Invalid, "The text with tags is %d bytes long; at most %d are allowed.", len(text), MaxTemplate)
	}
	t := &Template{length: len(text)}
	tags := 0
	for {
		start := strings.Index(text, "{{")
		if start < 0 {
			break
		}
		end := strings.Index(text[start:], "}}")
		if end < 0 {
			break
		}
		if tags++; tags > maxTags {
			return nil, apperr.New(apperr.Invalid, "The text has more than %d tags.", maxTags)
		}
		p, length := readTag(text, &start, start+end, m)
		if errors.Is(p.err, errTooMuch) {
			return nil, p.err
		}
		t.nested = t.nested || strings.Contains(text[:start], "{{")
		if start > 0 {
			t.parts = append(t.parts, part{text: text[:start]})
		}
		t.parts = append(t.parts, p)
		text = text[start+length:]
	}
	if text != "" {
		t.parts = append(t.parts, part{text: text})
	}
	return t, nil
}

// readTag reads the tag that begins at *start, and whose first }} is at end. When
// another one begins inside a simple tag, *start moves to the innermost. It
// returns the tag and its length.
func readTag(text string, start *int, end int, m *meter) (part, int) {
	if strings.HasPrefix(text[*start:], "{{=") {
		return readExpression(text[*start:], end-*start, m)
	}
	if inner := strings.LastIndex(text[*start:end], "{{"); inner > 0 {
		*start += inner
		if strings.HasPrefix(text[*start:], "{{=") {
			return readExpression(text[*start:], end-*start, m)
		}
	}
	whole := text[*start : end+2]
	return part{text: whole, tag: true, name: strings.TrimSpace(whole[2 : len(whole)-2])}, len(whole)
}

// readExpression reads {{=…}}, whose }} is the first one that makes it complete: an
// expression may contain }}, as {a: {b: 1}} does.
func readExpression(text string, end int, m *meter) (part, int) {
	const tries = 8
	var first error
	for at, i := end, 0; i < tries; i++ {
		source := strings.TrimSpace(text[3:at])
		if !m.parsing(len(source)) {
			return part{err: refuse(errTooMuch, "The text has too many or too long expressions in tags: %v", errTooMuch)}, 0
		}
		e, err := ParseArgo(source)
		if err == nil {
			return part{text: text[:at+2], tag: true, expr: e}, at + 2
		}
		if first == nil {
			first = err
		}
		next := strings.Index(text[at+1:], "}}")
		if strings.Count(source, "{") <= strings.Count(source, "}") { // another } would be unbalanced
			break
		}
		if next < 0 || at+1+next > MaxLength {
			break
		}
		at += 1 + next
	}
	return part{text: text[:end+2], tag: true, err: first}, end + 2
}

// Tags returns the tags in order, including duplicates.
func (t *Template) Tags() []Tag {
	var tags []Tag
	for _, p := range t.parts {
		if p.tag {
			tags = append(tags, Tag{Name: p.name, Expression: p.expr, Text: p.text, Err: p.err})
		}
	}
	return tags
}

// Scope is the values of tags at one position of a workflow.
type Scope struct {
	Lookup func(name string) (string, bool) // values of simple tags, by their whole text
	Env    map[string]any                   // values for expressions, as nested objects

	// Partial keeps a tag with an unknown name: it may become known later, as
	// {{retries}} and {{pod.name}} do.
	Partial bool

	// Foreign reports whether an unknown simple tag belongs to another language, such
	// as Jinja: such a tag is kept even if Partial is false. Nil: no tag does.
	Foreign func(name string) bool
}

// RenderString replaces the tags of text.
func (s Scope) RenderString(text string) (string, error) {
	return s.renderString(text, newMeter(), 0)
}

func (s Scope) renderString(text string, m *meter, depth int) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	t, err := parseTemplate(text, m)
	if err != nil {
		return "", err
	}
	return s.render(t, m, depth)
}

func (s Scope) render(t *Template, m *meter, depth int) (string, error) {
	var b strings.Builder
	changed := false
	for _, p := range t.parts {
		text := p.text
		if p.tag {
			var err error
			if text, err = s.replace(p, m); err != nil {
				return "", err
			}
			changed = changed || text != p.text
		}
		if b.Len()+len(text) > MaxRendered {
			return "", apperr.New(apperr.Invalid, "The text is longer than %d bytes when its tags are replaced.", MaxRendered)
		}
		b.WriteString(text)
	}
	if t.nested && changed && depth < maxNesting {
		return s.renderString(b.String(), m, depth+1)
	}
	return b.String(), nil
}

// replace returns the value of one tag.
func (s Scope) replace(p part, m *meter) (string, error) {
	switch {
	case p.err != nil:
		if s.Partial {
			return p.text, nil
		}
		return "", p.err
	case p.expr != nil:
		v, err := p.expr.evaluate(s.Env, s.Partial, m)
		if _, ok := errors.AsType[*UnknownError](err); ok && s.Partial || err == nil && v == nil && s.Partial {
			return p.text, nil
		}
		if err != nil {
			return "", err
		}
		return written(p.expr, v)
	}
	if s.Lookup != nil {
		if v, ok := s.Lookup(p.name); ok {
			return v, nil
		}
	}
	if s.Partial || s.Foreign != nil && s.Foreign(p.name) {
		return p.text, nil
	}
	missing := &UnknownError{Name: p.name}
	return "", refuse(missing, "The tag %s cannot be replaced: %v", quoted(p.text), missing)
}

// written formats a result as text: numbers and booleans as in Argo, lists and objects
// as JSON.
func written(e *Expression, v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", apperr.New(apperr.Invalid, "The expression %s is null, but a value is needed; add a default after ??.", quoted(e.text))
	case string:
		return v, nil
	case bool, int64:
		return fmt.Sprint(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "", apperr.New(apperr.Invalid, "The expression %s is %v, which is not a number.", quoted(e.text), v)
		}
		return fmt.Sprint(v), nil
	}
	var b strings.Builder
	j := json.NewEncoder(&b)
	j.SetEscapeHTML(false)
	if err := j.Encode(v); err != nil {
		return "", invalid(e.text, err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// RenderValue replaces the tags in every text of a decoded JSON value, including the
// keys of objects. It works on texts and not on JSON, so no inserted value can end a
// text or add a field. It does not change v. All its expressions share one budget of
// steps.
func (s Scope) RenderValue(v any) (any, error) {
	return s.renderValue(v, newMeter(), 0)
}

func (s Scope) renderValue(v any, m *meter, depth int) (any, error) {
	if depth > maxDepth {
		return nil, apperr.New(apperr.Invalid, "The tags of a value cannot be replaced: %v", errTooDeep)
	}
	switch v := v.(type) {
	case string:
		return s.renderString(v, m, 0)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			r, err := s.renderValue(e, m, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = r
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			name, err := s.renderString(k, m, 0)
			if err != nil {
				return nil, err
			}
			if _, twice := out[name]; twice {
				return nil, apperr.New(apperr.Invalid, "Two fields are named %s when their tags are replaced.", quoted(name))
			}
			if out[name], err = s.renderValue(v[k], m, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case time.Time:
		return v.Format(time.RFC3339), nil
	}
	return v, nil
}
