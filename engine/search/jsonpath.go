package search

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// JSONPath returns a condition as a predicate of SQL/JSON, for a document with the facts by their
// names and the metadata under "metadata". texts are the facts in which a word without a field is
// searched. A comparison with a value that the document lacks, or that has another type, is false, so
// its negation is true.
func JSONPath(e Expr, texts []string) string {
	switch e := e.(type) {
	case And:
		return joined([]Expr(e), " && ", "(1 == 1)", texts)
	case Or:
		return joined([]Expr(e), " || ", "(1 == 0)", texts)
	case Not:
		return "(!" + JSONPath(e.Of, texts) + ")"
	case Text:
		parts := make([]string, len(texts))
		for i, fact := range texts {
			parts[i] = pathContains("$."+literal(fact), string(e))
		}
		return definite(strings.Join(parts, " || "))
	case Compare:
		return compared(e)
	}
	return "(1 == 0)"
}

func joined(list []Expr, by, none string, texts []string) string {
	if len(list) == 0 {
		return none
	}
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = JSONPath(e, texts)
	}
	return "(" + strings.Join(parts, by) + ")"
}

// literal is a text as SQL/JSON writes it.
func literal(text string) string {
	raw, _ := json.Marshal(strings.ReplaceAll(text, "\x00", "")) //nolint:errchkjson // a text; PostgreSQL stores no NUL
	return string(raw)
}

// definite is a predicate that is false where it would be unknown, as with a value of another type.
// Each comparison is definite by itself, so that a negation writes its operand only once.
func definite(predicate string) string {
	return "((" + predicate + ") && !((" + predicate + ") is unknown))"
}

func pathContains(path, text string) string {
	return "(" + path + " like_regex " + literal(text) + ` flag "iq")`
}

func compared(c Compare) string {
	steps := []string{"$"}
	for part := range strings.SplitSeq(c.Field.Path(), ".") {
		steps = append(steps, literal(part))
	}
	path := strings.Join(steps, ".")
	if c.Op == Has {
		return "(exists(" + path + "))"
	}
	parts := make([]string, len(c.Values))
	for i, v := range c.Values {
		parts[i] = comparedWith(path, c.Op, v)
	}
	return definite(strings.Join(parts, " || "))
}

func comparedWith(path string, op Op, v Value) string {
	operator := string(op)
	if op == Equal {
		operator = doubleSet
	}
	switch {
	case op == Contains:
		return pathContains(path, v.Text)
	case op == Lacks:
		return "(exists(" + path + ") && !" + pathContains(path, v.Text) + ")"
	case op == Differs: // of a list, no entry equals the value
		return "(exists(" + path + ") && !(" + comparedWith(path, Equal, v) + "))"
	case v.Type == Time:
		return path + " " + operator + " " + number(float64(v.Time.UnixMicro())/1e6)
	case v.Type == Number || v.Type == Span:
		return path + " " + operator + " " + number(v.Number)
	case v.Text == "true" || v.Text == "false":
		return "(" + path + " " + operator + " " + v.Text + " || " + path + " " + operator + " " + literal(v.Text) + ")"
	}
	return path + " " + operator + " " + literal(v.Text)
}

func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "1e400"
	case math.IsInf(v, -1):
		return "-1e400"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
