package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is what a token is.
type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenQuoted
	tokenOperator // one of Op's texts
	tokenOpen
	tokenClose
	tokenComma
)

// token is a piece of a query. From and to are bytes.
type token struct {
	kind     tokenKind
	text     string // without quotes
	from, to int
}

// is reports whether t is a keyword, in any case.
func (t token) is(keyword string) bool {
	return t.kind == tokenWord && strings.EqualFold(t.text, keyword)
}

// lex splits a query into tokens; the last one is its end.
func lex(query string) ([]token, *Error) {
	var tokens []token
	for at := 0; at < len(query); {
		r, size := utf8.DecodeRuneInString(query[at:])
		switch {
		case unicode.IsSpace(r):
			at += size
			continue
		case r == '(' || r == ')' || r == ',':
			kind := map[rune]tokenKind{'(': tokenOpen, ')': tokenClose, ',': tokenComma}[r]
			tokens = append(tokens, token{kind, query[at : at+1], at, at + 1})
		case r == '"' || r == '\'':
			t, err := quoted(query, at)
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, t)
		case strings.ContainsRune(operatorRunes, r):
			end := at + 1
			if end < len(query) && (query[end] == '=' && r != ':' && r != '~' || query[end] == '~' && r == '!') {
				end++
			}
			tokens = append(tokens, token{tokenOperator, query[at:end], at, end})
		default:
			tokens = append(tokens, word(query, at, followsValue(tokens)))
		}
		at = tokens[len(tokens)-1].to
	}
	return append(tokens, token{kind: tokenEnd, from: len(query), to: len(query)}), nil
}

const operatorRunes = "=<>!~:"

// followsValue reports whether the next word is a value: it follows an operator. A value may
// contain a colon, as in 12:30 or s3://bucket.
func followsValue(tokens []token) bool {
	return len(tokens) > 0 && tokens[len(tokens)-1].kind == tokenOperator
}

// word returns the word that begins at from.
func word(query string, from int, value bool) token {
	end := from
	for end < len(query) {
		r, size := utf8.DecodeRuneInString(query[end:])
		if unicode.IsSpace(r) || strings.ContainsRune(`(),"'`, r) {
			break
		}
		if strings.ContainsRune(operatorRunes, r) && (!value || r != ':') {
			break
		}
		end += size
	}
	return token{tokenWord, query[from:end], from, end}
}

// quoted returns the text between two quotes. A backslash takes the next character as it is.
func quoted(query string, from int) (token, *Error) {
	var text strings.Builder
	for at := from + 1; at < len(query); at++ {
		switch c := query[at]; {
		case c == query[from]:
			return token{tokenQuoted, text.String(), from, at + 1}, nil
		case c == '\\' && at+1 < len(query):
			at++
			text.WriteByte(query[at])
		default:
			text.WriteByte(c)
		}
	}
	return token{}, errorAt(query, from, len(query), "The quoted text is not closed. Add %c at its end.", query[from])
}
