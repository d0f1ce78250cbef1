package telemetry

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Text is a message with the fields that the task logged with it, such as "trained rows=3 lr=0.1",
// except the field that the reader shows elsewhere. Only the lines that tasks log with the SDK have
// fields of their own; those of other streams describe where the line is from.
func Text(stream, message string, fields json.RawMessage, except string) string {
	if stream != "sdk" || len(fields) == 0 {
		return message
	}
	decoder := json.NewDecoder(bytes.NewReader(fields))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return message
	}
	var text strings.Builder
	text.WriteString(message)
	for decoder.More() {
		var value json.RawMessage
		key, err := decoder.Token()
		if err != nil || decoder.Decode(&value) != nil {
			return message
		}
		if name, _ := key.(string); name != except {
			text.WriteString(" " + name + "=" + valueText(value))
		}
	}
	return text.String()
}

// valueText is a value as JSON. A string without spaces has no quotation marks.
func valueText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && text != "" && value[0] == '"' && !strings.ContainsAny(text, " \t\r\n=\"") {
		return text
	}
	return string(value)
}

// Forms returns how stored lines can contain a text, in lower case: in the message or, as
// name=value, in the fields. A line contains the text if its message and fields contain one of them.
func Forms(text string) []string {
	text = strings.ToLower(text)
	return append([]string{text}, fieldForms(text)...)
}

// contains reports whether a line contains a text with these forms.
func (l *LogLine) contains(forms []string) bool {
	stored := strings.ToLower(l.Message + " " + string(l.Fields))
	return slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(stored, form) })
}

// fieldForms returns how stored lines contain a field that readers see as name=value.
func fieldForms(text string) []string {
	name, value, found := strings.Cut(strings.TrimSpace(text), "=")
	if !found || name == "" || strings.ContainsAny(name, " \"") {
		return nil
	}
	key := `"` + name + `":`
	value = strings.TrimPrefix(value, `"`)
	return []string{key + value, key + " " + value, key + `"` + value, key + ` "` + value}
}
