package preview

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Filter is a condition on one column.
type Filter struct {
	Column string
	Op     Op
	Value  string
}

// Op is the comparison of a filter.
type Op string

// The comparisons. Contains compares texts without regard to case.
const (
	Equal      Op = "eq"
	NotEqual   Op = "ne"
	Less       Op = "lt"
	AtMost     Op = "le"
	Greater    Op = "gt"
	AtLeast    Op = "ge"
	Contains   Op = "contains"
	IsNull     Op = "null"
	IsNotNull  Op = "not_null"
	maxFilters    = 20
)

// Ops are all comparisons, as pages offer them.
func Ops() []Op {
	return []Op{Equal, NotEqual, Less, AtMost, Greater, AtLeast, Contains, IsNull, IsNotNull}
}

// Sign is the comparison as users write it.
func (o Op) Sign() string {
	switch o {
	case Equal:
		return "="
	case NotEqual:
		return "≠"
	case Less:
		return "<"
	case AtMost:
		return "≤"
	case Greater:
		return ">"
	case AtLeast:
		return "≥"
	case IsNull:
		return "is empty"
	case IsNotNull:
		return "is not empty"
	}
	return string(o)
}

// unary reports whether the comparison needs no value.
func (o Op) unary() bool { return o == IsNull || o == IsNotNull }

// String is the filter in an address: the operator, the column with its length, and the value.
func (f Filter) String() string {
	return fmt.Sprintf("%s:%s:%s", f.Op, strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(f.Column), f.Value)
}

// ParseFilters reads filters of the form operator:column:value. A colon or backslash in the name
// of a column has a backslash before it.
func ParseFilters(texts []string) ([]Filter, error) {
	if len(texts) > maxFilters {
		return nil, bad("filter: there are %d filters; at most %d are allowed.", len(texts), maxFilters)
	}
	var out []Filter
	for _, text := range texts {
		op, rest, _ := strings.Cut(text, ":")
		f := Filter{Op: Op(op)}
		var name strings.Builder
		for i := 0; i < len(rest); i++ {
			if rest[i] == ':' {
				f.Value = rest[i+1:]
				break
			}
			if rest[i] == '\\' && i+1 < len(rest) {
				i++
			}
			name.WriteByte(rest[i])
		}
		f.Column = name.String()
		if !slices.Contains(Ops(), f.Op) || f.Column == "" {
			return nil, bad("filter: %q is not a filter. Write operator:column:value, such as ge:accuracy:0.9. The operators are %s.", text, opNames())
		}
		out = append(out, f)
	}
	return out, nil
}

func opNames() string {
	var names []string
	for _, o := range Ops() {
		names = append(names, string(o))
	}
	return strings.Join(names, ", ")
}

// columnFilter is a filter whose value has the type of its column.
type columnFilter struct {
	at   int // index of the column in a row
	op   Op
	want any
	text string // of Contains, in lower case
}

func (f Filter) compile(at int, t Type) (columnFilter, error) {
	c := columnFilter{at: at, op: f.Op}
	switch {
	case f.Op.unary():
		return c, nil
	case f.Op == Contains:
		c.text = strings.ToLower(f.Value)
		return c, nil
	}
	value := strings.TrimSpace(f.Value)
	var err error
	switch t {
	case Integer, Float:
		if n, bad := strconv.ParseInt(value, 10, 64); bad == nil {
			c.want = n
		} else {
			c.want, err = strconv.ParseFloat(value, 64)
		}
	case Boolean:
		c.want, err = strconv.ParseBool(value)
	case Date, Datetime:
		c.want, err = parseTime(value)
	default:
		c.want = f.Value
	}
	if err != nil {
		return c, bad("filter: %q is not a valid value for column %s of type %s.", f.Value, f.Column, t)
	}
	return c, nil
}

func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, bad("%q is not a date.", text)
}

// match compares a value. A null matches only null and "not equal".
func (f columnFilter) match(v any) bool {
	switch f.op {
	case IsNull:
		return v == nil
	case IsNotNull:
		return v != nil
	case Contains:
		return v != nil && strings.Contains(strings.ToLower(Text(v)), f.text)
	}
	if rankOf(v) != rankOf(f.want) || rankOf(v) == rankNone {
		return f.op == NotEqual
	}
	c := compareSame(v, f.want)
	switch f.op {
	case Equal:
		return c == 0
	case NotEqual:
		return c != 0
	case Less:
		return c < 0
	case AtMost:
		return c <= 0
	case Greater:
		return c > 0
	}
	return c >= 0
}

// Text is a value as a cell shows it; null is "".
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		if v.Hour() == 0 && v.Minute() == 0 && v.Second() == 0 && v.Nanosecond() == 0 {
			return v.Format(time.DateOnly)
		}
		return v.Format("2006-01-02 15:04:05.999999999")
	}
	return fmt.Sprint(v)
}
