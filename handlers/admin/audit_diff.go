package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// maxDiffRows limits the values that a page shows of one change. The export contains all.
const maxDiffRows = 60

// auditDiff lists the values that differ between two JSON documents by their paths,
// including values that only one document contains.
func auditDiff(before, after json.RawMessage) []views.AuditDiff {
	from, to := flatJSON(before), flatJSON(after)
	var names []string
	for name := range from {
		names = append(names, name)
	}
	for name := range to {
		if _, both := from[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var diff []views.AuditDiff
	for _, name := range names {
		if from[name] == to[name] {
			continue
		}
		if len(diff) == maxDiffRows {
			return append(diff, views.AuditDiff{Name: "…", New: "The export contains all values."})
		}
		diff = append(diff, views.AuditDiff{Name: strings.ReplaceAll(name, "_", " "), Old: ui.Short(from[name], 500), New: ui.Short(to[name], 500)})
	}
	return diff
}

// flatJSON returns every value of a document by its path, as JSON; strings are unquoted.
func flatJSON(data json.RawMessage) map[string]string {
	flat := map[string]string{}
	if len(data) == 0 {
		return flat
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		flat["value"] = string(data)
		return flat
	}
	flatten(flat, "", v)
	return flat
}

func flatten(flat map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			at := name
			if path != "" {
				at = path + " › " + name
			}
			flatten(flat, at, value)
		}
	case []any:
		if slices.ContainsFunc(v, composite) {
			for i, value := range v {
				flatten(flat, fmt.Sprintf("%s %d", path, i+1), value)
			}
			return
		}
		var words []string
		for _, value := range v {
			words = append(words, word(value))
		}
		flat[name(path)] = strings.Join(words, ", ")
	case nil:
	default:
		flat[name(path)] = word(v)
	}
}

func name(path string) string {
	if path == "" {
		return "value"
	}
	return path
}

func composite(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func word(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case nil:
		return "none"
	}
	return fmt.Sprint(v)
}

// diffSummary is a change on one line.
func diffSummary(diff []views.AuditDiff) string {
	var parts []string
	for _, d := range diff[:min(len(diff), 3)] {
		switch {
		case d.Old == "":
			parts = append(parts, d.Name+" "+ui.Short(d.New, 60))
		case d.New == "":
			parts = append(parts, d.Name+" "+ui.Short(d.Old, 60)+" → –")
		default:
			parts = append(parts, d.Name+" "+ui.Short(d.Old, 40)+" → "+ui.Short(d.New, 40))
		}
	}
	text := strings.Join(parts, " · ")
	if more := len(diff) - 3; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
