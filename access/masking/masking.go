// Package masking removes secret values from text: a value itself and the forms in
// which programs print it (base64 at every alignment, percent-encoding, hex, escaped in
// JSON, in HTML and in Python literals). It keeps the values only in memory.
package masking

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Mark replaces a secret.
const Mark = "***"

// MinLength is the length in bytes from which a value is masked. Shorter ones would
// mask parts of ordinary words.
const MinLength = 4

const (
	// minEncoded is the length from which an encoded form is masked: short ones match
	// any base64 text by chance.
	minEncoded = 6
	// segment is the maximum length of a search term, which limits how much of a line
	// is held back: a longer value is masked in pieces.
	segment = 256
)

// Masker replaces the values it was made with. The zero value and nil replace
// nothing. It is safe for concurrent use.
type Masker struct {
	replacer *strings.Replacer
	forms    map[byte][]string // by the first byte, the longest first
	longest  int
}

// New returns a Masker of values. The lines of a multi-line value are also masked
// individually, because logs are split into lines.
func New(values ...string) *Masker {
	forms := map[string]bool{}
	for _, value := range values {
		addForms(forms, value)
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= minEncoded {
				addForms(forms, line)
			}
		}
	}
	if len(forms) == 0 {
		return &Masker{}
	}
	sorted := make([]string, 0, len(forms))
	for form := range forms {
		sorted = append(sorted, form)
	}
	// The longest first: a value that contains another is replaced whole.
	slices.SortFunc(sorted, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(sorted))
	byFirst := map[byte][]string{}
	for _, form := range sorted {
		pairs = append(pairs, form, Mark)
		byFirst[form[0]] = append(byFirst[form[0]], form)
	}
	return &Masker{replacer: strings.NewReplacer(pairs...), forms: byFirst, longest: len(sorted[0])}
}

// Empty reports whether m replaces nothing.
func (m *Masker) Empty() bool { return m == nil || m.replacer == nil }

// Longest returns the length in bytes of the longest search term: that much of the end
// of a piece may be the start of a secret.
func (m *Masker) Longest() int {
	if m == nil {
		return 0
	}
	return m.longest
}

// Text returns text without the values.
func (m *Masker) Text(text string) string {
	if m.Empty() || len(text) < MinLength {
		return text
	}
	return m.replacer.Replace(text)
}

// addForms adds value and its encodings, in pieces when it is long.
func addForms(forms map[string]bool, value string) {
	if len(value) < MinLength {
		return
	}
	for len(value) >= 2*segment {
		n := segment
		for n > segment-utf8.UTFMax && !utf8.RuneStart(value[n]) { // do not split a character
			n--
		}
		addPiece(forms, value[:n])
		value = value[n:]
	}
	addPiece(forms, value)
}

func addPiece(forms map[string]bool, piece string) {
	forms[piece] = true
	add := func(form string) {
		if len(form) >= minEncoded {
			forms[form] = true
		}
	}
	add(url.QueryEscape(piece))
	add(url.PathEscape(piece))
	add(strings.TrimPrefix(url.UserPassword("", piece).String(), ":"))
	add(strings.ReplaceAll(url.QueryEscape(piece), "+", "%20"))
	add(lowerEscapes(url.QueryEscape(piece)))
	lower := hex.EncodeToString([]byte(piece))
	add(lower)
	add(strings.ToUpper(lower))
	for _, form := range jsonForms(piece) {
		add(form)
	}
	for _, form := range printedForms(piece) {
		add(form)
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			add(base64At(encoding, piece, shift))
		}
	}
}

// jsonForms returns piece inside a JSON string, with and without HTML escapes, and the
// same encoded twice, as in JSON within JSON.
func jsonForms(piece string) []string {
	var plain strings.Builder
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(piece); err != nil {
		return nil
	}
	once := unquoted(strings.TrimSpace(plain.String()))
	html, err := json.Marshal(piece)
	if err != nil {
		return nil
	}
	forms := []string{once, unquoted(string(html))}
	for _, form := range slices.Clone(forms) {
		twice, err := json.Marshal(form)
		if err != nil {
			return nil
		}
		forms = append(forms, unquoted(string(twice)))
	}
	return forms
}

func unquoted(text string) string { return text[1 : len(text)-1] }

// lowerEscapes converts percent escapes to lower case, which some programs use.
func lowerEscapes(text string) string {
	b := []byte(text)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
			i += 2
		}
	}
	return string(b)
}

// base64At returns the part of the base64 of any text with piece at an offset of shift
// modulo 3 that depends only on piece.
func base64At(encoding *base64.Encoding, piece string, shift int) string {
	text := encoding.EncodeToString(append(make([]byte, shift), piece...))
	head := 0
	if shift > 0 {
		head = shift + 1 // characters with bits of the preceding text
	}
	if (shift+len(piece))%3 != 0 {
		text = text[:len(text)-1] // its last bits belong to the following text
	}
	if head >= len(text) {
		return ""
	}
	return text[head:]
}
