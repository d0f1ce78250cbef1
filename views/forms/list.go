package forms

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/typeregistry"
)

// listControl is the control of a List, a Map or Metrics: a row for each entry.
type listControl struct{ c Control }

// Row is one entry of a list or of a map.
type Row struct {
	Number int     // starts at 1
	Name   string  // of the row
	Key    Control // of a map entry
	Value  Control
	First  bool
	Last   bool
}

// Rows returns the submitted entries of a list, or those of its default, or the minimum
// number of empty entries.
func (l listControl) Rows() []Row {
	numbers := l.c.form.rows[l.c.Name]
	if !l.c.form.has(l.c.Name) && l.c.Type.Params.MinItems != nil && !l.c.Optional {
		for i := range *l.c.Type.Params.MinItems {
			numbers = append(numbers, i)
		}
	}
	rows := make([]Row, len(numbers))
	for i, n := range numbers {
		rows[i] = l.row(strconv.Itoa(n), i)
		rows[i].First, rows[i].Last = i == 0, i == len(numbers)-1
	}
	return rows
}

// Next is the number of the next row: row numbers are never reused.
func (l listControl) Next() int {
	numbers := l.c.form.rows[l.c.Name]
	if len(numbers) == 0 {
		return len(l.Rows())
	}
	return numbers[len(numbers)-1] + 1
}

// Blank is the template row that JavaScript copies to add a row.
func (l listControl) Blank() Row {
	l.c.form = l.c.form.template()
	token := l.Token()
	l.c.template++
	return l.row(token, 0)
}

// Token is the placeholder of the row number in the names and URLs of Blank.
func (l listControl) Token() string { return "--row" + strconv.Itoa(l.c.template) + "--" }

func (l listControl) row(segment string, position int) Row {
	name := l.c.Name + "." + segment
	row := Row{Number: position + 1, Name: name}
	if l.c.Type.Kind != typeregistry.KindList {
		return l.mapRow(row, name)
	}
	row.Value = l.c.of(l.c.Type.Elem, name, l.c.Path+"."+strconv.Itoa(position), InitialOf(l.c.Type.Elem))
	row.Value.Bare = true
	row.Value.at, row.Value.source, row.Value.from = l.c.at+".*", l.c.source, l.c.from
	row.Value.Label = fmt.Sprintf("%s, entry %d", l.c.Label, row.Number)
	if strings.HasPrefix(segment, "--") {
		row.Value.Label = l.c.Label + ", new entry"
	}
	return row
}

func (l listControl) mapRow(row Row, name string) Row {
	key := l.c.form.cfg.Values.Get(name + ".$key")
	path := l.c.Path + "." + key
	if l.repeated(key, row.Number) { // the message belongs to the second entry
		l.c.form = l.c.form.quiet()
	}
	row.Key = l.c.of(builtin(typeregistry.KindString), name+".$key", path+".$key", nil)
	row.Key.Bare = true
	row.Key.Label = fmt.Sprintf("%s, key %d", l.c.Label, row.Number)
	elem := valueType(l.c.Type)
	row.Value = l.c.of(elem, name+".$value", path, InitialOf(elem))
	row.Value.at = l.c.at + ".*"
	row.Value.Bare = true
	row.Value.Label = fmt.Sprintf("%s, value %d", l.c.Label, row.Number)
	return row
}

// repeated reports whether an entry after the first few has the same key.
func (l listControl) repeated(key string, after int) bool {
	numbers := l.c.form.rows[l.c.Name]
	for _, n := range numbers[min(after, len(numbers)):] {
		if l.c.sub(strconv.Itoa(n)+".$key") == key {
			return true
		}
	}
	return false
}

// Full reports whether the list has its maximum length.
func (l listControl) Full() bool {
	return l.c.Type.Params.MaxItems != nil && len(l.c.form.rows[l.c.Name]) >= *l.c.Type.Params.MaxItems
}

// Tokens reports whether a list is shown as tokens, because its entries are enum options.
func (l listControl) Tokens() bool {
	return l.c.Type.Elem.Kind == typeregistry.KindEnum && l.c.Widget != "rows"
}

// element is a control for entries in general, used for their type and options.
func (l listControl) element() Control { return l.Blank().Value }

// builtin returns a built-in type without parameters, such as the type of map keys.
func builtin(kind typeregistry.Kind) *typeregistry.Type {
	t, err := typeregistry.Builtin().Parse(string(kind))
	if err != nil {
		panic("forms: " + err.Error()) // the expression is the name of a built-in type
	}
	return t
}

// valueType is the type of the values of a Map, and Float for Metrics.
func valueType(t *typeregistry.Type) *typeregistry.Type {
	if t.Elem == nil {
		return builtin(typeregistry.KindFloat)
	}
	return t.Elem
}
