// Package label names executions, their times and reasons, and links to them.
package label

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/views/ui"
)

// WorkflowOptions are the choices of a filter by workflow.
func WorkflowOptions(items []workflow.Summary, chosen string) []ui.Option {
	options := []ui.Option{{Name: "Every workflow", Selected: chosen == ""}}
	seen := chosen == ""
	for _, w := range items {
		seen = seen || w.Name == chosen
		options = append(options, ui.Option{Value: w.Name, Name: w.Name, Selected: w.Name == chosen})
	}
	if !seen {
		options = append(options, ui.Option{Value: chosen, Name: chosen, Selected: true})
	}
	return options
}

// ListURL is a list with one parameter changed; "" removes it. A changed filter starts at
// the first page.
func ListURL(path string, q url.Values, key, value string) string {
	next := url.Values{}
	for k, vs := range q {
		if k != "after" && k != key && len(vs) > 0 && vs[0] != "" {
			next[k] = vs
		}
	}
	if value != "" {
		next.Set(key, value)
	}
	if len(next) == 0 {
		return path
	}
	return path + "?" + next.Encode()
}

// SentenceCase capitalizes the first letter.
func SentenceCase(words string) string { return strings.ToUpper(words[:1]) + words[1:] }

// LowerFirst continues a sentence with s.
func LowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// JoinNote adds the note b to a, which may be empty.
func JoinNote(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// SortedKeys are the keys of m in order.
func SortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Indented is v as indented JSON.
func Indented(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return ""
	}
	return strings.TrimRight(b.String(), "\n")
}

// DecodeJSON reads a canonical value: numbers stay exact.
func DecodeJSON(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

// SplitTags reads a control in which commas separate tags.
func SplitTags(text string) []string {
	var tags []string
	for tag := range strings.SplitSeq(text, ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}
