package pod

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/flowforge/flowforge/apperr"
)

const invalidFields = "The pod fields are invalid."

// ParseFields reads a JSON object of pod fields. Fields that Kubernetes does not have, or
// that would change FlowForge's parts of a pod, are an Invalid error that names the
// fields by their path in the object.
func ParseFields(data []byte) (Fields, error) {
	fields := Fields{}
	if len(bytes.TrimSpace(data)) == 0 {
		return fields, nil
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return Fields{}, apperr.New(apperr.Invalid, "The pod fields must be a mapping of Kubernetes field names.")
	}
	var wrong []apperr.Field
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		value := parts[name]
		if name == "podSpecPatch" {
			value = patchText(value)
		}
		wrong = append(wrong, decodeField(&fields, name, value)...)
	}
	if len(wrong) == 0 {
		wrong = check(&fields)
	}
	if err := apperr.InvalidFields(invalidFields, wrong); err != nil {
		return Fields{}, err
	}
	return fields, nil
}

// decodeField decodes one field strictly, so that errors can name it.
func decodeField(into *Fields, name string, value json.RawMessage) []apperr.Field {
	object, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err != nil {
		return []apperr.Field{{Path: name, Message: "is not JSON"}}
	}
	return decodeStrict(object, into, name)
}

// decodeStrict decodes data into a Kubernetes type; fallback is the path of errors
// without one.
func decodeStrict(data []byte, into any, fallback string) []apperr.Field {
	unknown, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		return []apperr.Field{decodeError(err, fallback)}
	}
	var wrong []apperr.Field
	for _, e := range unknown {
		path, message := fallback, e.Error()
		if quoted := quotedPath.FindStringSubmatch(message); quoted != nil {
			path, message = quoted[2], "Kubernetes has no such field."
			if quoted[1] == "duplicate" {
				message = "This field appears twice."
			}
		}
		wrong = append(wrong, apperr.Field{Path: path, Message: message})
	}
	return wrong
}

var quotedPath = regexp.MustCompile(`^(unknown|duplicate) field "(.*)"$`)

func decodeError(err error, fallback string) apperr.Field {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return apperr.Field{Path: orElse(e.Field, fallback), Message: fmt.Sprintf("%s is not allowed here; expected %s.", article(e.Value), kindOf(e.Type.String()))}
	}
	message := strings.TrimPrefix(err.Error(), "json: ")
	if field := goField.FindStringSubmatch(message); field != nil {
		return apperr.Field{Path: orElse(field[2], fallback), Message: fmt.Sprintf("%s is not allowed here; expected %s.", article(field[1]), kindOf(field[3]))}
	}
	return apperr.Field{Path: fallback, Message: message}
}

// goField parses the decoder's error for a value of the wrong type.
var goField = regexp.MustCompile(`^cannot unmarshal (\w+) .*into Go struct field \w+\.(\S+) of type (\S+)$`)

func orElse(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

// article returns a kind of JSON value with its article.
func article(kind string) string {
	if kind == "array" || kind == "object" {
		return "An " + kind
	}
	return "A " + kind
}

// kindOf returns the JSON name of a Go type.
func kindOf(name string) string {
	name = strings.TrimLeft(name, "*")
	switch {
	case strings.HasPrefix(name, "[]"):
		return "a list"
	case strings.HasPrefix(name, "map["):
		return "a mapping"
	case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "float"), strings.HasPrefix(name, "uint"):
		return "a number"
	case name == "bool":
		return "true or false"
	case name == "string":
		return "a string"
	case strings.HasPrefix(name, "v1.") && !strings.Contains(name, "Spec"):
		return "a string or mapping of Kubernetes' " + strings.TrimPrefix(name, "v1.")
	}
	return name
}

// patchText converts a patch written as a mapping to text.
func patchText(value json.RawMessage) json.RawMessage {
	trimmed := bytes.TrimSpace(value)
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return value
	}
	text, err := json.Marshal(string(trimmed))
	if err != nil {
		return value
	}
	return text
}

// parsePatch parses a patch of a pod's spec and returns it as JSON.
func parsePatch(text string) ([]byte, []apperr.Field) {
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, []apperr.Field{{Path: "podSpecPatch", Message: strings.TrimPrefix(err.Error(), "yaml: ")}}
	}
	var patch map[string]any
	if err := json.Unmarshal(data, &patch); err != nil || patch == nil {
		return nil, []apperr.Field{{Path: "podSpecPatch", Message: "This must be a mapping with fields of a pod spec."}}
	}
	plain, err := json.Marshal(withoutDirectives(patch))
	if err != nil {
		return nil, []apperr.Field{{Path: "podSpecPatch", Message: err.Error()}}
	}
	wrong := decodeStrict(plain, &corev1.PodSpec{}, "")
	for i := range wrong {
		wrong[i].Path = strings.TrimSuffix("podSpecPatch."+wrong[i].Path, ".")
	}
	return data, wrong
}

// withoutDirectives removes strategic merge directives ("$patch" and the like).
func withoutDirectives(value any) any {
	switch v := value.(type) {
	case map[string]any:
		plain := make(map[string]any, len(v))
		for name, inner := range v {
			if !strings.HasPrefix(name, "$") {
				plain[name] = withoutDirectives(inner)
			}
		}
		return plain
	case []any:
		plain := make([]any, 0, len(v))
		for _, inner := range v {
			if only, ok := inner.(map[string]any); ok && len(only) == 1 && only["$patch"] != nil {
				continue
			}
			plain = append(plain, withoutDirectives(inner))
		}
		return plain
	}
	return value
}
