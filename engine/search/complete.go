package search

import (
	"cmp"
	"slices"
	"strings"
)

// Expected is what a query lacks at a position.
type Expected string

// What can be completed.
const (
	WantName     Expected = "name"
	WantOperator Expected = "operator"
	WantValue    Expected = "value"
	WantJoiner   Expected = "joiner"
)

// Cursor is what a reader types at the end of a part of a query.
type Cursor struct {
	Expected Expected
	From     int    // byte at which the typed piece begins
	Typed    string // of the piece so far
	Field    Field  // whose operator or value is wanted
	Listed   bool   // the value or the joiner is in the list of "name in (a, b)"
}

// At returns what is wanted at the end of before, the query up to the reader's cursor.
func At(before string, names *Names) Cursor {
	tokens, failed := lex(before)
	if failed != nil { // a quoted text that has not ended
		from := byteOf(before, failed.Column)
		c := walk(tokensOf(before[:from]), names)
		c.From, c.Typed = from, before[from+1:]
		return c
	}
	tokens = tokens[:len(tokens)-1]
	typed := token{from: len(before), to: len(before)}
	if n := len(tokens); n > 0 && tokens[n-1].to == len(before) && (tokens[n-1].kind == tokenWord || tokens[n-1].kind == tokenQuoted) {
		typed, tokens = tokens[n-1], tokens[:n-1]
	}
	c := walk(tokens, names)
	c.From, c.Typed = typed.from, typed.text
	if c.Expected == WantOperator && typed.text != "" { // two words: the second begins a condition
		c.Expected, c.Field = WantName, Field{}
	}
	return c
}

// byteOf returns the byte at which the character of a column begins.
func byteOf(text string, column int) int {
	for at := range text {
		if column--; column == 0 {
			return at
		}
	}
	return len(text)
}

func tokensOf(text string) []token {
	tokens, failed := lex(text)
	if failed != nil {
		return nil
	}
	return tokens[:len(tokens)-1]
}

// walk returns what is wanted behind tokens.
func walk(tokens []token, names *Names) (c Cursor) {
	name, list := token{}, false
	c.Expected = WantName
	defer func() { c.Listed = list }()
	for i, t := range tokens {
		switch {
		case t.kind == tokenOperator:
			c.Expected = WantValue
		case t.kind == tokenOpen:
			list = i > 0 && tokens[i-1].is("in")
			c.Expected = WantName
			if list {
				c.Expected = WantValue
			}
		case t.kind == tokenComma && list:
			c.Expected = WantValue
		case t.kind == tokenClose:
			c.Expected, list = WantJoiner, false
		case c.Expected == WantValue:
			c.Expected = WantJoiner
		case t.is("and") || t.is("or") || t.is("not"):
			c.Expected = WantName
		case t.is("in") && c.Expected == WantOperator:
		default:
			name, c.Expected = t, WantOperator
		}
	}
	if c.Expected == WantOperator || c.Expected == WantValue {
		c.Field, _ = names.Find(name.text)
		if name.is("has") && c.Expected == WantValue {
			c.Expected, c.Field = WantName, Field{}
		}
	}
	return c
}

// Matching returns the fields whose name begins with typed, then those that contain it, at most
// limit.
func (n *Names) Matching(typed string, limit int) []Field {
	typed = strings.ToLower(typed)
	base, stat := typed, Stat("")
	for _, s := range []Stat{Least, Most, BestOne} {
		if cut, found := strings.CutSuffix(typed, "."+string(s)); found {
			base, stat = cut, s
		}
	}
	type match struct {
		field Field
		rank  int
	}
	var list []match
	for _, f := range n.fields {
		if rank := rankOf(f, base); rank >= 0 {
			if stat != "" && f.Part == Metrics {
				f.Stat = stat
			}
			list = append(list, match{f, rank})
		}
	}
	slices.SortStableFunc(list, func(a, b match) int { return cmp.Compare(a.rank, b.rank) })
	fields := make([]Field, 0, min(limit, len(list)))
	for _, m := range list[:min(limit, len(list))] {
		fields = append(fields, m.field)
	}
	return fields
}

// rankOf is less for better matches; -1 for none.
func rankOf(f Field, typed string) int {
	name, path := strings.ToLower(f.Name), strings.ToLower(f.Path())
	switch {
	case strings.HasPrefix(name, typed):
		return 0
	case strings.HasPrefix(path, typed):
		return 1
	case strings.Contains(name, "."+typed):
		return 2
	case strings.Contains(path, typed):
		return 3
	}
	return -1
}

// Operators returns the operators that a field can be compared with.
func Operators(f Field) []string {
	switch {
	case f.Part == Facts && (f.Name == "since" || f.Name == "until"):
		return []string{":"}
	case f.Words != nil || f.byEnds():
		return []string{":", "=", "!="}
	case f.isLog():
		return []string{"~"}
	case f.Part == Facts && f.Is(String):
		return []string{":", "=", "!=", "~", "!~"}
	case f.Is(Time):
		return []string{"<", ">", "<=", ">="}
	case f.Is(Number) || f.Is(Span):
		return []string{">", ">=", "<", "<=", "=", "!="}
	}
	return []string{"=", "!=", "~", "!~"}
}

// Quote returns a value as a query writes it.
func Quote(value string) string {
	plain := value != "" && !strings.ContainsAny(value, " \t\n\r()\"',=<>!~\\")
	if plain {
		tokens, failed := lex("x=" + value)
		plain = failed == nil && len(tokens) == 4 && tokens[2].text == value
	}
	if plain {
		return value
	}
	return quote(value)
}

// QuoteText is Quote for a text, which has quotes if it could be read as a number.
func QuoteText(value string) string {
	if _, number := numberOf(token{kind: tokenWord, text: value}); number {
		return quote(value)
	}
	return Quote(value)
}

func quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}
