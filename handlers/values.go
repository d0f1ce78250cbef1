package handlers

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// valueOf shows a value by its type: a reference becomes a link, a composite value
// can be opened as JSON.
func valueOf(name string, t *typeregistry.Type, v any) views.Value {
	value := views.Value{Name: name, Type: t.Name(), Text: ui.Short(t.Render(v), 300)}
	if value.Text == "" {
		value.Text = "–"
	}
	if ref, ok := v.(map[string]any); ok {
		if id, ok := ref["$artifact"].(string); ok {
			value.URL = views.ArtifactURL(id)
			return value
		}
	}
	switch v.(type) {
	case map[string]any, []any:
		value.Code = indented(v)
	case string:
		if s, _ := v.(string); strings.Contains(s, "\n") || len(s) > 300 {
			value.Code = s
		}
	}
	return value
}

// unknownValue shows a value whose type is not known.
func unknownValue(name string, v any) views.Value {
	text := indented(v)
	value := views.Value{Name: name, Text: ui.Short(text, 200)}
	if strings.Contains(text, "\n") {
		value.Code = text
	}
	return value
}

// indented is v as JSON for people.
func indented(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return ""
	}
	return strings.TrimRight(b.String(), "\n")
}

// decodeJSON reads a canonical value: numbers stay exact.
func decodeJSON(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}
