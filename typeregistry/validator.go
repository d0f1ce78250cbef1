package typeregistry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Validator is a rule beyond the type itself, of a field or of a custom type.
//
//	required                           the value must be given
//	pattern {pattern}                  the text matches as a whole (RE2)
//	range {min, max, exclusive_min,
//	exclusive_max}                     the number lies between them
//	exists, access                     the entry referred to exists and is accessible to the user
//	less_than, at_most, greater_than,
//	at_least, different_from {field}   compared with another field alongside this one
type Validator struct {
	Rule    string      `json:"rule"`
	Pattern string      `json:"pattern,omitempty"`
	Min     json.Number `json:"min,omitempty"`
	Max     json.Number `json:"max,omitempty"`
	Field   string      `json:"field,omitempty"`
	Error   string      `json:"error,omitempty"` // shown instead of the usual message

	ExclusiveMin json.Number `json:"exclusive_min,omitempty"`
	ExclusiveMax json.Number `json:"exclusive_max,omitempty"`

	pattern *regexp.Regexp
}

// comparison is a rule that compares two fields.
type comparison struct {
	holds func(order int) bool
	words string
}

func comparisons() map[string]comparison {
	return map[string]comparison{
		"less_than":      {func(o int) bool { return o < 0 }, "less than"},
		"at_most":        {func(o int) bool { return o <= 0 }, "at most"},
		"greater_than":   {func(o int) bool { return o > 0 }, "more than"},
		"at_least":       {func(o int) bool { return o >= 0 }, "at least"},
		"different_from": {func(o int) bool { return o != 0 }, "different from"},
	}
}

// ruleAliases are the names that other systems give to our rules.
func ruleAliases() map[string]string {
	return map[string]string{
		"exists_in_catalogue": "exists", "exists_in_catalog": "exists", "exists_in_feature_store": "exists",
		"dataset_access": "access", "min_max": "range", "regex": "pattern",
		"less_or_equal": "at_most", "greater_or_equal": "at_least", "not_equal": "different_from",
	}
}

// readValidator reads a rule for values of t, from its name or an object.
func readValidator(raw any, t *Type) (Validator, error) {
	var v Validator
	if name, ok := raw.(string); ok {
		raw = map[string]any{"rule": name}
	}
	if err := strictDecode(raw, &v); err != nil {
		return v, err
	}
	if name, ok := ruleAliases()[v.Rule]; ok {
		v.Rule = name
	}
	return v, v.prepare(t)
}

func (v *Validator) prepare(t *Type) error {
	if _, ok := comparisons()[v.Rule]; ok {
		if v.Field == "" {
			return fmt.Errorf("%s must name the field to compare with", v.Rule)
		}
		return nil
	}
	switch v.Rule {
	case "required":
		return nil
	case "exists", "access":
		if !t.IsBlob() && t.Kind != KindSecret && t.Kind != KindConnection {
			return fmt.Errorf("%s applies only to references such as Dataset; %s is not a reference", v.Rule, t.Name())
		}
		return nil
	case "pattern":
		var err error
		v.pattern, err = compilePattern(v.Pattern)
		return err
	case "range":
		if v.bounds() == (Bounds{}) {
			return fmt.Errorf("range must have min, max or both")
		}
		if t.Kind != KindInteger && t.Kind != KindFloat {
			return fmt.Errorf("range applies only to Integer and Float, not to %s", t.Name())
		}
		return nil
	}
	names := append([]string{"required", "pattern", "range", "exists", "access"}, slices.Sorted(maps.Keys(comparisons()))...)
	return fmt.Errorf("%s is not a rule; use one of %s", quote(v.Rule), strings.Join(names, ", "))
}

// check applies the rule to a value that has passed the check of its type.
func (v Validator) check(c *checker, t *Type, path string, value any) {
	switch v.Rule {
	case "required":
		if blank(value) {
			c.problem(path, v.message("A value is required. "+t.impl.hint(t)))
		}
	case "pattern":
		if text, ok := value.(string); ok && v.pattern != nil && !v.pattern.MatchString(text) {
			c.problem(path, v.message(quote(text)+" does not match the pattern "+v.Pattern+"."))
		}
	case "range":
		n, ok := value.(json.Number)
		if reason := v.bounds().outside(n); ok && reason != "" {
			c.problem(path, v.message(sentence(reason, v.bounds().hint(""))))
		}
	}
}

func (v Validator) bounds() Bounds { return newBounds(v.Min, v.ExclusiveMin, v.Max, v.ExclusiveMax) }

// compare applies a rule between two fields; it ignores absent values.
func (v Validator) compare(c *checker, path string, value, other any) {
	rule, ok := comparisons()[v.Rule]
	if !ok || value == nil || other == nil {
		return
	}
	if order, comparable := compareValues(value, other); comparable && !rule.holds(order) {
		c.problem(path, v.message(fmt.Sprintf("%s is not %s %s (%s). Enter a value %s %s.",
			inputText(value), rule.words, v.Field, inputText(other), rule.words, inputText(other))))
	}
}

func (v Validator) message(usual string) string {
	if v.Error != "" {
		return v.Error
	}
	return usual
}

// blank reports whether a value counts as missing.
func blank(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case string:
		return x == ""
	case []any:
		return len(x) == 0
	case map[string]any:
		return len(x) == 0
	}
	return false
}

// maxPattern bounds a regular expression, in characters.
const maxPattern = 500

// compilePattern compiles a pattern that must match a text as a whole.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	if utf8.RuneCountInString(pattern) > maxPattern {
		return nil, fmt.Errorf("the pattern has more than %d characters", maxPattern)
	}
	if pattern == "" {
		return nil, fmt.Errorf("the pattern is empty")
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, fmt.Errorf("the pattern does not compile (RE2): %w", err)
	}
	return regexp.Compile("^(?:" + pattern + ")$")
}

// strictDecode decodes JSON values into target and rejects unknown keys.
func strictDecode(raw, target any) error {
	data, err := encodeJSON(raw)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(target); err != nil {
		return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
