package pickle

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDepth is the depth at which nested values are cut.
const maxDepth = 40

// Text is a value as Python prints it, cut to about limit bytes: cut reports whether it was.
func Text(v any, limit int) (text string, cut bool) {
	p := printer{limit: limit}
	p.value(v, 0)
	return p.out.String(), p.cut
}

type printer struct {
	out   strings.Builder
	limit int
	cut   bool
}

// full reports whether the text has its size, and ends it.
func (p *printer) full() bool {
	if p.cut {
		return true
	}
	if p.out.Len() >= p.limit {
		p.out.WriteString("…")
		p.cut = true
	}
	return p.cut
}

func (p *printer) value(v any, depth int) {
	if p.full() {
		return
	}
	if depth > maxDepth {
		p.out.WriteString("…")
		p.cut = true
		return
	}
	switch v := v.(type) {
	case nil:
		p.out.WriteString("None")
	case bool:
		p.out.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case int64:
		p.out.WriteString(strconv.FormatInt(v, 10))
	case *big.Int:
		p.out.WriteString(v.String())
	case float64:
		p.out.WriteString(floatText(v))
	case string:
		p.quote(v)
	case Bytes:
		p.out.WriteString("b")
		p.bytes(v)
	case Call:
		p.out.WriteString(string(v))
	case *List:
		p.items("[", "]", v.Items, depth)
	case Tuple:
		p.items("(", map[bool]string{true: ",)", false: ")"}[len(v) == 1], v, depth)
	case *Set:
		open, end := "{", "}"
		if v.Frozen {
			open, end = "frozenset({", "})"
		}
		if len(v.Items) == 0 {
			open, end = map[bool]string{true: "frozenset(", false: "set("}[v.Frozen], ")"
		}
		p.items(open, end, v.Items, depth)
	case *Dict:
		p.dict(v, depth)
	default:
		fmt.Fprintf(&p.out, "<%T>", v)
	}
}

func (p *printer) items(open, end string, items []any, depth int) {
	p.out.WriteString(open)
	for i, item := range items {
		if i > 0 {
			p.out.WriteString(", ")
		}
		if p.value(item, depth+1); p.cut {
			return
		}
	}
	p.out.WriteString(end)
}

func (p *printer) dict(d *Dict, depth int) {
	p.out.WriteString("{")
	for i := range d.Keys {
		if i > 0 {
			p.out.WriteString(", ")
		}
		p.value(d.Keys[i], depth+1)
		if p.cut {
			return
		}
		p.out.WriteString(": ")
		p.value(d.Values[i], depth+1)
		if p.cut {
			return
		}
	}
	p.out.WriteString("}")
}

// floatText is a float as Python prints it.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+")
	}
	size := math.Abs(f)
	if size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// quote writes a text in the quotes that Python chooses.
func (p *printer) quote(s string) {
	quote := '\''
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		quote = '"'
	}
	p.out.WriteRune(quote)
	for _, c := range s {
		if p.full() {
			return
		}
		switch {
		case c == quote || c == '\\':
			p.out.WriteRune('\\')
			p.out.WriteRune(c)
		case c == '\n':
			p.out.WriteString(`\n`)
		case c == '\t':
			p.out.WriteString(`\t`)
		case c == '\r':
			p.out.WriteString(`\r`)
		case c == utf8.RuneError || unicode.IsPrint(c):
			p.out.WriteRune(c)
		case c <= 0xff:
			fmt.Fprintf(&p.out, `\x%02x`, c)
		case c <= 0xffff:
			fmt.Fprintf(&p.out, `\u%04x`, c)
		default:
			fmt.Fprintf(&p.out, `\U%08x`, c)
		}
	}
	p.out.WriteRune(quote)
}

func (p *printer) bytes(b Bytes) {
	quote := byte('\'')
	if bytes.IndexByte(b, '\'') >= 0 && bytes.IndexByte(b, '"') < 0 {
		quote = '"'
	}
	p.out.WriteByte(quote)
	for _, c := range b {
		if p.full() {
			return
		}
		switch {
		case c == quote || c == '\\':
			p.out.WriteByte('\\')
			p.out.WriteByte(c)
		case c == '\n':
			p.out.WriteString(`\n`)
		case c == '\t':
			p.out.WriteString(`\t`)
		case c == '\r':
			p.out.WriteString(`\r`)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&p.out, `\x%02x`, c)
		default:
			p.out.WriteByte(c)
		}
	}
	p.out.WriteByte(quote)
}

// Get is the value of a key of a dictionary; nil without it.
func Get(v any, key string) any {
	d, ok := v.(*Dict)
	if !ok {
		return nil
	}
	for i, k := range slices.Backward(d.Keys) {
		if k == any(key) {
			return d.Values[i]
		}
	}
	return nil
}

// Items are the values of a list or a tuple; none of others.
func Items(v any) []any {
	switch v := v.(type) {
	case *List:
		return v.Items
	case Tuple:
		return v
	}
	return nil
}
