package search

import (
	"slices"
	"strings"
)

// Suggestion is a text that can follow at a cursor.
type Suggestion struct {
	Kind  Expected
	Text  string // replaces the typed piece, with the space or the colon behind it
	Label string // without quotes and space
	Help  string
	Field Field // of a name
}

// Suggest returns the names, operators, words and joiners for a cursor, at most limit names. The
// values of a field without words are those of executions, which the caller knows.
func (n *Names) Suggest(c Cursor, limit int) []Suggestion {
	switch c.Expected {
	case WantName:
		return append(n.suggestNames(c.Typed, limit), keywords(c.Typed, WantName, "not", "has:")...)
	case WantOperator:
		return suggestOperators(c.Field)
	case WantValue:
		return suggestWords(c)
	case WantJoiner:
		if c.Listed {
			return []Suggestion{{Kind: WantJoiner, Text: ", ", Label: ",", Help: "Another value"}, {Kind: WantJoiner, Text: ") ", Label: ")", Help: "The end of the list"}}
		}
		list := keywords(c.Typed, WantJoiner, "and", "or")
		if c.Typed != "" {
			list = append(list, n.suggestNames(c.Typed, limit)...)
		}
		return list
	}
	return nil
}

func (n *Names) suggestNames(typed string, limit int) []Suggestion {
	var list []Suggestion
	for _, f := range n.Matching(typed, limit) {
		label := n.Short(f)
		if lower := strings.ToLower(typed); !strings.Contains(strings.ToLower(label), lower) {
			label = f.Path() // the typed text is a part of the full name
		}
		s := Suggestion{Kind: WantName, Text: quotedName(label) + " ", Label: label, Help: f.Help, Field: f}
		if Operators(f)[0] == colon {
			s.Text = quotedName(label) + colon
		}
		list = append(list, s)
	}
	return list
}

// keywords are those that begin with what is typed; of names, only once something is typed.
func keywords(typed string, kind Expected, words ...string) []Suggestion {
	help := map[string]string{
		"not": "Negates the next condition", "has:": "The execution has this name", "and": "Both conditions must match", "or": "At least one condition must match",
	}
	var list []Suggestion
	for _, w := range words {
		if strings.HasPrefix(w, strings.ToLower(typed)) && (typed != "" || kind == WantJoiner) {
			text := w + " "
			if strings.HasSuffix(w, colon) {
				text = w
			}
			list = append(list, Suggestion{Kind: kind, Text: text, Label: w, Help: help[w]})
		}
	}
	return list
}

func suggestOperators(f Field) []Suggestion {
	if f.Name == "" {
		return nil
	}
	meanings := map[string]string{
		"=": "equal to", "!=": "not equal to", ">": "greater than", ">=": "at least", "<": "less than", "<=": "at most",
		"~": "contains", "!~": "does not contain", colon: "is",
	}
	var list []Suggestion
	ops := Operators(f)
	for _, op := range ops {
		if op == colon && len(ops) > 1 { // the same as =
			continue
		}
		text := op + " "
		if op == colon {
			text = colon
		}
		list = append(list, Suggestion{Kind: WantOperator, Text: text, Label: op, Help: meanings[op]})
	}
	if f.isLog() {
		return []Suggestion{{Kind: WantOperator, Text: "~ ", Label: "~", Help: "a line contains"}}
	}
	if slices.Contains(ops, "=") {
		list = append(list, Suggestion{Kind: WantOperator, Text: "in (", Label: "in", Help: "is one of"})
	}
	return list
}

// suggestWords are the words that a fact can have, and common times.
func suggestWords(c Cursor) []Suggestion {
	var list []Suggestion
	word := func(text, help string) {
		if strings.Contains(text, strings.ToLower(c.Typed)) {
			list = append(list, Suggestion{Kind: WantValue, Text: c.AsValue(text), Label: text, Help: help})
		}
	}
	switch f := c.Field; {
	case f.Words != nil:
		for _, w := range f.Words {
			word(w, "")
		}
	case f.Part == Facts && f.Is(Time):
		for _, t := range [][2]string{{"today", "Since midnight UTC today"}, {"yesterday", "Since midnight UTC yesterday"}, {"1h", "One hour ago"}, {"1d", "24 hours ago"}, {"7d", "Seven days ago"}, {"30d", "30 days ago"}} {
			word(t[0], t[1])
		}
	case f.Part == Facts && f.Name == "user":
		word("me", "You")
	}
	return list
}

// AsValue is a value as the query continues with it.
func (c Cursor) AsValue(value string) string {
	if c.Listed {
		return Quote(value)
	}
	return Quote(value) + " "
}
