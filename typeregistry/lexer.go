package typeregistry

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

type tokenKind int

const (
	endToken tokenKind = iota
	nameToken
	numberToken
	stringToken
	markToken // one character of punctuation
)

type token struct {
	kind     tokenKind
	text     string // the name, number or mark as written; the string decoded
	location location
}

// is reports whether the token is the mark m.
func (t token) is(m string) bool { return t.kind == markToken && t.text == m }

func (t token) describe() string {
	if t.kind == endToken {
		return "the end"
	}
	return quote(t.text)
}

// lex splits an expression into tokens, the last one endToken.
func lex(src string) ([]token, error) {
	l := lexer{src: src, column: 1}
	if len(src) > maxExpression {
		return nil, location{column: 1}.errorf("the expression has %d bytes; at most %d are allowed", len(src), maxExpression)
	}
	if !utf8.ValidString(src) {
		return nil, location{column: 1}.errorf("the expression is not valid UTF-8")
	}
	var tokens []token
	for {
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		if t.kind == endToken {
			return tokens, nil
		}
	}
}

type lexer struct {
	src    string
	column int
}

// take consumes n bytes and keeps the column.
func (l *lexer) take(n int) string {
	text := l.src[:n]
	l.column += utf8.RuneCountInString(text)
	l.src = l.src[n:]
	return text
}

func (l *lexer) next() (token, error) {
	l.take(len(l.src) - len(strings.TrimLeft(l.src, " \t\r\n")))
	at := location{column: l.column}
	if l.src == "" {
		return token{endToken, "", at}, nil
	}
	switch c := l.src[0]; {
	case nameStart(c):
		return token{nameToken, l.take(prefixLength(l.src, namePart)), at}, nil
	case c == '"' || c == '\'':
		return l.quoted(at)
	case numberPart(c) && c != 'e' && c != 'E':
		n := prefixLength(l.src, numberPart)
		if _, ok := parseDecimal(l.src[:n]); !ok {
			return token{}, at.errorf("%s is not a number", quote(l.src[:n]))
		}
		return token{numberToken, l.take(n), at}, nil
	case strings.IndexByte("<>(){}[],:=?|@", c) >= 0:
		return token{markToken, l.take(1), at}, nil
	}
	r, _ := utf8.DecodeRuneInString(l.src)
	return token{}, at.errorf("the character %s is not expected here", quote(string(r)))
}

// quoted reads a JSON string, which may use single quotes.
func (l *lexer) quoted(at location) (token, error) {
	mark := l.src[0]
	end := 1
	for end < len(l.src) && l.src[end] != mark {
		if l.src[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(l.src) {
		return token{}, at.errorf("the text is not closed; add %c", mark)
	}
	body := l.take(end + 1)
	if mark == '\'' {
		inner := strings.ReplaceAll(body[1:end], `\'`, `'`)
		body = `"` + strings.ReplaceAll(strings.ReplaceAll(inner, `\"`, `"`), `"`, `\"`) + `"`
	}
	var text string
	if err := json.Unmarshal([]byte(body), &text); err != nil {
		return token{}, at.errorf("the text %s has an unknown escape or a line break", quote(body))
	}
	return token{stringToken, text, at}, nil
}

func prefixLength(s string, part func(byte) bool) int {
	n := 0
	for n < len(s) && part(s[n]) {
		n++
	}
	return n
}

func nameStart(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func digit(c byte) bool { return '0' <= c && c <= '9' }

func namePart(c byte) bool { return nameStart(c) || digit(c) || c == '-' }

func numberPart(c byte) bool { return digit(c) || strings.IndexByte("+-.eE", c) >= 0 }

// isName reports whether s can be written as a bare name.
func isName(s string) bool {
	return s != "" && nameStart(s[0]) && prefixLength(s, namePart) == len(s)
}
