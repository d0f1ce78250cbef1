package launchfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// reference is WORKFLOW or WORKFLOW@VERSION.
func (f File) reference() string {
	if f.Version == "" {
		return f.Workflow
	}
	return f.Workflow + "@" + f.Version
}

// Python writes the launch with the client of the SDK.
func (f File) Python() string {
	var b strings.Builder
	b.WriteString("import flowforge\n\nrun = flowforge.launch(\n")
	fmt.Fprintf(&b, "    %s,\n", quote(f.reference()))
	if len(f.Inputs) > 0 {
		b.WriteString("    {\n")
		for _, in := range f.inputs() {
			fmt.Fprintf(&b, "        %s: %s,\n", quote(in.name), literal(in.value, 8))
		}
		b.WriteString("    },\n")
	}
	for _, t := range []field{{"name", f.Name}, {"priority", f.Priority}, {"preset", f.Preset}} {
		if t.value != "" {
			fmt.Fprintf(&b, "    %s=%s,\n", t.name, literal(t.value, 4))
		}
	}
	for _, t := range f.fields(true) {
		if slices.Contains([]string{"tags", "note", "cache", "ttl"}, t.name) {
			fmt.Fprintf(&b, "    %s=%s,\n", t.name, literal(t.value, 4))
		}
	}
	b.WriteString(")\nrun.wait()\n")
	return b.String()
}

// wide is the longest list or dict that Python shows on one line.
const wide = 60

// literal writes a value of JSON as a literal of Python.
func literal(v any, indent int) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return quote(v)
	case json.Number:
		return v.String()
	case map[string]string:
		object := map[string]any{}
		for name, item := range v {
			object[name] = item
		}
		return literal(object, indent)
	case map[string]any:
		o := ordered{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			o = append(o, field{name, v[name]})
		}
		return literal(o, indent)
	case ordered:
		items := make([]string, len(v))
		for i, f := range v {
			items[i] = quote(f.name) + ": " + literal(f.value, indent+4)
		}
		return wrapped("{", items, "}", indent)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = literal(item, indent+4)
		}
		return wrapped("[", items, "]", indent)
	}
	return fmt.Sprint(v)
}

// wrapped writes short items on one line, and others on lines of their own.
func wrapped(start string, items []string, end string, indent int) string {
	one := strings.Join(items, ", ")
	if len(one) <= wide && !strings.Contains(one, "\n") {
		return start + one + end
	}
	space := strings.Repeat(" ", indent+4)
	return start + "\n" + space + strings.Join(items, ",\n"+space) + ",\n" + strings.Repeat(" ", indent) + end
}

// Curl writes the launch as a request to the server at base.
func (f File) Curl(base string) string {
	body, err := encode(f.fields(false), "  ")
	if err != nil {
		return ""
	}
	return "curl -X POST " + Shell(base+"/api/v1/executions") + " \\\n" +
		"  -H \"Authorization: Bearer $FLOWFORGE_TOKEN\" \\\n  -H 'Content-Type: application/json' \\\n" +
		"  -d " + Shell(string(body))
}

// Command writes the launch for the command line. A value of an input is text as it is, or JSON.
func (f File) Command() string {
	var b strings.Builder
	b.WriteString("flowforge launch " + Shell(f.reference()))
	flag := func(name, value string) {
		if value != "" {
			b.WriteString(" \\\n  " + name + " " + Shell(value))
		}
	}
	for _, in := range f.inputs() {
		flag("-i", in.name+"="+argument(in.value))
	}
	flag("--name", f.Name)
	flag("--priority", f.Priority)
	flag("--preset", f.Preset)
	for _, tag := range f.Tags {
		flag("--tag", tag)
	}
	flag("--note", f.Note)
	flag("--cache", f.Cache)
	for _, name := range slices.Sorted(maps.Keys(f.CacheOf)) {
		flag("--cache-node", name+"="+f.CacheOf[name])
	}
	flag("--ttl", f.TTL["after_completion"])
	flag("--ttl-success", f.TTL["after_success"])
	flag("--ttl-failure", f.TTL["after_failure"])
	return b.String()
}

// argument writes a value so that `flowforge launch -i` reads it back.
func argument(v any) string {
	text, isText := v.(string)
	if isText && !json.Valid([]byte(text)) && !strings.HasPrefix(text, "@") {
		return text
	}
	b, err := encode(v, "")
	if err != nil {
		return ""
	}
	return string(b)
}

// Shell quotes s for a POSIX shell if necessary.
func Shell(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./-_", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
