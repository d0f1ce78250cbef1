package search

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Record is a thing that Match compares: its values by name. They are float64, string, time.Time or
// []string.
type Record map[string]any

// NewRecordNames returns the names of records, all of which are facts. What is the noun for a record
// in messages, such as "dataset".
func NewRecordNames(what string, records []Record) *Names {
	types := map[string][]Type{}
	for _, r := range records {
		for name, v := range r {
			t := String
			switch v.(type) {
			case float64:
				t = Number
			case time.Time:
				t = Time
			}
			if !slices.Contains(types[name], t) {
				types[name] = append(types[name], t)
			}
		}
	}
	n := &Names{byPath: map[string]int{}, byTail: map[string][]int{}, what: what}
	for name, t := range types {
		slices.Sort(t)
		n.fields = append(n.fields, Field{Part: Facts, Name: name, Types: t})
	}
	slices.SortFunc(n.fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	for i, f := range n.fields {
		n.byPath[f.Name] = i
	}
	return n
}

// QuotedName is a name as a query writes it: with quotes if it has spaces or operators.
func QuotedName(name string) string { return quotedName(name) }

// Match reports whether a record fulfils a condition that was parsed with its names. A text alone is
// searched in all texts of the record.
func (r Record) Match(e Expr) bool {
	switch e := e.(type) {
	case And:
		return !slices.ContainsFunc(e, func(of Expr) bool { return !r.Match(of) })
	case Or:
		return slices.ContainsFunc(e, r.Match)
	case Not:
		return !r.Match(e.Of)
	case Text:
		for _, v := range r {
			if contains(v, string(e)) {
				return true
			}
		}
	case Compare:
		v, has := r[e.Field.Name]
		if !has || e.Op == Has {
			return has
		}
		return slices.ContainsFunc(e.Values, func(with Value) bool { return compares(v, e.Op, with) })
	}
	return false
}

func contains(v any, text string) bool {
	text = strings.ToLower(text)
	switch v := v.(type) {
	case string:
		return strings.Contains(strings.ToLower(v), text)
	case []string:
		return slices.ContainsFunc(v, func(s string) bool { return strings.Contains(strings.ToLower(s), text) })
	case float64:
		return strings.Contains(fmt.Sprint(v), text)
	}
	return false
}

func compares(v any, op Op, with Value) bool {
	switch op {
	case Contains:
		return contains(v, with.Text)
	case Lacks:
		return !contains(v, with.Text)
	}
	switch v := v.(type) {
	case []string:
		return slices.Contains(v, with.Text) == (op == Equal)
	case float64:
		return with.Type == Number && ordered(op, sign(v-with.Number))
	case time.Time:
		return with.Type == Time && ordered(op, v.Compare(with.Time))
	case string:
		return with.Type == String && ordered(op, strings.Compare(v, with.Text))
	}
	return false
}

func sign(f float64) int {
	switch {
	case f < 0:
		return -1
	case f > 0:
		return 1
	}
	return 0
}

// ordered reports whether an operator accepts the order of two values.
func ordered(op Op, order int) bool {
	switch op {
	case Equal:
		return order == 0
	case Differs:
		return order != 0
	case Less:
		return order < 0
	case AtMost:
		return order <= 0
	case More:
		return order > 0
	case AtLeast:
		return order >= 0
	}
	return false
}
