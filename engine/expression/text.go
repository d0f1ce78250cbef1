package expression

import (
	"strings"

	"github.com/flowforge/flowforge/apperr"
)

// Text is a text with tags of FlowForge's own language: {{ expression }}.
type Text struct{ parts []textPart }

// textPart is a plain text, or an expression between {{ and }}.
type textPart struct {
	plain string
	tag   *Expression
}

// ParseText parses the tags of a text. Errors are [apperr.Invalid].
func ParseText(text string) (*Text, error) {
	var out Text
	for text != "" {
		plain, rest, found := strings.Cut(text, "{{")
		if plain != "" {
			out.parts = append(out.parts, textPart{plain: plain})
		}
		if !found {
			break
		}
		inner, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, apperr.New(apperr.Invalid, "The tag {{%s is not closed; add }}.", short(rest, 60))
		}
		parsed, err := Parse(strings.TrimSpace(inner))
		if err != nil {
			return nil, err
		}
		out.parts, text = append(out.parts, textPart{tag: parsed}), after
	}
	return &out, nil
}

// Tags returns the expressions in order.
func (t *Text) Tags() []*Expression {
	var out []*Expression
	for _, p := range t.parts {
		if p.tag != nil {
			out = append(out, p.tag)
		}
	}
	return out
}

// Start is the plain text before the first tag.
func (t *Text) Start() string {
	if len(t.parts) == 0 {
		return ""
	}
	return t.parts[0].plain
}

// Fill replaces each tag with the text that write returns for it. It stops at the first error.
func (t *Text) Fill(write func(tag *Expression) (string, error)) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		text := p.plain
		if p.tag != nil {
			var err error
			if text, err = write(p.tag); err != nil {
				return "", err
			}
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// Only returns the expression of a text that is one tag and nothing else; nil otherwise.
func (t *Text) Only() *Expression {
	if len(t.parts) != 1 {
		return nil
	}
	return t.parts[0].tag
}
