// Package launchfile reads and writes launches as YAML files, and writes them as Python and as
// shell commands. It is pure.
package launchfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/flowforge/flowforge/engine/workflow"
)

// Kind is the kind of the document.
const Kind = "Execution"

// APIVersion is the version of the format. Files may leave it out.
const APIVersion = "flowforge.io/v1"

// File is a launch. The fields have the names and meanings of POST /api/v1/executions.
type File struct {
	Workflow string
	Version  string // "": the latest
	Name     string
	Priority string // LOW, NORMAL, HIGH or a number; "": that of the definition
	Preset   string
	Tags     []string
	Note     string
	Key      string // idempotency_key
	Inputs   map[string]any
	Order    []string // names of inputs in the order in which they are written
	Cache    string   // mode for all operators
	CacheOf  map[string]string
	TTL      map[string]string // after_completion, after_success, after_failure
}

// Problem is what is wrong with a file.
type Problem struct {
	Path    string // of the value, "" for the whole file
	Line    int    // 0 if unknown
	Message string
}

// Lines are the lines of a file by the path of the value.
type Lines map[string]int

// Of returns the line of a value, or of the nearest value around it, or 0.
func (l Lines) Of(path string) int {
	for path != "" {
		if n, ok := l[path]; ok {
			return n
		}
		path = path[:max(strings.LastIndexByte(path, '.'), 0)]
	}
	return 0
}

var atLine = regexp.MustCompile(`^[Ll]ine (\d+)(, column \d+)?: `)

// Parse reads a file. It does not check the inputs against a workflow.
func Parse(text string) (File, Lines, []Problem) {
	lines := Lines(workflow.DocumentLines([]byte(text)))
	v, err := workflow.DecodeDocument([]byte(text))
	if err != nil {
		p := Problem{Message: err.Error()}
		if found := atLine.FindStringSubmatch(p.Message); found != nil {
			p.Line, _ = strconv.Atoi(found[1])
			p.Message = sentence(p.Message[len(found[0]):])
		}
		return File{}, lines, []Problem{p}
	}
	root, ok := v.(map[string]any)
	if !ok {
		return File{}, lines, []Problem{{Line: 1, Message: "Enter a mapping with the keys workflow and inputs."}}
	}
	r := reader{lines: lines}
	return r.file(root), lines, r.problems
}

func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

type reader struct {
	lines    Lines
	problems []Problem
}

func (r *reader) fail(path, format string, args ...any) {
	r.problems = append(r.problems, Problem{Path: path, Line: r.lines.Of(path), Message: fmt.Sprintf(format, args...)})
}

func (r *reader) file(root map[string]any) File {
	f := File{Inputs: map[string]any{}}
	texts := map[string]*string{
		"workflow": &f.Workflow, "version": &f.Version, "name": &f.Name, "priority": &f.Priority, "preset": &f.Preset, "note": &f.Note, "idempotency_key": &f.Key,
	}
	for _, name := range slices.Sorted(maps.Keys(root)) {
		v := root[name]
		switch {
		case texts[name] != nil:
			*texts[name] = r.text(name, v)
		case name == "kind":
			if v != Kind {
				r.fail(name, "The kind of a launch file is %s.", Kind)
			}
		case name == "apiVersion":
			if v != APIVersion {
				r.fail(name, "Use %s.", APIVersion)
			}
		case name == "inputs":
			f.Inputs = r.object(name, v)
		case name == "tags":
			f.Tags = r.tags(v)
		case name == "cache":
			f.Cache, f.CacheOf = r.cache(v)
		case name == "ttl":
			f.TTL = r.ttl(v)
		default:
			r.fail(name, "There is no key %q. The keys are kind, workflow, version, name, priority, preset, tags, note, inputs, cache, ttl and idempotency_key.", name)
		}
	}
	if f.Workflow == "" {
		r.fail("workflow", "The file needs the key workflow.")
	}
	return f
}

// text reads a scalar.
func (r *reader) text(path string, v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	case bool: // a cache mode: YAML reads on and off as booleans in some versions
		if v {
			return "on"
		}
		return "off"
	}
	r.fail(path, "Enter text.")
	return ""
}

func (r *reader) object(path string, v any) map[string]any {
	switch v := v.(type) {
	case nil:
	case map[string]any:
		return v
	default:
		r.fail(path, "Enter a mapping of names to values.")
	}
	return map[string]any{}
}

// tags reads a list of texts, or one text.
func (r *reader) tags(v any) []string {
	items, ok := v.([]any)
	if !ok && v != nil {
		items = []any{v}
	}
	var tags []string
	for i, item := range items {
		if text := r.text(fmt.Sprintf("tags.%d", i), item); text != "" {
			tags = append(tags, text)
		}
	}
	return tags
}

// cache reads a mode, or a mapping with mode and nodes.
func (r *reader) cache(v any) (mode string, nodes map[string]string) {
	object, ok := v.(map[string]any)
	if !ok {
		return r.text("cache", v), nil
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch name {
		case "mode":
			mode = r.text("cache.mode", object[name])
		case "nodes":
			nodes = r.texts("cache.nodes", object[name])
		default:
			r.fail("cache."+name, "There is no key %q. The keys of cache are mode and nodes.", name)
		}
	}
	return mode, nodes
}

// ttl reads a time span for any end, or a mapping.
func (r *reader) ttl(v any) map[string]string {
	if _, ok := v.(map[string]any); ok {
		ttl := r.texts("ttl", v)
		for _, name := range slices.Sorted(maps.Keys(ttl)) {
			if !slices.Contains(ttlFields(), name) {
				r.fail("ttl."+name, "There is no key %q. The keys of ttl are %s.", name, strings.Join(ttlFields(), ", "))
				delete(ttl, name)
			}
		}
		return ttl
	}
	if text := r.text("ttl", v); text != "" {
		return map[string]string{"after_completion": text}
	}
	return nil
}

func ttlFields() []string { return []string{"after_completion", "after_success", "after_failure"} }

func (r *reader) texts(path string, v any) map[string]string {
	out := map[string]string{}
	for name, item := range r.object(path, v) {
		out[name] = r.text(path+"."+name, item)
	}
	return out
}

// field is a key of a document with its value.
type field struct {
	name  string
	value any
}

// fields lists the keys that are set. For YAML, cache and ttl have their short forms.
func (f File) fields(short bool) ordered {
	var out ordered
	for _, t := range []field{{"workflow", f.Workflow}, {"version", f.Version}, {"name", f.Name}, {"priority", f.Priority}, {"preset", f.Preset}} {
		if t.value != "" {
			out = append(out, t)
		}
	}
	out = append(out, f.labels()...)
	if len(f.Inputs) > 0 {
		out = append(out, field{"inputs", f.inputs()})
	}
	if f.Cache != "" || len(f.CacheOf) > 0 {
		cache := ordered{}
		if f.Cache != "" {
			cache = append(cache, field{"mode", f.Cache})
		}
		if len(f.CacheOf) > 0 {
			cache = append(cache, field{"nodes", f.CacheOf})
		}
		out = append(out, field{"cache", cache})
	}
	switch after := f.TTL["after_completion"]; {
	case short && after != "" && len(f.TTL) == 1:
		out = append(out, field{"ttl", after})
	case len(f.TTL) > 0:
		out = append(out, field{"ttl", f.TTL})
	}
	if f.Key != "" {
		out = append(out, field{"idempotency_key", f.Key})
	}
	return out
}

// labels lists the tags and the note, if there are any.
func (f File) labels() ordered {
	var out ordered
	if len(f.Tags) > 0 {
		tags := make([]any, len(f.Tags))
		for i, tag := range f.Tags {
			tags[i] = tag
		}
		out = append(out, field{"tags", tags})
	}
	if f.Note != "" {
		out = append(out, field{"note", f.Note})
	}
	return out
}

// inputs are the inputs in their order; names without a place follow, sorted.
func (f File) inputs() ordered {
	var out ordered
	for _, name := range f.Order {
		if v, ok := f.Inputs[name]; ok {
			out = append(out, field{name, v})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Inputs)) {
		if !slices.Contains(f.Order, name) {
			out = append(out, field{name, f.Inputs[name]})
		}
	}
	return out
}

// ordered is an object whose keys keep their order in JSON.
type ordered []field

// MarshalJSON implements [json.Marshaler].
func (o ordered) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := encode(f.value, "")
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s:%s", quote(f.name), value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encode writes JSON without the escapes that HTML pages need.
func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode a launch: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func quote(s string) string {
	b, err := encode(s, "")
	if err != nil {
		return `""`
	}
	return string(b)
}

// YAML writes the file. Parse reads it back with the same values.
func (f File) YAML() string {
	body, err := encode(append(ordered{{"kind", Kind}}, f.fields(true)...), "")
	if err != nil {
		return ""
	}
	out, err := yaml.JSONToYAML(body)
	if err != nil {
		return ""
	}
	return string(out)
}

// SetVersion replaces the version in a text and keeps the rest, comments included. It returns the
// text as it is if it does not parse.
func SetVersion(text, version string) string {
	f, lines, _ := Parse(text)
	at := lines["version"]
	if f.Version == "" || at == 0 {
		return text
	}
	all := strings.SplitAfter(text, "\n")
	line := all[at-1]
	if i := strings.LastIndex(line, f.Version); i >= 0 {
		all[at-1] = line[:i] + version + line[i+len(f.Version):]
	}
	return strings.Join(all, "")
}
