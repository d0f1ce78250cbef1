package typeregistry

import (
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/platform/units"
)

// stringKind is String: a line of text, or several with multiline.
type stringKind struct{ single }

func (stringKind) entry() Entry {
	return Entry{Name: "String", Group: "scalar", Summary: "Text with optional limits on length, pattern and format.", Example: `String(max_length=40, pattern="[a-z]+")`}
}

func lengthParams() []parameter {
	return []parameter{
		sizeParam("min_length", "The minimum number of characters. 0 allows an empty text for a required value.", func(p *Params) **int { return &p.MinLength }),
		sizeParam("max_length", "The maximum number of characters.", func(p *Params) **int { return &p.MaxLength }),
	}
}

func (stringKind) params() []parameter {
	return append(lengthParams(),
		textParam("pattern", "A regular expression (RE2) that the text must match completely.", func(p *Params) *string { return &p.Pattern }),
		textParam("format", "email, uri, uuid, hostname, ipv4 or ipv6.", func(p *Params) *string { return &p.Format }),
		boolParam("multiline", "Line breaks are allowed.", func(p *Params) *bool { return &p.Multiline }),
	)
}

func (stringKind) prepare(t *Type) error {
	if _, ok := textFormats()[t.Params.Format]; t.Params.Format != "" && !ok {
		return fmt.Errorf("%s is not a format; use email, uri, uuid, hostname, ipv4 or ipv6", quote(t.Params.Format))
	}
	if t.Params.Pattern != "" {
		re, err := compilePattern(t.Params.Pattern)
		if err != nil {
			return err
		}
		t.pattern = re
	}
	return lengthsInOrder(t)
}

func lengthsInOrder(t *Type) error {
	if p := t.Params; p.MinLength != nil && p.MaxLength != nil && *p.MinLength > *p.MaxLength {
		return fmt.Errorf("min_length %d is more than max_length %d", *p.MinLength, *p.MaxLength)
	}
	return nil
}

func (stringKind) noun(*Type) string { return "a string" }

func (stringKind) hint(t *Type) string {
	p := t.Params
	switch {
	case p.Format != "":
		return "Enter " + textFormats()[p.Format].words + "."
	case p.Pattern != "":
		return "Enter text that matches " + p.Pattern + "."
	}
	return lengthHint(t)
}

func lengthHint(t *Type) string {
	least, most := t.Params.MinLength, t.Params.MaxLength
	switch {
	case least != nil && *least > 0 && most != nil:
		return fmt.Sprintf("Enter %d to %d characters.", *least, *most)
	case most != nil:
		return fmt.Sprintf("Enter up to %s.", units.Plural(*most, "character", "characters"))
	case least != nil && *least > 0:
		return fmt.Sprintf("Enter %s or more.", units.Plural(*least, "character", "characters"))
	}
	return "Enter text."
}

func (k stringKind) normalize(c *checker, t *Type, path string, v any) any {
	s, ok := v.(string)
	if !ok {
		return c.wrong(t, path, v)
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if !t.Params.Multiline && !c.env.Produced && strings.ContainsAny(s, "\n\r") {
		c.problem(path, "The text has a line break. Enter one line.")
		return s
	}
	checkLength(c, t, path, s)
	if t.pattern != nil && !t.pattern.MatchString(s) {
		c.problem(path, quote(s)+" does not match the pattern "+t.Params.Pattern+".")
	}
	if f, ok := textFormats()[t.Params.Format]; ok && !f.valid(s) {
		c.problem(path, quote(s)+" is not "+f.noun+". Enter "+f.words+".")
	}
	return s
}

func checkLength(c *checker, t *Type, path, s string) {
	n := utf8.RuneCountInString(s)
	least, most := t.Params.MinLength, t.Params.MaxLength
	if least != nil && n < *least || most != nil && n > *most {
		c.problem(path, fmt.Sprintf("The text has %s. %s", units.Plural(n, "character", "characters"), lengthHint(t)))
	}
	checkText(c, path, s)
}

func textSchema(t *Type) map[string]any {
	out := map[string]any{"type": "string"}
	if p := t.Params.MinLength; p != nil {
		out["minLength"] = *p
	}
	if p := t.Params.MaxLength; p != nil {
		out["maxLength"] = *p
	}
	return out
}

func (stringKind) jsonSchema(t *Type) map[string]any {
	out := textSchema(t)
	if t.Params.Format != "" {
		out["format"] = t.Params.Format
	}
	if t.Params.Pattern != "" {
		out["pattern"] = "^(?:" + t.Params.Pattern + ")$"
	}
	if !t.Params.Multiline {
		out["allOf"] = []any{map[string]any{"pattern": `^[^\n\r]*$`}}
	}
	return out
}

func (stringKind) ui(t *Type, f *UIField, _ Env) {
	f.MinLength, f.MaxLength, f.Pattern, f.Format, f.Multiline = t.Params.MinLength, t.Params.MaxLength, t.Params.Pattern, t.Params.Format, t.Params.Multiline
	if t.Params.Multiline {
		f.Component = "TextArea"
	}
}

// decode keeps the text as entered; an empty text counts as present.
func (stringKind) decode(r *formReader, _ *Type, name, _ string) (any, bool) {
	text, ok := r.raw(name)
	return text, ok
}

func (stringKind) accept(t, from *Type) error {
	switch from.Kind {
	case KindString, KindText:
		return nil
	case KindEnum:
		for _, o := range from.Params.Options {
			if _, ok := o.Value.(string); !ok {
				return fmt.Errorf("the option %s is not a string", literal(o.Value))
			}
		}
		return nil
	}
	return mismatch(t, from)
}

// textFormat is a named form of text.
type textFormat struct {
	noun, words string
	valid       func(string) bool
}

var hostname = regexp.MustCompile(`^(?i)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)

func textFormats() map[string]textFormat {
	return map[string]textFormat{
		"email": {"an e-mail address", "an address such as ada@example.org", func(s string) bool {
			a, err := mail.ParseAddress(s)
			if err != nil || a.Address != s || a.Name != "" {
				return false
			}
			domain := s[strings.LastIndexByte(s, '@')+1:]
			return hostname.MatchString(domain) && !strings.HasPrefix(s, `"`)
		}},
		"uri": {"a complete URL", "a URL such as https://example.org/data", func(s string) bool {
			u, err := url.Parse(s)
			return err == nil && u.IsAbs() && !strings.ContainsAny(s, " \t\n<>\"{}|\\^`") && isASCII(s)
		}},
		"uuid": {"a UUID", "a UUID such as 01900000-0000-7000-8000-000000000001", func(s string) bool {
			_, err := uuid.Parse(s)
			return err == nil && len(s) == 36
		}},
		"hostname": {"a host name", "a name such as data.example.org", func(s string) bool {
			return len(s) <= 253 && hostname.MatchString(s)
		}},
		"ipv4": {"an IPv4 address", "an address such as 192.0.2.1", func(s string) bool {
			a, err := netip.ParseAddr(s)
			return err == nil && a.Is4()
		}},
		"ipv6": {"an IPv6 address", "an address such as 2001:db8::1", func(s string) bool {
			a, err := netip.ParseAddr(s)
			return err == nil && a.Is6() && a.Zone() == "" && net.ParseIP(s) != nil
		}},
	}
}

func isASCII(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(b byte) bool { return b >= 0x80 })
}

// textKind is Text: a longer text, stored inline.
type textKind struct{ stringKind }

func (textKind) entry() Entry {
	return Entry{Name: "Text", Group: "data", Summary: "A longer text of several lines, such as a prompt or a note.", Example: "Text(max_length=2000)"}
}

func (textKind) params() []parameter {
	return append(lengthParams(), mediaTypesParam("The media type, such as text/markdown."))
}

func (textKind) prepare(t *Type) error { return lengthsInOrder(t) }

func (textKind) normalize(c *checker, t *Type, path string, v any) any {
	s, ok := v.(string)
	if !ok {
		return c.wrong(t, path, v)
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	checkLength(c, t, path, s)
	return s
}

func (textKind) jsonSchema(t *Type) map[string]any { return textSchema(t) }

func (textKind) ui(t *Type, f *UIField, _ Env) {
	f.Component, f.Multiline = "TextArea", true
	f.MinLength, f.MaxLength, f.Accept = t.Params.MinLength, t.Params.MaxLength, t.Params.MediaTypes
}
