package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

const (
	maxDepth  = 64        // nesting of a document
	maxValues = 2_000_000 // values in a document after its aliases are expanded
)

// documentError explains why a document cannot be read.
type documentError struct{ message string }

func (e *documentError) Error() string { return e.message }

func documentErrorf(format string, args ...any) error {
	return &documentError{fmt.Sprintf(format, args...)}
}

// decodeDocument reads YAML or JSON into decoded JSON values (nil, bool,
// json.Number, string, []any, map[string]any). It bounds size, depth and the
// number of values, and rejects duplicate keys and characters that Postgres
// cannot keep.
func decodeDocument(doc []byte) (any, error) {
	if len(doc) > MaxDocumentBytes {
		return nil, documentErrorf("The document is larger than %d MiB.", MaxDocumentBytes>>20)
	}
	doc = bytes.TrimPrefix(doc, []byte("\ufeff"))
	if !utf8.Valid(doc) {
		return nil, documentErrorf("The document is not UTF-8 text.")
	}
	if bytes.IndexByte(doc, 0) >= 0 {
		return nil, documentErrorf("The document contains a NUL character.")
	}
	if text := bytes.TrimLeft(doc, " \t\r\n"); len(text) > 0 && text[0] == '{' && json.Valid(text) {
		return decodeJSON(text)
	}
	return decodeYAML(doc)
}

type jsonReader struct {
	decoder *json.Decoder
	values  int
}

func decodeJSON(doc []byte) (any, error) {
	r := jsonReader{decoder: json.NewDecoder(bytes.NewReader(doc))}
	r.decoder.UseNumber()
	v, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := r.decoder.Token(); err != io.EOF {
		return nil, documentErrorf("Unexpected content after the end of the document.")
	}
	return v, nil
}

func (r *jsonReader) value(depth int) (any, error) {
	token, err := r.decoder.Token()
	if err != nil {
		return nil, documentErrorf("The JSON is not valid: %v.", err)
	}
	if r.values++; r.values > maxValues {
		return nil, errTooManyValues()
	}
	switch t := token.(type) {
	case json.Delim:
		if depth >= maxDepth {
			return nil, errTooDeep()
		}
		if t == '{' {
			return r.object(depth + 1)
		}
		return r.list(depth + 1)
	case string:
		return t, checkText(t)
	default:
		return t, nil
	}
}

func (r *jsonReader) object(depth int) (any, error) {
	object := map[string]any{}
	for r.decoder.More() {
		token, err := r.decoder.Token()
		if err != nil {
			return nil, documentErrorf("The JSON is not valid: %v.", err)
		}
		key, _ := token.(string)
		if _, twice := object[key]; twice {
			return nil, documentErrorf("The key %q appears twice in the same object.", key)
		}
		if err := checkText(key); err != nil {
			return nil, err
		}
		if object[key], err = r.value(depth); err != nil {
			return nil, err
		}
	}
	_, err := r.decoder.Token()
	return object, err
}

func (r *jsonReader) list(depth int) (any, error) {
	list := []any{}
	for r.decoder.More() {
		v, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := r.decoder.Token()
	return list, err
}

// checkText rejects NUL, which may come out of an escape.
func checkText(s string) error {
	for i := range len(s) {
		if s[i] == 0 {
			return documentErrorf("The document contains a NUL character in %s.", strconv.Quote(shorten(s, 40)))
		}
	}
	return nil
}

func errTooDeep() error {
	return documentErrorf("The document is nested more than %d levels deep.", maxDepth)
}

func errTooManyValues() error {
	return documentErrorf("The document contains more than %d values once its aliases are expanded.", maxValues)
}

// shorten cuts s to at most n characters for a message.
func shorten(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n]) + "…"
}
