package execution

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxMessage     = 4 << 10 // bytes of a message that is kept
	maxOutputBytes = 4 << 20 // of one inline output value
	maxDataBytes   = 4 << 20 // of a checkpoint
)

// clean makes text fit for Postgres and for a page: valid UTF-8 without NUL, and
// no longer than limit bytes.
func clean(text string, limit int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\x00", "")
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// decodeJSON reads one JSON value; numbers stay as they are written. NUL, which
// Postgres cannot keep in a JSON string, is refused.
func decodeJSON(text string) (any, error) {
	if strings.Contains(text, `\u0000`) && strings.ContainsRune(decodedNUL(text), 0) {
		return nil, fmt.Errorf("a string holds the character NUL")
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if decoder.More() {
		return nil, fmt.Errorf("it is more than one JSON value")
	}
	return value, nil
}

// decodedNUL returns text as its strings decode, or text itself when it is no JSON.
func decodedNUL(text string) string {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	return fmt.Sprint(value)
}

// decodeObject reads a stored JSON object; nil for none.
func decodeObject(raw []byte) map[string]any {
	if len(raw) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var object map[string]any
	if decoder.Decode(&object) != nil {
		return nil
	}
	return object
}

// decodeInto reads stored JSON into a new T; nil for none.
func decodeInto[T any](raw []byte) *T {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	v := new(T)
	if json.Unmarshal(raw, v) != nil {
		return nil
	}
	return v
}

// mustJSON encodes a value that cannot fail to encode.
func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return raw
}
