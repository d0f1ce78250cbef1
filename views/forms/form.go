// Package forms renders the launch form from the types of a schema: one widget per
// kind, each of which works without JavaScript. A form depends only on the raw values of
// its controls, so it shows an invalid value as the user entered it. The package is pure:
// the caller provides what widgets offer, such as datasets and previews.
package forms

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views/ui"
)

// Prefix is the prefix of the name of every control of a form.
const Prefix = "inputs"

// Problem is one invalid value. Path is the dotted path of the value, beginning with the
// field's name; "" is the form as a whole.
type Problem = typeregistry.Problem

// Choice is one suggestion of a combobox.
type Choice struct {
	Value  string // the submitted value: "name@version" or an artifact's id
	Title  string
	Note   string // the second line: rows, age, accuracy
	Source string // "catalogue" or "artifact"
}

// Offers is the data from services that widgets show.
type Offers struct {
	Choices  map[string][]Choice // by type expression
	Previews map[string]Preview  // by PreviewKey
	Secrets  []ui.Option         // the secrets that the user may use; nil if unknown
	Keeping  bool                // the user may add secrets

	Connections   []Connection // the connections that the user may use; nil if unknown
	NewConnection string       // URL of the form for a new one; "" without permission
}

// PreviewKey names the preview of reference ref for a field of type t.
func PreviewKey(t *typeregistry.Type, ref string) string { return t.String() + "\n" + ref }

// Config is the input of New.
type Config struct {
	Schema    typeregistry.Schema
	Values    url.Values // raw values of the controls; a missing name shows its default
	Problems  []Problem
	Offers    Offers
	Today     time.Time // of the reader, for date buttons and limits
	Now       time.Time // of the server, for rules: a date left empty is the day of the launch
	Focus     string    // name of the control that gets the focus
	Typeahead string    // URL that completes references; "" leaves comboboxes plain
	Upload    string    // URL for background uploads; "" submits files with the form
	Options   string    // URL that lists options of inputs; "" leaves those outside of the schema out

	// Varied are fields that take many values, so the rules that read them say nothing about the form.
	Varied []string
	// Many returns what takes many values for a control, or nil for one that takes one value. Nil: no
	// control takes many.
	Many func(path string) templ.Component
}

// Form is a form ready for rendering. It is immutable.
type Form struct {
	cfg      Config
	names    map[string]bool // every name and every prefix of one that ends at a dot
	rows     map[string][]int
	problems map[string][]string
	states   map[string]typeregistry.State // of fields with rules
}

// New returns the form of cfg.
func New(cfg Config) *Form {
	f := &Form{cfg: cfg, problems: map[string][]string{}}
	f.names, f.rows = index(cfg.Values)
	for _, p := range cfg.Problems {
		f.problems[p.Path] = append(f.problems[p.Path], p.Message)
	}
	if cfg.Schema.HasRules() {
		f.states = cfg.Schema.States(f.shown(), typeregistry.Env{Now: cfg.Now})
		for name := range cfg.Schema.Following(cfg.Varied) {
			if _, ruled := f.states[name]; ruled {
				f.states[name] = typeregistry.State{}
			}
		}
	}
	return f
}

// shown are the values that the form shows: what was submitted, else the defaults.
func (f *Form) shown() map[string]any {
	values, _ := f.cfg.Schema.DecodeForm(typeregistry.Form{Values: f.cfg.Values}, Prefix)
	return values
}

// with returns a copy of the form with other values.
func (f *Form) with(values url.Values) *Form {
	next := *f
	next.cfg.Values = values
	next.names, next.rows = index(values)
	return &next
}

// quiet returns a copy of the form without messages.
func (f *Form) quiet() *Form {
	next := *f
	next.problems = nil
	return &next
}

// template returns a copy of the form without submitted values.
func (f *Form) template() *Form {
	return f.with(nil).quiet()
}

// has reports whether the submitted values contain a control with this name or below it.
func (f *Form) has(name string) bool { return f.names[name] }

// Bounds of the names of controls. No type is nested deeply enough for more, and every level of a
// name costs time in proportion to its length.
const (
	maxSegments = 200
	maxName     = 8 << 10 // bytes
)

// index finds the names in values and the row numbers below each. It skips names beyond the
// bounds, because no control has them.
func index(values url.Values) (names map[string]bool, rows map[string][]int) {
	names, rows = map[string]bool{}, map[string][]int{}
	for key := range values {
		if len(key) > maxName || strings.Count(key, ".") >= maxSegments {
			continue
		}
		end := 0
		for segment := range strings.SplitSeq(key, ".") {
			parent := key[:max(0, end-1)] // without the dot
			prefix := key[:end+len(segment)]
			end += len(segment) + 1
			if names[prefix] {
				continue
			}
			names[prefix] = true
			if n, ok := rowNumber(segment); ok {
				rows[parent] = append(rows[parent], n)
			}
		}
	}
	for _, r := range rows {
		slices.Sort(r)
	}
	return names, rows
}

// rowNumber parses a segment that is a row number.
func rowNumber(segment string) (int, bool) {
	n, err := strconv.Atoi(segment)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == segment
}

// Section is one card of a form.
type Section struct {
	ID       string
	Title    string
	Fields   []Control
	Advanced []Control // collapsed at first
	Hidden   []Control // not shown; submitted as hidden fields
}

// Sections returns the cards in order: sections by their first field, fields by the order
// in their hints and then as declared.
func (f *Form) Sections() []Section {
	var out []Section
	at := map[string]int{}
	for _, field := range ordered(f.cfg.Schema.Fields) {
		title := field.Hints.Section
		if title == "" {
			title = "Inputs"
		}
		i, ok := at[title]
		if !ok {
			i = len(out)
			at[title] = i
			out = append(out, Section{ID: "s-" + slug(title), Title: title})
		}
		c := f.control(field)
		switch {
		case field.Hints.Hidden:
			out[i].Hidden = append(out[i].Hidden, c)
		case field.Hints.Advanced:
			out[i].Advanced = append(out[i].Advanced, c)
		default:
			out[i].Fields = append(out[i].Fields, c)
		}
	}
	return out
}

// Open reports whether the section has visible fields.
func (s Section) Open() bool { return len(s.Fields)+len(s.Advanced) > 0 }

// AdvancedOpen reports whether the advanced fields start expanded, because one has an error or a changed value.
func (s Section) AdvancedOpen() bool {
	return slices.ContainsFunc(s.Advanced, Control.hasErrors)
}

// Controls returns the top-level controls in display order.
func (f *Form) Controls() []Control {
	fields := ordered(f.cfg.Schema.Fields)
	out := make([]Control, len(fields))
	for i, field := range fields {
		out[i] = f.control(field)
	}
	return out
}

func (f *Form) control(field typeregistry.Field) Control {
	c := Control{form: f}.child(field, Prefix+"."+field.Name, field.Name)
	if field.Rules != nil {
		state := f.states[field.Name]
		c.Concealed, c.Demanded, c.rules, c.state = state.Hidden, state.Required, field.Rules, state
	}
	return c
}

// ordered returns fields sorted by their hints' order, the unordered ones last.
func ordered(fields []typeregistry.Field) []typeregistry.Field {
	out := slices.Clone(fields)
	slices.SortStableFunc(out, func(a, b typeregistry.Field) int {
		return orderOf(a) - orderOf(b)
	})
	return out
}

func orderOf(f typeregistry.Field) int {
	if f.Hints.Order == 0 {
		return 1 << 20
	}
	return f.Hints.Order
}

// slug turns a title into an id.
func slug(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, s)
}

// initial is the initial value of a field: its default, with "today" as a date, or the
// defaults of its members.
func (f *Form) initial(field typeregistry.Field) any {
	v := defaultOf(field.Default)
	if v == "today" && field.Type.Kind == typeregistry.KindDate && !f.cfg.Today.IsZero() {
		return f.cfg.Today.Format(time.DateOnly)
	}
	if v == nil {
		return InitialOf(field.Type)
	}
	return v
}

// defaultOf decodes a declared default; nil when there is none.
func defaultOf(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	v, err := typeregistry.DecodeJSON(raw)
	if err != nil {
		return nil // the registry accepts only valid defaults
	}
	return v
}
