package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// jsonFormat is huma's JSON with three differences: it rejects text that Postgres cannot store (lone
// surrogates and the NUL character); it accepts 2.0 for an integer; and its errors are in plain words.
func jsonFormat() huma.Format {
	format := huma.DefaultJSONFormat
	decode := format.Unmarshal
	format.Unmarshal = func(data []byte, v any) error {
		err := decode(data, v)
		if isNumberError(err) {
			err = decode(wholeNumbers(data), v)
		}
		if err != nil {
			return plainJSONError(err)
		}
		return checkText(data)
	}
	return format
}

// loneSurrogate returns the position of an escaped half of a character without its other half, or
// -1. Go decodes it as another character. The document is valid JSON.
func loneSurrogate(data []byte) int {
	for at := 0; at < len(data); at++ {
		if data[at] != '\\' {
			continue
		}
		unit, ok := escapedUnit(data[at:])
		if !ok || !utf16.IsSurrogate(unit) {
			at++ // the escaped character
			continue
		}
		second, _ := escapedUnit(data[min(at+len(`\u0000`), len(data)):])
		if utf16.DecodeRune(unit, second) == utf8.RuneError {
			return at
		}
		at += 2*len(`\u0000`) - 1
	}
	return -1
}

// escapedUnit reads an escape such as \u00e9 at the start of a text.
func escapedUnit(data []byte) (rune, bool) {
	const size = len(`\u0000`)
	if len(data) < size || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(data[2:size]), 16, 16)
	return rune(unit), err == nil
}

func isNumberError(err error) bool {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	return ok && strings.HasPrefix(wrong.Value, "number ")
}

func plainJSONError(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && isNumberError(err) {
		return fmt.Errorf("the %s is not a whole number, or too large", wrong.Value)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("this is not JSON, at byte %d: %w", syntax.Offset, err)
	}
	return err
}

// wholeNumbers removes the fraction of whole numbers: 2.0 is an integer in JSON, but Go does not
// decode it as one.
func wholeNumbers(data []byte) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return data
	}
	out, err := json.Marshal(whole(v))
	if err != nil {
		return data
	}
	return out
}

func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, item := range v {
			v[name] = whole(item)
		}
	case []any:
		for i, item := range v {
			v[i] = whole(item)
		}
	case json.Number:
		const exact = 1 << 53 // a float64 holds every integer up to here
		if f, err := v.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) <= exact {
			return json.Number(strconv.FormatInt(int64(f), 10))
		}
	}
	return v
}

// checkText rejects a JSON document with text that is not Unicode, or that contains a NUL character.
func checkText(data []byte) error {
	if at := loneSurrogate(data); at >= 0 {
		return fmt.Errorf("a string contains the lone surrogate %s, at byte %d, which UTF-8 cannot represent", data[at:at+len(`\ud800`)], at)
	}
	if !utf8.Valid(data) {
		return errors.New("the document is not UTF-8")
	}
	if !bytes.Contains(data, []byte(`\u0000`)) {
		return nil
	}
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		token, err := d.Token()
		if err != nil {
			return nil //nolint:nilerr // the end of the document; it was decoded before
		}
		if text, ok := token.(string); ok && strings.Contains(text, "\x00") {
			return errors.New("a string contains the character NUL, which cannot be stored")
		}
	}
}
