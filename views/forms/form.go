// Package forms draws the launch form from the types of a schema: one widget per
// kind, and every widget works without a script. What a form shows depends on the
// raw values of its controls alone, so a value that makes no sense comes back as it
// was typed. The package is pure: whatever a widget offers (datasets, previews) is
// handed in.
package forms

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views/ui"
)

// Prefix begins the name of every control of a form.
const Prefix = "inputs"

// Problem is one value at fault. Path is the dotted path of the value, beginning
// with the field's name; "" is the form as a whole.
type Problem = typeregistry.Problem

// Choice is one thing that a combobox offers.
type Choice struct {
	Value  string // what is submitted: "name@version" or an artifact's id
	Title  string
	Note   string // the second line: rows, age, accuracy
	Source string // "catalogue" or "artifact"
}

// Offers is what the services can tell about the values of a form.
type Offers struct {
	Choices  map[string][]Choice // by type expression
	Previews map[string]Preview  // by PreviewKey
	Secrets  []ui.Option         // the secrets that the reader may use; nil when nobody can tell
	Keeping  bool                // the reader may add secrets
}

// PreviewKey names the preview of reference ref for a field of type t.
func PreviewKey(t *typeregistry.Type, ref string) string { return t.String() + "\n" + ref }

// Config is what a form is drawn from.
type Config struct {
	Schema    typeregistry.Schema
	Values    url.Values // raw values of the controls; a name that is missing shows its default
	Problems  []Problem
	Offers    Offers
	Today     time.Time // for date buttons and limits
	Focus     string    // name of the control that takes the focus
	Typeahead string    // URL that completes references; "" leaves comboboxes plain
	Upload    string    // URL that takes files in the background; "" leaves it to the form
}

// Form is a form that can be drawn. It is immutable.
type Form struct {
	cfg      Config
	names    map[string]bool // every name and every prefix of one that ends at a dot
	rows     map[string][]int
	problems map[string][]string
}

// New returns the form of cfg.
func New(cfg Config) *Form {
	f := &Form{cfg: cfg, problems: map[string][]string{}}
	f.names, f.rows = index(cfg.Values)
	for _, p := range cfg.Problems {
		f.problems[p.Path] = append(f.problems[p.Path], p.Message)
	}
	return f
}

// with returns a form of other values and else the same.
func (f *Form) with(values url.Values) *Form {
	next := *f
	next.cfg.Values = values
	next.names, next.rows = index(values)
	return &next
}

// quiet returns the form without its messages.
func (f *Form) quiet() *Form {
	next := *f
	next.problems = nil
	return &next
}

// template returns a form in which nothing was typed yet.
func (f *Form) template() *Form {
	return f.with(nil).quiet()
}

// has reports whether a control of name, or one below it, was on the form that the
// values came from.
func (f *Form) has(name string) bool { return f.names[name] }

// index finds the names that values speak of and the row numbers below each.
func index(values url.Values) (names map[string]bool, rows map[string][]int) {
	names, rows = map[string]bool{}, map[string][]int{}
	for key := range values {
		parts := strings.Split(key, ".")
		for i := range parts {
			prefix := strings.Join(parts[:i+1], ".")
			if names[prefix] {
				continue
			}
			names[prefix] = true
			if n, ok := rowNumber(parts[i]); ok {
				parent := strings.Join(parts[:i], ".")
				rows[parent] = append(rows[parent], n)
			}
		}
	}
	for _, r := range rows {
		slices.Sort(r)
	}
	return names, rows
}

// rowNumber reads a segment that numbers a row.
func rowNumber(segment string) (int, bool) {
	n, err := strconv.Atoi(segment)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == segment
}

// Section is one card of a form.
type Section struct {
	ID       string
	Title    string
	Fields   []Control
	Advanced []Control // folded away until asked for
	Hidden   []Control // never drawn; their values travel along
}

// Sections returns the cards in order: sections as their first field comes, fields
// by the order of their hints and else as declared.
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

// Open reports whether the section is worth drawing as a card.
func (s Section) Open() bool { return len(s.Fields)+len(s.Advanced) > 0 }

// AdvancedOpen reports whether a folded field needs the reader's eye.
func (s Section) AdvancedOpen() bool {
	return slices.ContainsFunc(s.Advanced, Control.troubled)
}

// Controls returns the top-level controls in the order they are drawn.
func (f *Form) Controls() []Control {
	fields := ordered(f.cfg.Schema.Fields)
	out := make([]Control, len(fields))
	for i, field := range fields {
		out[i] = f.control(field)
	}
	return out
}

func (f *Form) control(field typeregistry.Field) Control {
	return Control{form: f}.child(field, Prefix+"."+field.Name, field.Name)
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

// slug makes a title fit for an id.
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

// initial is the value that a field starts from: its default, "today" as a date, else
// the defaults of its members.
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
		return nil // a registry only keeps defaults that it could read
	}
	return v
}
