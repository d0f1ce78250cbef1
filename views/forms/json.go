package forms

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/typeregistry"
)

// WriteJSON formats inputs for editing: indented, the fields in the order of the schema,
// then unknown names.
func WriteJSON(schema typeregistry.Schema, inputs map[string]any) string {
	names := inOrder(schema, inputs)
	if len(names) == 0 {
		return "{}"
	}
	var b bytes.Buffer
	b.WriteString("{\n")
	for i, name := range names {
		value := compact(inputs[name])
		var lines bytes.Buffer
		if json.Indent(&lines, []byte(value), "  ", "  ") == nil {
			value = lines.String()
		}
		fmt.Fprintf(&b, "  %s: %s", compact(name), value)
		if i < len(names)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("}")
	return b.String()
}

// ReadJSON parses inputs edited as JSON. If the text is not a JSON object, it returns one
// problem with the line.
func ReadJSON(text string) (map[string]any, []Problem) {
	if strings.TrimSpace(text) == "" {
		return map[string]any{}, nil
	}
	v, err := typeregistry.DecodeJSON([]byte(text))
	if err != nil {
		return nil, []Problem{{Message: typeregistry.JSONProblem(text, err)}}
	}
	inputs, ok := v.(map[string]any)
	if !ok {
		return nil, []Problem{{Message: "Enter one JSON object: names and values between { and }."}}
	}
	return inputs, nil
}
