package execution

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxMessage     = 4 << 10 // bytes of a stored message
	maxOutputBytes = 4 << 20 // of one inline output value
	maxDataBytes   = 4 << 20 // of a checkpoint
)

// clean makes text valid for Postgres and for a page: valid UTF-8 without NUL, and at most
// limit bytes.
func clean(text string, limit int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\x00", "")
	if len(text) <= limit {
		return text
	}
	return shortened(text, limit) + "…"
}

// shortened returns the beginning of a text, at most limit bytes of whole letters.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// mustJSON encodes a value that cannot fail to encode.
func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return raw
}
