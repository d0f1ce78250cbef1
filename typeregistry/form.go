package typeregistry

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Form is a submitted form: the text controls, and the files uploaded before decoding,
// by the name of their control.
//
// Controls are named by path: fields "p.name", list rows "p.0", map rows
// "p.0.$key" and "p.0.$value", the rows of both counted by "p.$n" (missing rows
// are skipped); an optional composite is there when the
// first "p.$set" is "1", and so is one in a field that may be left out; a Union
// says "p.$type" and has the widget of the variant under "p.<Tag>"; a checkbox
// has "p.$bool" alongside it; a DateRange has "p.from" and "p.to"; a DateTime has
// "p" in local time and "p.$zone"; other fields of a Struct are rows below "p.$extra", as of
// a map; features are "p.features", repeated; a
// reference is text in "p" or "p.$ref", an earlier upload JSON in "p.$file".
type Form struct {
	Values url.Values
	Files  map[string]UploadRef
}

// UploadRef names an uploaded file by its bytes.
type UploadRef struct {
	SHA256    string
	Name      string
	Size      int64
	MediaType string
}

// maxRows is the maximum number of rows of one list or map in a form.
const maxRows = 10_000

// formReader reads controls; names are sorted so that a prefix is found quickly.
type formReader struct {
	form     Form
	names    []string
	problems []Problem
}

func newFormReader(f Form) *formReader {
	r := &formReader{form: f}
	for name := range f.Values {
		r.names = append(r.names, name)
	}
	for name := range f.Files {
		r.names = append(r.names, name)
	}
	slices.Sort(r.names)
	return r
}

func (r *formReader) problem(path, message string) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{Path: path, Message: message})
	}
}

// checkNow reports the problems of values that have the same path.
func (r *formReader) checkNow(t *Type, path string, values ...any) {
	c := &checker{}
	for _, v := range values {
		t.normalize(c, path, v)
	}
	for _, p := range c.problems {
		r.problem(p.Path, p.Message)
	}
}

// text returns the control's value without surrounding space, its line breaks as "\n".
func (r *formReader) text(name string) (string, bool) {
	raw, ok := r.raw(name)
	return strings.TrimSpace(raw), ok
}

// raw returns the control's value as typed, its line breaks as "\n".
func (r *formReader) raw(name string) (string, bool) {
	values, ok := r.form.Values[name]
	if !ok || len(values) == 0 {
		return "", false
	}
	return strings.ReplaceAll(values[0], "\r\n", "\n"), true
}

// has reports whether the form has a control called name or below it.
func (r *formReader) has(name string) bool {
	if _, ok := r.form.Values[name]; ok {
		return true
	}
	if _, ok := r.form.Files[name]; ok {
		return true
	}
	i, _ := slices.BinarySearch(r.names, name+".")
	return i < len(r.names) && strings.HasPrefix(r.names[i], name+".")
}

// rows returns the names of the existing rows, in order. counted is false if the form does
// not contain the list.
func (r *formReader) rows(name string) (rows []string, counted bool) {
	text, counted := r.text(name + ".$n")
	n, err := strconv.Atoi(text)
	if !counted || err != nil || n < 0 || n > maxRows {
		n = maxRows
	}
	misses := 0
	for i := 0; i < n && misses < 1000; i++ {
		row := name + "." + strconv.Itoa(i)
		if !r.has(row) {
			misses++
			continue
		}
		misses = 0
		rows = append(rows, row)
	}
	return rows, counted || len(rows) > 0
}

// DecodeForm reads the value whose controls are named path. present is false if the form
// has no such controls. Invalid input stays as entered, for Check to reject; problems are
// those that only the form can detect.
func (t *Type) DecodeForm(f Form, path string) (v any, present bool, problems []Problem) {
	r := newFormReader(f)
	v, present = t.impl.decode(r, t, path, "")
	return v, present, r.problems
}

// EncodeForm returns the controls for v under path: the inverse of DecodeForm, to prefill
// a form. It accepts invalid values, too.
func (t *Type) EncodeForm(v any, path string) url.Values {
	out := url.Values{}
	t.impl.encode(t, Plain(v), path, out)
	return out
}

// DecodeForm reads the values of all fields from controls named prefix.<field>;
// absent ones are left out. Problem paths start with the field's name.
func (s Schema) DecodeForm(f Form, prefix string) (map[string]any, []Problem) {
	r := newFormReader(f)
	return decodeFields(r, s.Fields, prefix, ""), r.problems
}

// EncodeForm returns the controls for values under prefix, for known fields only.
func (s Schema) EncodeForm(values map[string]any, prefix string) url.Values {
	out := url.Values{}
	encodeFields(s.Fields, values, prefix, out)
	return out
}

// Control returns the name of the control in the form f for the value at a problem's
// path: "optimizer.beta_1" → "inputs.optimizer.Adam.beta_1".
func (s Schema) Control(f Form, prefix, path string) string {
	return controlOfFields(newFormReader(f), s.Fields, prefix, strings.Split(path, "."))
}

func decodeFields(r *formReader, fields []Field, name, path string) map[string]any {
	out := map[string]any{}
	for _, f := range fields {
		control := join(name, f.Name)
		if set, present := r.text(control + ".$set"); present && set != "1" && f.Type.Kind != KindOptional {
			continue // an optional field was omitted
		}
		v, present := f.Type.impl.decode(r, f.Type, control, join(path, f.Name))
		if !present {
			if text, cleared := r.text(control); cleared && text == "" && f.Required && f.Default != nil {
				r.problem(join(path, f.Name), sentence("A value is required.", f.Type.impl.hint(f.Type)))
			}
			continue
		}
		out[f.Name] = v
	}
	return out
}

func encodeFields(fields []Field, values map[string]any, name string, out url.Values) {
	for _, f := range fields {
		if v, ok := values[f.Name]; ok && (v != nil || f.Type.Kind == KindOptional) {
			f.Type.impl.encode(f.Type, Plain(v), join(name, f.Name), out)
		}
	}
}

func controlOfFields(r *formReader, fields []Field, name string, segments []string) string {
	if len(segments) == 0 {
		return name
	}
	f, ok := fieldNamed(fields, segments[0])
	if !ok {
		return name
	}
	return f.Type.impl.control(r, f.Type, join(name, f.Name), segments[1:])
}
