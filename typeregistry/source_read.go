package typeregistry

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/platform/units"
)

// setSource reads the options of a field: a list of options, or an object.
func (f *Field) setSource(raw any) error {
	leaf := SourceLeaf(f.Type)
	if !slices.Contains([]Kind{KindString, KindText, KindInteger, KindFloat, KindDate}, leaf.Kind) {
		return fmt.Errorf("a value of type %s has no options of its own; use String, Text, Integer, Float or Date, or lists of them", leaf.Kind)
	}
	s, err := readSource(raw)
	if err != nil {
		return err
	}
	if err := s.readTags(); err != nil {
		return err
	}
	if err := s.check(leaf); err != nil {
		return err
	}
	f.Source = s
	return nil
}

func readSource(raw any) (*Source, error) {
	if list, ok := raw.([]any); ok {
		values, err := readValues(list)
		return &Source{Values: values}, err
	}
	object, _ := raw.(map[string]any)
	object = maps.Clone(object)
	list, _ := object["values"].([]any)
	values, err := readValues(list)
	if err != nil {
		return nil, err
	}
	delete(object, "values")
	if text, ok := object["preview"].(string); ok {
		object["preview"] = []any{text}
	}
	s := &Source{}
	if err := strictDecode(object, s); err != nil {
		return nil, fmt.Errorf("%s; use values, from, where, http, workflow, inputs, items, value, label, description, preview, timeout, cache or free", err.Error())
	}
	s.Values = values
	return s, nil
}

// readValues reads a list of options: objects with value, label and description, or plain values.
func readValues(list []any) ([]SourceValue, error) {
	if len(list) > maxSourceValues {
		return nil, fmt.Errorf("there are %d options; at most %d are allowed. Use a query or an endpoint for more", len(list), maxSourceValues)
	}
	var out []SourceValue
	for i, raw := range list {
		object, ok := raw.(map[string]any)
		if !ok {
			out = append(out, SourceValue{Value: raw})
			continue
		}
		var v SourceValue
		if err := strictDecode(object, &v); err != nil {
			return nil, fmt.Errorf("option %d: %s; an option has value, label and description", i+1, err.Error())
		}
		if _, given := object["value"]; !given {
			return nil, fmt.Errorf("option %d has no value", i+1)
		}
		v.Value = Plain(v.Value)
		out = append(out, v)
	}
	return out, nil
}

// readTags parses the texts that can have tags.
func (s *Source) readTags() error {
	s.tagged = map[string]*expression.Text{}
	texts := map[string]string{"where": s.Where, "http": s.HTTP}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		parsed, err := expression.ParseText(texts[key])
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		s.tagged[key] = parsed
	}
	return s.readRunTags()
}

// check checks the source as a whole.
func (s *Source) check(leaf *Type) error {
	var kinds []string
	for name, given := range map[string]bool{"values": len(s.Values) > 0, "from": s.From != "", "http": s.HTTP != "", "workflow": s.Workflow != ""} {
		if given {
			kinds = append(kinds, name)
		}
	}
	slices.Sort(kinds)
	switch {
	case len(kinds) == 0:
		return fmt.Errorf("there are no options; set values, from, http or workflow")
	case len(kinds) > 1:
		return fmt.Errorf("set only one of %s", strings.Join(kinds, " and "))
	case len(s.Preview) > maxSourcePreview:
		return fmt.Errorf("preview has %d names; at most %d are allowed", len(s.Preview), maxSourcePreview)
	}
	if err := s.only(kinds[0]); err != nil {
		return err
	}
	var err error
	switch kinds[0] {
	case "values":
		err = s.checkValues(leaf)
	case "from":
		err = s.checkTable()
	case "http":
		err = errors.Join(s.checkAddress(), s.checkPaths())
	case "workflow":
		err = errors.Join(s.checkWorkflow(), s.checkPaths())
	}
	if err != nil {
		return err
	}
	return s.checkTimes()
}

// only rejects keys that belong to other sources.
func (s *Source) only(kind string) error {
	for _, k := range []struct {
		name  string
		given bool
		of    []string
	}{
		{"where", s.Where != "", []string{"from"}},
		{"inputs", len(s.Inputs) > 0, []string{"workflow"}},
		{"items", s.Items != "", []string{"http", "workflow"}},
		{"timeout", s.Timeout != "", []string{"http", "workflow"}},
		{"cache", s.Cache != "", []string{"http", "workflow"}},
		{"value", s.Value != "", []string{"from", "http", "workflow"}},
		{"label", s.Label != "", []string{"from", "http", "workflow"}},
		{"description", s.Description != "", []string{"from", "http", "workflow"}},
		{"preview", len(s.Preview) > 0, []string{"from", "http", "workflow"}},
	} {
		if k.given && !slices.Contains(k.of, kind) {
			return fmt.Errorf("%s belongs to %s, and these options come from %s", k.name, listed(k.of), kind)
		}
	}
	return nil
}

func (s *Source) checkValues(leaf *Type) error {
	seen := map[string]bool{}
	for i := range s.Values {
		canonical, problems := leaf.Normalize(s.Values[i].Value)
		if len(problems) > 0 {
			return fmt.Errorf("option %d: %s", i+1, problems[0].describe())
		}
		text := compactJSON(canonical)
		if seen[text] {
			return fmt.Errorf("the option %s appears twice", quote(canonical))
		}
		seen[text], s.Values[i].Value = true, canonical
	}
	return nil
}

func (s *Source) checkTable() error {
	if !slices.Contains(SourceTables(), s.From) {
		return fmt.Errorf("from is %s; use %s", quote(s.From), listed(SourceTables()))
	}
	if s.From == "executions" && s.Value == "" {
		return fmt.Errorf("value is missing; set it to an execution column, such as inputs.seed or id")
	}
	return nil
}

// checkAddress rejects addresses whose host depends on values.
func (s *Source) checkAddress() error {
	address := s.tagged["http"]
	parsed, err := url.Parse(address.Start())
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return fmt.Errorf("http is not a valid address; use one such as https://api.example.com/search?q={{query}}, with tags after the host only")
	}
	if len(address.Tags()) > 0 && parsed.Path == "" && parsed.RawQuery == "" {
		return fmt.Errorf("the host of http cannot contain tags; add a / after the host")
	}
	if parsed.User != nil {
		return fmt.Errorf("http contains a user name or password, which every reader of the workflow could see")
	}
	return nil
}

// checkPaths checks the paths in the items of an answer.
func (s *Source) checkPaths() error {
	paths := map[string]string{"items": s.Items, "value": s.Value, "label": s.Label, "description": s.Description}
	for i, path := range s.Preview {
		paths[fmt.Sprintf("preview %d", i+1)] = path
	}
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		if path := paths[name]; path != "" && !strings.HasPrefix(path, ".") {
			return fmt.Errorf("%s is %s; use a path such as .id", name, quote(path))
		}
	}
	return nil
}

// checkDefault rejects a default that the list of options does not have.
func (f *Field) checkDefault(n nodeField) error {
	if f.Source == nil {
		return nil
	}
	if f.Rules != nil && f.Rules.Options != "" {
		return n.location.errorf("field %s defines options twice", f.Name)
	}
	if f.Default == nil || !f.Source.Static() {
		return nil
	}
	c := &checker{}
	if f.checkOffered(c, "", Plain(f.Default)); len(c.problems) > 0 {
		return n.location.errorf("the default of %s: %s", f.Name, c.problems[0].Message)
	}
	return nil
}

func (s *Source) checkTimes() error {
	longest, least := maxHTTPTimeout, time.Duration(0)
	if s.Workflow != "" {
		longest, least = maxRunTimeout, minRunCache
	}
	for _, t := range []struct {
		name, text     string
		least, longest time.Duration
	}{{"timeout", s.Timeout, 100 * time.Millisecond, longest}, {"cache", s.Cache, least, maxCache}} {
		if t.text == "" {
			continue
		}
		d, err := units.ParseDuration(t.text)
		if err != nil {
			return fmt.Errorf("%s: %s is not a duration; use one such as 5s or 10m", t.name, quote(t.text))
		}
		if d < t.least || d > t.longest {
			return fmt.Errorf("%s is %s; use %s to %s", t.name, t.text, units.Compact(t.least), units.Compact(t.longest))
		}
	}
	return nil
}
