package search

import (
	"slices"
	"time"
)

// Op compares a field with a value.
type Op string

// The operators. Has needs no value: the execution has the field.
const (
	Equal     Op = "="
	Differs   Op = "!="
	Less      Op = "<"
	AtMost    Op = "<="
	More      Op = ">"
	AtLeast   Op = ">="
	Contains  Op = "~"
	Lacks     Op = "!~"
	Has       Op = "has"
	colon        = ":"  // Equal, or of times the beginning or the end of a span
	doubleSet    = "==" // Equal, as programmers write it
)

// Expr is a condition: And, Or, Not, Compare or Text.
type Expr interface{ expr() }

// And holds when all of its conditions hold; an empty one always does.
type And []Expr

// Or holds when one of its conditions holds.
type Or []Expr

// Not holds when its condition does not.
type Not struct{ Of Expr }

// Compare holds when the execution has the field and its value compares with one of Values. It
// does not hold for an execution without the field, whatever the operator. Tags are a list: one
// without a tag differs from it.
type Compare struct {
	Field  Field
	Op     Op
	Values []Value // one, or several with Equal
}

// Text holds when the name of the execution or of its workflow contains the text, or when its ID
// begins or ends with it.
type Text string

func (And) expr()     {}
func (Or) expr()      {}
func (Not) expr()     {}
func (Compare) expr() {}
func (Text) expr()    {}

// Value is what a field is compared with: the one that the type of the field wants.
type Value struct {
	Type   Type
	Text   string
	ID     string  // of the user that a text names, if it is known
	Number float64 // of Number, and seconds of Span
	Time   time.Time
}

// Used returns the fields that a condition compares, each once, in the order of the query.
func Used(e Expr) []Field {
	var fields []Field
	seen := map[string]bool{}
	var walk func(Expr)
	walk = func(e Expr) {
		switch e := e.(type) {
		case And:
			for _, of := range e {
				walk(of)
			}
		case Or:
			for _, of := range e {
				walk(of)
			}
		case Not:
			walk(e.Of)
		case Compare:
			if path := e.Field.Path(); !seen[path] {
				seen[path] = true
				fields = append(fields, e.Field)
			}
		}
	}
	walk(e)
	return fields
}

// Selects reports whether a condition selects executions by a word without a field or by one of the
// facts. Excluding executions by a fact does not select any.
func Selects(e Expr, facts ...string) bool {
	switch e := e.(type) {
	case And:
		return slices.ContainsFunc(e, func(of Expr) bool { return Selects(of, facts...) })
	case Or:
		return slices.ContainsFunc(e, func(of Expr) bool { return Selects(of, facts...) })
	case Text:
		return true
	case Compare:
		return e.Field.Part == Facts && e.Op != Differs && e.Op != Lacks && slices.Contains(facts, e.Field.Name)
	}
	return false
}
