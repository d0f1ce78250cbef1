package forms

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/typeregistry"
)

// Buttons that change a form instead of submitting it. The value of each is the name of
// the list, row or control that it changes.
const (
	ButtonAdd    = "$add"
	ButtonRemove = "$remove"
	ButtonUp     = "$up"
	ButtonDown   = "$down"
	ButtonReset  = "$reset"
	ButtonClear  = "$clear"
)

// Edit applies the pressed button in values, if there is one. It returns the changed
// values and the name of the control that gets the focus; it does not modify values.
func Edit(schema typeregistry.Schema, values url.Values) (changed url.Values, focus string, pressed bool) {
	for _, button := range Buttons() {
		name := values.Get(button)
		if name == "" {
			continue
		}
		e := editor{schema: schema, values: maps.Clone(values)}
		delete(e.values, button)
		switch button {
		case ButtonAdd:
			focus = e.add(name)
		case ButtonRemove:
			focus = e.remove(name)
		case ButtonUp:
			focus = e.move(name, -1)
		case ButtonDown:
			focus = e.move(name, 1)
		case ButtonReset:
			e.drop(name)
			focus = name + "." + ButtonReset
		case ButtonClear:
			delete(e.values, name+".$file")
			focus = name
		}
		return e.values, focus, true
	}
	return values, "", false
}

type editor struct {
	schema typeregistry.Schema
	values url.Values
}

func (e *editor) numbers(list string) []int {
	_, rows := index(e.values)
	return rows[list]
}

// add appends a row to list; in a token list, the row has the option of the select.
func (e *editor) add(list string) string {
	numbers := e.numbers(list)
	next := 0
	if len(numbers) > 0 {
		next = numbers[len(numbers)-1] + 1
	}
	row := list + "." + strconv.Itoa(next)
	t := e.typeAt(list)
	e.values.Set(list+".$n", strconv.Itoa(next+1))
	if picked, ok := e.values[list+".$new"]; ok {
		delete(e.values, list+".$new")
		if len(picked) > 0 && picked[0] != "" {
			e.values.Set(row, picked[0])
		}
		return list + "." + ButtonAdd
	}
	e.values.Set(row+".$row", "1")
	if t == nil {
		return row
	}
	if t.Kind == typeregistry.KindList {
		for key, v := range t.Elem.EncodeForm(InitialOf(t.Elem), row) {
			if t.Elem.IsComposite() {
				e.values[key] = v
			}
		}
		return firstControl(t.Elem, row)
	}
	return row + ".$key"
}

// remove deletes a row; the focus moves to its neighbour or to the add button.
func (e *editor) remove(row string) string {
	list, number, ok := cutRow(row)
	if !ok {
		return ""
	}
	numbers := e.numbers(list)
	at := slices.Index(numbers, number)
	e.drop(row)
	numbers = e.numbers(list)
	if len(numbers) == 0 {
		e.values.Set(list+".$n", "0")
	}
	if at < 0 || len(numbers) == 0 {
		return list + "." + ButtonAdd
	}
	return list + "." + strconv.Itoa(numbers[min(at, len(numbers)-1)]) + "." + ButtonRemove
}

// move swaps a row with its neighbour.
func (e *editor) move(row string, by int) string {
	list, number, ok := cutRow(row)
	if !ok {
		return ""
	}
	button := ButtonUp
	if by > 0 {
		button = ButtonDown
	}
	numbers := e.numbers(list)
	at := slices.Index(numbers, number)
	if at < 0 || at+by < 0 || at+by >= len(numbers) {
		return row + "." + button
	}
	other := list + "." + strconv.Itoa(numbers[at+by])
	mine, its := e.take(row), e.take(other)
	e.put(other, mine)
	e.put(row, its)
	if end := at + by; end == 0 { // the pressed button is disabled at the end of the list
		button = ButtonDown
	} else if end == len(numbers)-1 {
		button = ButtonUp
	}
	return other + "." + button
}

// take removes the values at and below name and returns them by the remainder of their names.
func (e *editor) take(name string) map[string][]string {
	out := map[string][]string{}
	for key, v := range e.values {
		if rest, ok := below(key, name); ok {
			out[rest] = v
			delete(e.values, key)
		}
	}
	return out
}

func (e *editor) put(name string, values map[string][]string) {
	for rest, v := range values {
		e.values[name+rest] = v
	}
}

func (e *editor) drop(name string) { e.take(name) }

// below reports whether key is name or below it, and returns the remainder.
func below(key, name string) (string, bool) {
	rest, ok := strings.CutPrefix(key, name)
	return rest, ok && (rest == "" || rest[0] == '.')
}

// cutRow splits the name of a row into its list and its number.
func cutRow(row string) (list string, number int, ok bool) {
	at := strings.LastIndexByte(row, '.')
	if at < 0 {
		return "", 0, false
	}
	number, ok = rowNumber(row[at+1:])
	return row[:at], number, ok
}

// typeAt returns the type of the value of a control by its name, or nil for an unknown
// name.
func (e *editor) typeAt(name string) *typeregistry.Type {
	parts := strings.Split(name, ".")
	if len(parts) < 2 || parts[0] != Prefix {
		return nil
	}
	field, ok := e.schema.Field(parts[1])
	if !ok {
		return nil
	}
	t := field.Type
	for _, segment := range parts[2:] {
		if t = step(withoutOptional(t), segment); t == nil {
			return nil
		}
	}
	return withoutOptional(t)
}

// step follows one segment of a control's name into a type.
func step(t *typeregistry.Type, segment string) *typeregistry.Type {
	switch segment {
	case "$value":
		return t
	case typeregistry.OthersControl:
		return t.Others()
	}
	if _, ok := rowNumber(segment); ok {
		switch t.Kind {
		case typeregistry.KindList:
			return t.Elem
		case typeregistry.KindMap, typeregistry.KindMetrics:
			return valueType(t)
		}
	}
	for _, v := range t.Variants {
		if v.Tag == segment {
			return v.Type
		}
	}
	if f, ok := t.FieldNamed(segment); ok {
		return f.Type
	}
	return nil
}

func withoutOptional(t *typeregistry.Type) *typeregistry.Type {
	for t.Kind == typeregistry.KindOptional {
		t = t.Elem
	}
	return t
}

// firstControl is the name of the first HTML control of a value of type t at name.
func firstControl(t *typeregistry.Type, name string) string {
	t = withoutOptional(t)
	switch t.Kind {
	case typeregistry.KindStruct, typeregistry.KindHyperparam:
		if fields := ordered(t.Fields); len(fields) > 0 {
			return firstControl(fields[0].Type, name+"."+fields[0].Name)
		}
	case typeregistry.KindList, typeregistry.KindMap, typeregistry.KindMetrics:
		return name + "." + ButtonAdd
	}
	return name
}

// Buttons lists the names of the buttons that Edit knows.
func Buttons() []string {
	return []string{ButtonAdd, ButtonRemove, ButtonUp, ButtonDown, ButtonReset, ButtonClear}
}

// TypeAt returns the type of the value of a control by its name, or nil for an unknown
// name.
func TypeAt(schema typeregistry.Schema, name string) *typeregistry.Type {
	return (&editor{schema: schema}).typeAt(name)
}
