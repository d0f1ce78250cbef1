package typeregistry

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/platform/units"
)

// Source is where the options of a field come from: a list, a query, an HTTP endpoint or the outputs
// of a workflow. Values of lists and objects are limited in their entries. Texts can have tags such as
// {{inputs.kind}} with expressions over the inputs of the schema.
type Source struct {
	Values []SourceValue `json:"values,omitempty"`

	From  string `json:"from,omitempty"`  // one of SourceTables
	Where string `json:"where,omitempty"` // a query of package search, with tags

	HTTP  string `json:"http,omitempty"`  // an address, with tags; {{query}} is what users type
	Items string `json:"items,omitempty"` // path of the list in the answer or the outputs; "" is the whole

	Workflow string         `json:"workflow,omitempty"` // of the same project; its latest version lists the options
	Inputs   map[string]any `json:"inputs,omitempty"`   // of Workflow; texts in it can have tags

	// Value, Label, Description and Preview are columns of a query, or paths such as .id in the
	// items of an answer. Without a Label, the value is the label.
	Value       string   `json:"value,omitempty"`
	Label       string   `json:"label,omitempty"`
	Description string   `json:"description,omitempty"`
	Preview     []string `json:"preview,omitempty"`

	Timeout string `json:"timeout,omitempty"` // a duration; see Limit
	Cache   string `json:"cache,omitempty"`   // a duration; see Fresh
	Free    bool   `json:"free,omitempty"`    // other values are possible, too

	tagged map[string]*expression.Text // texts with tags, by their key; those of Inputs by themselves
}

// SourceValue is an option of a list.
type SourceValue struct {
	Value       any    `json:"value"`
	Label       string `json:"label,omitempty"`
	Description string `json:"description,omitempty"`
}

// Limits of sources of options.
const (
	maxSourceValues  = 1000
	maxSourcePreview = 8
	sourceTimeout    = 5 * time.Second
	maxHTTPTimeout   = 30 * time.Second
	runTimeout       = 20 * time.Second
	maxRunTimeout    = time.Minute
	runCache         = 10 * time.Minute
	minRunCache      = 10 * time.Second
	maxCache         = 7 * 24 * time.Hour
)

// SourceTables are what a query can select from.
func SourceTables() []string {
	return []string{"executions", "artifacts", "datasets", "models", "features"}
}

// Limit is how long the source may take.
func (s *Source) Limit() time.Duration {
	if d, err := units.ParseDuration(s.Timeout); err == nil && s.Timeout != "" {
		return d
	}
	if s.Workflow != "" {
		return runTimeout
	}
	return sourceTimeout
}

// Fresh is the age up to which options are used again; 0: they are fetched each time.
func (s *Source) Fresh() time.Duration {
	if d, err := units.ParseDuration(s.Cache); err == nil && s.Cache != "" {
		return d
	}
	if s.Workflow != "" {
		return runCache
	}
	return 0
}

// Static reports whether the definition has the options.
func (s *Source) Static() bool { return s.From == "" && s.HTTP == "" && s.Workflow == "" }

// Kind names where the options come from, for messages.
func (s *Source) Kind() string {
	switch {
	case s.HTTP != "":
		return "an endpoint"
	case s.From != "":
		return "a query"
	case s.Workflow != "":
		return "a workflow"
	}
	return "a list"
}

// Searches reports whether the source itself selects by what users type.
func (s *Source) Searches() bool { return strings.Contains(s.HTTP, "{{"+queryTag+"}}") }

// attribute is the source as an attribute of a field: a list alone is a list.
func (s *Source) attribute() any {
	if s.Static() && !s.Free {
		return viaJSON(s.Values)
	}
	return viaJSON(s)
}

// Resolved is a source with the values of the inputs that it reads.
type Resolved struct {
	*Source
	Where string
	URL   string
	Run   map[string]any // inputs of the workflow
}

// Resolve fills the tags of the source. A tag without a value is Invalid: its message specifies which
// input needs one.
func (s *Source) Resolve(inputs map[string]any, query string) (Resolved, error) {
	out := Resolved{Source: s}
	env := map[string]any{}
	maps.Copy(env, inputs)
	if _, own := env["inputs"]; !own {
		env["inputs"] = inputs
	}
	var err error
	if out.Where, err = fillText(s.tagged["where"], env, searchText); err != nil {
		return out, err
	}
	if out.Run, err = s.runInputs(env); err != nil {
		return out, err
	}
	env = withQuery(env, query)
	if out.URL, err = fillText(s.tagged["http"], env, addressText); err != nil {
		return out, err
	}
	return out, nil
}

// withQuery adds what users type under its name.
func withQuery(env map[string]any, query string) map[string]any {
	out := make(map[string]any, len(env)+1)
	maps.Copy(out, env)
	out[queryTag] = query
	return out
}

// references are the paths that the source reads, except what users type.
func (s *Source) references() []expression.Reference {
	var out []expression.Reference
	for key, t := range s.tagged {
		for _, tag := range t.Tags() {
			for _, ref := range tag.References() {
				if key != "http" || ref.Path[0] != queryTag {
					out = append(out, ref)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b expression.Reference) int { return slices.Compare(a.Path, b.Path) })
	return out
}

// Listed reports whether a static source has the value v of type t.
func (s *Source) Listed(t *Type, v any) bool {
	text := Text(t, v)
	return slices.ContainsFunc(s.Values, func(o SourceValue) bool { return Text(t, o.Value) == text })
}

// Text is the canonical form of a value as a text that equal values share.
func Text(t *Type, v any) string {
	canonical, problems := t.Normalize(v)
	if len(problems) > 0 {
		return "?" + compactJSON(v)
	}
	return compactJSON(canonical)
}

// SourceLeaf is the type of a single value with options: the type without Optional and List.
func SourceLeaf(t *Type) *Type {
	for t.Kind == KindOptional || t.Kind == KindList {
		t = t.Elem
	}
	return t
}

// Typed returns the value of an option as the field has it: sources of other systems give texts for
// numbers and numbers for texts. ok is false for a value that the type does not accept.
func Typed(t *Type, v any) (value any, ok bool) {
	v = Plain(v)
	if number, is := v.(json.Number); is && (t.Kind == KindString || t.Kind == KindText) {
		v = number.String()
	}
	if text, is := v.(string); is && (t.Kind == KindInteger || t.Kind == KindFloat) {
		v = json.Number(strings.TrimSpace(text))
	}
	value, problems := t.Normalize(v)
	return value, len(problems) == 0 && value != nil
}

// checkOffered checks the values of a field against its source. Values of hidden fields, and of
// fields whose type does not fit, are not checked.
func (f Field) checkOffered(c *checker, path string, v any) {
	if f.Source == nil || f.Source.Free || v == nil {
		return
	}
	t := SourceLeaf(f.Type)
	var resolved Resolved
	var failed error
	if !f.Source.Static() {
		if c.env.Offers == nil || c.unread(f.Source) {
			return
		}
		if resolved, failed = f.Source.Resolve(c.scope, ""); failed != nil {
			c.problem(path, apperr.MessageOf(failed))
			return
		}
	}
	listed := map[string]bool{}
	for _, o := range f.Source.Values {
		listed[Text(t, o.Value)] = true
	}
	eachLeaf(f.Type, path, v, func(path string, v any) {
		if len(c.problems) >= maxProblems {
			return
		}
		if f.Source.Static() {
			if !listed[Text(t, v)] {
				c.problem(path, quote(v)+" is not an option."+f.Source.choose(v))
			}
		} else if message := c.env.Offers(Offered{Field: f, Source: resolved, Inputs: c.scope, Value: v}); message != "" {
			c.problem(path, message)
		}
	})
}

// unread reports whether the source reads a field whose value has a problem of its own.
func (c *checker) unread(s *Source) bool {
	return slices.ContainsFunc(s.references(), func(r expression.Reference) bool {
		name := r.Path[0]
		if name == "inputs" && len(r.Path) > 1 {
			name = r.Path[1]
		}
		return c.faulty[name]
	})
}

// choose lists a few options, or suggests the nearest.
func (s *Source) choose(v any) string {
	texts := make([]string, len(s.Values))
	for i, o := range s.Values {
		texts[i] = inputText(o.Value)
	}
	if text, ok := v.(string); ok {
		if near := suggest(text, texts); near != "" {
			return near
		}
	}
	if len(texts) > listedFields {
		return fmt.Sprintf(" Choose one of the %d options.", len(texts))
	}
	return " Choose " + listed(texts) + "."
}

func eachLeaf(t *Type, path string, v any, visit func(path string, v any)) {
	switch {
	case t.Kind == KindOptional:
		eachLeaf(t.Elem, path, v, visit)
	case v == nil:
	case t.Kind == KindList:
		list, _ := v.([]any)
		for i, e := range list {
			eachLeaf(t.Elem, join(path, fmt.Sprint(i)), e, visit)
		}
	default:
		visit(path, v)
	}
}

// EachSource calls visit for each part of the field that has a source of options, with its path:
// that of the field is its name, and that of a member of a Struct ends with the name of the member.
// Entries of lists and maps are in the path as "*", and variants of a Union by their tag.
func (f Field) EachSource(path string, visit func(path string, part Field)) {
	path = join(path, f.Name)
	if f.Source != nil {
		visit(path, f)
	}
	eachSource(f.Type, path, visit)
}

func eachSource(t *Type, path string, visit func(path string, part Field)) {
	if t.Elem != nil {
		below := path
		if t.Kind != KindOptional {
			below = join(path, "*")
		}
		eachSource(t.Elem, below, visit)
	}
	for _, v := range t.Variants {
		eachSource(v.Type, join(path, v.Tag), visit)
	}
	for _, member := range t.Fields {
		member.EachSource(path, visit)
	}
}

// SourceAt returns the part of the schema with a source at a path as EachSource has it.
func (s Schema) SourceAt(path string) (Field, bool) {
	var found Field
	for _, f := range s.Fields {
		f.EachSource("", func(at string, part Field) {
			if at == path {
				found = part
			}
		})
	}
	return found, found.Source != nil
}

// readsInputs reports whether fields read other fields.
func (s Schema) readsInputs() bool {
	return slices.ContainsFunc(s.Fields, func(f Field) bool { return len(f.reads(s.Fields)) > 0 })
}

// SourceReads returns the fields that the source of a part reads.
func (s Schema) SourceReads(part Field) []string {
	var names []string
	for _, ref := range part.Source.references() {
		if name := readName(ref.Path, s.Fields); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Known returns the valid values of the schema's fields and the defaults of those that are left out;
// the others are null. Sources read these while users fill in a form.
func (s Schema) Known(values map[string]any, now time.Time) map[string]any {
	c := &checker{env: Env{Now: now}}
	given, _ := Plain(values).(map[string]any)
	out, _ := s.normalizeDependent(c, assemble(c, s.Fields, given))
	for _, p := range c.problems {
		name, _, _ := strings.Cut(p.Path, ".")
		out[name] = nil
	}
	return out
}
