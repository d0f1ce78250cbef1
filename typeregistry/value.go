package typeregistry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Plain converts the output of a YAML or JSON decoder (int, uint64, float64, map[any]any
// …) into decoded JSON with json.Number. Other values stay unchanged and fail validation.
func Plain(v any) any {
	switch x := v.(type) {
	case nil, bool, string, json.Number:
		return v
	case float64:
		return plainFloat(x)
	case float32:
		return plainFloat(float64(x))
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = Plain(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = Plain(e)
		}
		return out
	case map[any]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[fmt.Sprint(k)] = Plain(e)
		}
		return out
	case json.RawMessage:
		if decoded, err := DecodeJSON(x); err == nil {
			return decoded
		}
		return string(x)
	}
	return plainReflect(v)
}

func plainFloat(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Sprint(f)
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

func plainReflect(v any) any {
	r := reflect.ValueOf(v)
	switch {
	case r.CanInt():
		return json.Number(strconv.FormatInt(r.Int(), 10))
	case r.CanUint():
		return json.Number(strconv.FormatUint(r.Uint(), 10))
	case r.Kind() == reflect.String:
		return r.String()
	}
	return v
}

// DecodeJSON decodes one JSON value and keeps numbers exact.
func DecodeJSON(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return v, nil
}

// encodeJSON is json.Marshal without the escapes that HTML pages do not need.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// compactJSON writes v on one line; values of this package always encode.
func compactJSON(v any) string {
	b, err := encodeJSON(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// inputText is what a text control shows for v.
func inputText(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case json.Number:
		return x.String()
	}
	return compactJSON(v)
}

// quote formats v for a message: shortened, with text in quotation marks.
func quote(v any) string {
	text := inputText(v)
	if utf8.RuneCountInString(text) > 60 {
		text = string([]rune(text)[:60]) + "…"
	}
	text = strings.ReplaceAll(text, "\n", "↵")
	if _, ok := v.(string); ok {
		return "“" + text + "”"
	}
	return text
}

// Quote is a value in a message: shortened, with text in quotation marks.
func Quote(v any) string { return quote(v) }

// Listed joins words for a sentence: "a, b or c".
func Listed(words []string) string { return listed(words) }

// listed joins words for a sentence: "a, b or c".
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// sameJSON reports whether two canonical values are equal.
func sameJSON(a, b any) bool {
	if x, ok := a.(json.Number); ok {
		y, ok := b.(json.Number)
		return ok && compareNumbers(x, y) == 0
	}
	return reflect.DeepEqual(a, b)
}
