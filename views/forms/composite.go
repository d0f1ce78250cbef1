package forms

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// nestedDetails is the depth from which structs are collapsed.
const nestedDetails = 2

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
func (c Control) Rows() []Row {
	numbers := c.form.rows[c.Name]
	if !c.form.has(c.Name) && c.Type.Params.MinItems != nil && !c.Optional {
		for i := range *c.Type.Params.MinItems {
			numbers = append(numbers, i)
		}
	}
	rows := make([]Row, len(numbers))
	for i, n := range numbers {
		rows[i] = c.row(strconv.Itoa(n), i)
		rows[i].First, rows[i].Last = i == 0, i == len(numbers)-1
	}
	return rows
}

// Next is the number of the next row: row numbers are never reused.
func (c Control) Next() int {
	numbers := c.form.rows[c.Name]
	if len(numbers) == 0 {
		return len(c.Rows())
	}
	return numbers[len(numbers)-1] + 1
}

// Blank is the template row that JavaScript copies to add a row.
func (c Control) Blank() Row {
	c.form = c.form.template()
	token := c.Token()
	c.template++
	return c.row(token, 0)
}

// Token is the placeholder of the row number in the names and URLs of Blank.
func (c Control) Token() string { return "--row" + strconv.Itoa(c.template) + "--" }

func (c Control) row(segment string, position int) Row {
	name := c.Name + "." + segment
	row := Row{Number: position + 1, Name: name}
	if c.Type.Kind != typeregistry.KindList {
		return c.mapRow(row, name)
	}
	row.Value = c.of(c.Type.Elem, name, c.Path+"."+strconv.Itoa(position), InitialOf(c.Type.Elem))
	row.Value.Bare = true
	row.Value.at, row.Value.source, row.Value.from = c.at+".*", c.source, c.from
	row.Value.Label = fmt.Sprintf("%s, entry %d", c.Label, row.Number)
	if strings.HasPrefix(segment, "--") {
		row.Value.Label = c.Label + ", new entry"
	}
	return row
}

func (c Control) mapRow(row Row, name string) Row {
	key := c.form.cfg.Values.Get(name + ".$key")
	path := c.Path + "." + key
	if c.repeated(key, row.Number) { // the message belongs to the second entry
		c.form = c.form.quiet()
	}
	row.Key = c.of(builtin(typeregistry.KindString), name+".$key", path+".$key", nil)
	row.Key.Bare = true
	row.Key.Label = fmt.Sprintf("%s, key %d", c.Label, row.Number)
	elem := valueType(c.Type)
	row.Value = c.of(elem, name+".$value", path, InitialOf(elem))
	row.Value.at = c.at + ".*"
	row.Value.Bare = true
	row.Value.Label = fmt.Sprintf("%s, value %d", c.Label, row.Number)
	return row
}

// repeated reports whether an entry after the first few has the same key.
func (c Control) repeated(key string, after int) bool {
	numbers := c.form.rows[c.Name]
	for _, n := range numbers[min(after, len(numbers)):] {
		if c.sub(strconv.Itoa(n)+".$key") == key {
			return true
		}
	}
	return false
}

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

// Full reports whether the list has its maximum length.
func (c Control) Full() bool {
	return c.Type.Params.MaxItems != nil && len(c.form.rows[c.Name]) >= *c.Type.Params.MaxItems
}

// Members returns the controls of the fields of a Struct or HyperparameterSet.
func (c Control) Members() []Control {
	fields := ordered(c.Type.Fields)
	out := make([]Control, 0, len(fields))
	for _, field := range fields {
		m := c.child(field, c.Name+"."+field.Name, c.Path+"."+field.Name)
		m.Depth = c.Depth + 1
		out = append(out, m)
	}
	return out
}

// Folded reports whether the members are collapsed.
func (c Control) Folded() bool { return c.Depth >= nestedDetails }

// Unfolded reports whether the collapsed members start expanded.
func (c Control) Unfolded() bool { return c.hasErrors() || len(c.Carried()) > 0 }

// Alternative is one variant of a union.
type Alternative struct {
	Tag    string
	Number int // from 1
	Chosen bool
	ID     string // of the radio button
	Value  Control
	Empty  bool // a struct without members: selecting it is enough
}

// Alternatives returns the variants; each keeps its submitted values, selected or not.
func (c Control) Alternatives() []Alternative {
	chosen := c.sub("$type")
	out := make([]Alternative, len(c.Type.Variants))
	for i, v := range c.Type.Variants {
		path := c.Path
		if v.Type.Kind != typeregistry.KindStruct && v.Type.Kind != typeregistry.KindHyperparam {
			path += ".value"
		}
		value := c.of(v.Type, c.Name+"."+v.Tag, path, InitialOf(v.Type))
		value.Bare = true
		value.Label = c.Label + ", " + v.Tag
		value.at = joinPath(c.at, v.Tag)
		if v.Tag != chosen {
			value.form = value.form.quiet()
		}
		out[i] = Alternative{
			Tag: v.Tag, Number: i + 1, Chosen: v.Tag == chosen, ID: idOf(c.Name + ".$type." + v.Tag), Value: value,
			Empty: v.Type.Kind == typeregistry.KindStruct && len(v.Type.Fields) == 0,
		}
	}
	return out
}

// Switched reports whether an optional value with several controls needs a checkbox that
// enables it.
func (c Control) Switched() bool { return c.Optional && c.Type.IsComposite() }

// Given reports whether that checkbox is checked: it was submitted so, or there is a value.
func (c Control) Given() bool {
	if present := c.form.has(c.Name + ".$set"); present || c.Declared.Kind == typeregistry.KindOptional {
		return c.sub("$set") == "1"
	}
	return c.form.has(c.Name)
}

// InitialOf is the initial value of type t: the defaults of its members, nil for members
// without a default.
func InitialOf(t *typeregistry.Type) any {
	if t.Kind != typeregistry.KindStruct && t.Kind != typeregistry.KindHyperparam {
		return nil
	}
	out := map[string]any{}
	for _, f := range t.Fields {
		v := defaultOf(f.Default)
		if v == nil {
			v = InitialOf(f.Type)
		}
		if v != nil {
			out[f.Name] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// manyVariants is the number of variants from which a select replaces the radio buttons.
const manyVariants = 5

// ManyVariants reports whether a select lists the variants.
func (c Control) ManyVariants() bool {
	letters := 0
	for _, v := range c.Type.Variants {
		letters += len(v.Tag) + 3
	}
	return len(c.Type.Variants) >= manyVariants || letters > 2*segmentedLetters
}

// Tokens reports whether a list is shown as tokens, because its entries are enum options.
func (c Control) Tokens() bool {
	return c.Type.Elem.Kind == typeregistry.KindEnum && c.Widget != "rows"
}

// OptionLabel is the label of the selected option.
func (c Control) OptionLabel() string {
	for _, o := range c.Options() {
		if o.Selected {
			return o.Label
		}
	}
	return c.Value()
}

// element is a control for entries in general, used for their type and options.
func (c Control) element() Control { return c.Blank().Value }

// focusedName reports whether the control of name gets the focus.
func (c Control) focusedName(name string) bool { return c.form.cfg.Focus == name && name != "" }

// bare returns the control without a visible label.
func (c Control) bare() Control {
	c.Bare = true
	return c
}

// KindWords describes the type of a hyperparameter: "float, log", "one of 3".
func (c Control) KindWords() string {
	p := c.Type.Params
	words := strings.ToLower(c.Tag())
	if c.Type.Kind == typeregistry.KindEnum {
		words = fmt.Sprintf("one of %d", len(p.Options))
	}
	if p.LogScale {
		words += ", log"
	}
	if limits := strings.TrimSuffix(c.hint(), "."); limits != "" {
		words += ", " + limits
	}
	if c.Optional && c.initial == nil {
		words += ", optional"
	}
	return words
}

// compact returns the control as a member of a struct.
func (c Control) compact() Control {
	c.Compact = true
	return c
}

// HyperSize is the number of parameters.
func (c Control) HyperSize() string {
	return units.Plural(len(c.Type.Fields), "parameter", "parameters")
}

// HyperChanged is how many parameters differ from their defaults.
func (c Control) HyperChanged() string {
	changed := 0
	for _, m := range c.Members() {
		if m.differs() {
			changed++
		}
	}
	if changed == 0 {
		return "all default"
	}
	return fmt.Sprintf("%d changed", changed)
}
