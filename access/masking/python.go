package masking

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf16"
)

// printedForms returns the forms of piece in URLs, in JSON, in Python literals and in
// HTML. Most tasks are Python, so the forms are those of its standard library:
// urllib.parse.quote, json.dumps, repr, ascii and html.escape.
func printedForms(piece string) []string {
	quoted := strings.ReplaceAll(url.QueryEscape(piece), "+", "%20")
	slashes := strings.ReplaceAll(quoted, "%2F", "/") // as quote does by default
	dumped := dumps(piece)
	forms := []string{slashes, lowerEscapes(slashes), lowerEscapes(quoted), dumped, dumps(dumped)}
	for _, printable := range []func(rune) bool{unicode.IsPrint, isASCII} {
		literal := repr(piece, printable)
		forms = append(forms, literal, strings.ReplaceAll(literal, "'", `\'`))
	}
	forms = append(forms, reprBytes(piece), strings.ReplaceAll(reprBytes(piece), "'", `\'`))
	entities := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(piece)
	return append(forms, entities,
		strings.NewReplacer(`"`, "&quot;", "'", "&#x27;").Replace(entities), // html.escape
		strings.NewReplacer(`"`, "&#34;", "'", "&#39;").Replace(entities),   // html/template, templ, Jinja
		strings.NewReplacer(`"`, "&quot;", "'", "&#39;").Replace(entities))
}

func isASCII(r rune) bool { return r >= ' ' && r <= '~' }

// dumps returns text within a string of json.dumps, which writes only ASCII.
func dumps(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case isASCII(r):
			b.WriteRune(r)
		case shortEscape("\b\f\n\r\t", r):
			b.WriteString(escapeOf(r))
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
	}
	return b.String()
}

// repr returns text within a Python literal, without the escape of single quotes, which
// depends on the rest of the text.
func repr(text string, printable func(rune) bool) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case printable(r):
			b.WriteRune(r)
		case shortEscape("\n\r\t", r):
			b.WriteString(escapeOf(r))
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// reprBytes returns the UTF-8 of text within a bytes literal.
func reprBytes(text string) string {
	units := make([]rune, len(text))
	for i := range len(text) {
		units[i] = rune(text[i])
	}
	return repr(string(units), isASCII)
}

func shortEscape(among string, r rune) bool { return strings.ContainsRune(among, r) }

// escapeOf returns the letter escape of a control character.
func escapeOf(r rune) string {
	return map[rune]string{'\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}[r]
}
