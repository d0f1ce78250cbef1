package notify

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/markdown"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/engine/expression"
)

// templateTag matches {{ expression }}, as in the inputs of triggers.
var templateTag = regexp.MustCompile(`(?s)\{\{\s*(.*?)\s*\}\}`)

// maxValue is the length at which a value is shortened, in characters. Built-in messages shorten the
// error of an execution at the same length.
const maxValue = 2500

// at describes the position of a byte in a text.
func at(text string, offset int) string {
	before := text[:offset]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:]) + 1
	return fmt.Sprintf("Line %d, column %d", line, column)
}

// problems describes the errors in the tags of a text.
func (t Template) problems(field, text string) (fields []apperr.Field) {
	var names []string
	for _, v := range Variables(t.Event) {
		names = append(names, v.Name)
	}
	for _, m := range templateTag.FindAllStringSubmatchIndex(text, -1) {
		e, err := expression.Parse(t.sourceOf(text[m[2]:m[3]]))
		if err != nil {
			fields = append(fields, apperr.Field{Path: field, Message: at(text, m[0]) + ": " + apperr.MessageOf(err)})
			continue
		}
		for _, ref := range e.References() {
			if !slices.Contains(names, ref.Path[0]) {
				fields = append(fields, apperr.Field{Path: field, Message: fmt.Sprintf("%s: there is no variable %q. %s", at(text, m[0]), ref.Path[0], suggestion(ref.Path[0], names))})
			}
		}
	}
	rest := templateTag.ReplaceAllStringFunc(text, func(tag string) string { return strings.Repeat(" ", len(tag)) })
	if i := strings.Index(rest, "{{"); i >= 0 {
		fields = append(fields, apperr.Field{Path: field, Message: at(text, i) + `: the end "}}" of an expression is missing.`})
	}
	return fields
}

// sourceOf returns the source of an expression in a body. In JSON, its quotation marks are escaped.
func (t Template) sourceOf(source string) string {
	var decoded string
	if t.Kind == message.Webhook && json.Unmarshal([]byte(`"`+source+`"`), &decoded) == nil {
		return decoded
	}
	return source
}

// suggestion names the variable that is most similar to name, or all.
func suggestion(name string, names []string) string {
	if len(name) <= 64 {
		best := slices.MinFunc(names, func(a, b string) int { return apperr.Distance(a, name) - apperr.Distance(b, name) })
		if apperr.Distance(best, name) <= 1+len(name)/4 {
			return fmt.Sprintf("Did you mean %s?", best)
		}
	}
	return "The variables are " + strings.Join(names, ", ") + "."
}

// render returns the message of the template about m.
func (t Template) render(m message.Message) (*message.Custom, error) {
	env := variablesOf(t.Event, m)
	switch t.Kind {
	case message.Webhook:
		raw, err := renderJSON(t.Body, env)
		return &message.Custom{JSON: raw}, err
	case message.Slack:
		text, err := renderText(t.Body, env, message.EscapeSlack)
		return &message.Custom{Text: text}, err
	case message.Teams:
		text, err := renderText(t.Body, env, message.EscapeTeams)
		return &message.Custom{Text: text}, err
	}
	return t.renderEmail(env)
}

func (t Template) renderEmail(env map[string]any) (*message.Custom, error) {
	plain := func(v string) string { return v }
	subject, err := renderText(t.Subject, env, plain)
	if err != nil {
		return nil, err
	}
	text, err := renderText(t.Body, env, plain)
	if err != nil {
		return nil, err
	}
	// In HTML, marks stand for the values until the Markdown is converted, so that a value is text
	// wherever it is. The result is sanitized because a value can be the address of a link.
	marks := newMarks()
	marked, err := renderText(t.Body, env, marks.add)
	if err != nil {
		return nil, err
	}
	out, err := markdown.Render([]byte(marked))
	if err != nil {
		return nil, err
	}
	return &message.Custom{Subject: strings.Join(strings.Fields(subject), " "), Text: text, HTML: markdown.Sanitize(marks.replace(out))}, nil
}

// marks are words that stand for values. They begin with a random word, so that no template and no
// value contains them.
type marks struct {
	word   string
	values []string
}

func newMarks() *marks { return &marks{word: "ff" + strings.ToLower(rand.Text())} }

// add returns the mark of a value.
func (m *marks) add(value string) string {
	m.values = append(m.values, value)
	return m.word + "v" + strconv.Itoa(len(m.values)-1) + "v"
}

// replace replaces the marks in HTML with their values, which it does not search.
func (m *marks) replace(text string) string {
	pattern := regexp.MustCompile(m.word + "v([0-9]+)v")
	return pattern.ReplaceAllStringFunc(text, func(mark string) string {
		i, err := strconv.Atoi(pattern.FindStringSubmatch(mark)[1])
		if err != nil || i >= len(m.values) {
			return mark
		}
		return html.EscapeString(m.values[i])
	})
}

// renderText replaces the tags of a text with their escaped values.
func renderText(text string, env map[string]any, escape func(string) string) (string, error) {
	var failed error
	out := templateTag.ReplaceAllStringFunc(text, func(tag string) string {
		v, err := valueOf(tag, env)
		if err == nil {
			var written string
			if written, err = writtenAs(v); err == nil {
				return escape(written)
			}
		}
		failed = errors.Join(failed, err)
		return ""
	})
	return out, failed
}

func valueOf(tag string, env map[string]any) (any, error) {
	e, err := expression.Parse(templateTag.FindStringSubmatch(tag)[1])
	if err != nil {
		return nil, err
	}
	return e.Value(env)
}

// writtenAs formats a value as text.
func writtenAs(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return shortened(v), nil
	case bool, int, int64, float64, json.Number:
		return fmt.Sprint(v), nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "", errors.New("the value cannot be written as text")
	}
	return shortened(string(raw)), nil
}

func shortened(text string) string {
	if utf8.RuneCountInString(text) <= maxValue {
		return text
	}
	return string([]rune(text)[:maxValue-1]) + "…"
}

// jsonTemplate decodes the body of a webhook. Tags are inside its strings, so no value can change the
// structure of the body.
func jsonTemplate(body string) (any, error) {
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return v, nil
		}
		return nil, fmt.Errorf("%s: there is something after the JSON value.", at(body, int(d.InputOffset())))
	}
	offset := int(d.InputOffset())
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = int(wrong.Offset) - 1
	}
	return nil, fmt.Errorf(`%s: the body is not valid JSON. Expressions must be inside strings, such as "{{ title }}".`, at(body, min(max(offset, 0), len(body))))
}

func renderJSON(body string, env map[string]any) ([]byte, error) {
	v, err := jsonTemplate(body)
	if err != nil {
		return nil, err
	}
	if v, err = renderValue(v, env); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the body: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// renderValue replaces the tags in the strings of a JSON value. A string that is only a tag becomes a
// value of any type.
func renderValue(v any, env map[string]any) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		if m := templateTag.FindStringIndex(v); m != nil && m[0] == 0 && m[1] == len(v) {
			return valueOf(v, env)
		}
		return renderText(v, env, func(text string) string { return text })
	case []any:
		for i := range v {
			if v[i], err = renderValue(v[i], env); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if v[name], err = renderValue(v[name], env); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
