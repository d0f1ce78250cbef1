// Package stored reads and writes the JSON columns of executions.
package stored

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// Value parses one JSON value; numbers keep their notation. NUL, which Postgres cannot store
// in a JSON string, is refused.
func Value(text string) (any, error) {
	if strings.Contains(text, `\u0000`) && strings.ContainsRune(decodedNUL(text), 0) {
		return nil, errNUL
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) { // More is false before a bracket
		return nil, fmt.Errorf("it is more than one JSON value")
	}
	return value, nil
}

var errNUL = errors.New("a string contains the character NUL")

// Check returns an error for a value that cannot be stored as JSON: expressions result in strings with NUL
// and in numbers that are not finite.
func Check(value any) error {
	switch v := value.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			return errNUL
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%v is not a finite number", v)
		}
	case []any:
		for _, item := range v {
			if err := Check(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, item := range v {
			if err := errors.Join(Check(name), Check(item)); err != nil {
				return err
			}
		}
	}
	return nil
}

// decodedNUL returns text with its strings decoded, or text itself when it is not JSON.
func decodedNUL(text string) string {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	return fmt.Sprint(value)
}

// Object parses a stored JSON object; nil for none.
func Object(raw []byte) map[string]any {
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

// Into parses stored JSON into a new T; nil for none.
func Into[T any](raw []byte) *T {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	v := new(T)
	if json.Unmarshal(raw, v) != nil {
		return nil
	}
	return v
}

// UTC returns a stored time in UTC; nil for none.
func UTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
