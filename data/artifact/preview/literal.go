package preview

import (
	"strconv"
	"strings"
)

// literal reads a Python literal: the header of a NumPy file. Values are string, int64, bool, nil,
// []any for lists and tuples, and map[string]any.
type literal struct {
	text string
	at   int
}

// literalDepth is how deeply values may be nested.
const literalDepth = 16

func parseLiteral(text string) (any, bool) {
	l := &literal{text: strings.TrimSpace(strings.TrimRight(text, "\x00"))}
	v, ok := l.value(0)
	l.space()
	return v, ok && l.at == len(l.text)
}

func (l *literal) space() {
	for l.at < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.at]) >= 0 {
		l.at++
	}
}

// next consumes a character, if it is the next one.
func (l *literal) next(c byte) bool {
	l.space()
	if l.at < len(l.text) && l.text[l.at] == c {
		l.at++
		return true
	}
	return false
}

func (l *literal) value(depth int) (any, bool) {
	l.space()
	if depth > literalDepth || l.at >= len(l.text) {
		return nil, false
	}
	switch c := l.text[l.at]; {
	case c == '\'' || c == '"':
		return l.quoted(c)
	case c == '(' || c == '[':
		l.at++
		return l.list(depth, map[byte]byte{'(': ')', '[': ']'}[c])
	case c == '{':
		l.at++
		return l.dict(depth)
	}
	end := l.at
	for end < len(l.text) && strings.IndexByte(",)]}: \t\r\n", l.text[end]) < 0 {
		end++
	}
	word := l.text[l.at:end]
	l.at = end
	switch word {
	case "True", "False":
		return word == "True", true
	case "None":
		return nil, true
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(word, "L"), 10, 64)
	return n, err == nil
}

func (l *literal) quoted(quote byte) (any, bool) {
	end := strings.IndexByte(l.text[l.at+1:], quote)
	if end < 0 {
		return nil, false
	}
	text := l.text[l.at+1 : l.at+1+end]
	l.at += end + 2
	return text, !strings.Contains(text, `\`)
}

func (l *literal) list(depth int, end byte) (any, bool) {
	out := []any{}
	for !l.next(end) {
		v, ok := l.value(depth + 1)
		if !ok {
			return nil, false
		}
		out = append(out, v)
		if !l.next(',') {
			return out, l.next(end)
		}
	}
	return out, true
}

func (l *literal) dict(depth int) (any, bool) {
	out := map[string]any{}
	for !l.next('}') {
		key, ok := l.value(depth + 1)
		name, isText := key.(string)
		if !ok || !isText || !l.next(':') {
			return nil, false
		}
		v, ok := l.value(depth + 1)
		if !ok {
			return nil, false
		}
		out[name] = v
		if !l.next(',') {
			return out, l.next('}')
		}
	}
	return out, true
}
