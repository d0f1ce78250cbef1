package typeregistry

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/expression"
)

// Limits of the inputs of a workflow that lists options.
const (
	maxRunInputs = 64 << 10  // bytes as JSON
	runTag       = "inputs " // prefixes texts of Inputs in Source.tagged
)

// readRunTags parses the tags in the inputs of a workflow.
func (s *Source) readRunTags() error {
	s.Inputs, _ = Plain(s.Inputs).(map[string]any)
	return eachText(s.Inputs, "inputs", func(path, text string) error {
		parsed, err := expression.ParseText(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		s.tagged[runTag+text] = parsed
		return nil
	})
}

// eachText calls visit for each text in a value.
func eachText(v any, path string, visit func(path, text string) error) error {
	switch v := v.(type) {
	case string:
		return visit(path, v)
	case []any:
		for i, e := range v {
			if err := eachText(e, join(path, fmt.Sprint(i)), visit); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := eachText(v[name], join(path, name), visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Source) checkWorkflow() error {
	if _, err := uuid.Parse(s.Workflow); err == nil || strings.ContainsAny(s.Workflow, "@{} ") {
		return fmt.Errorf("workflow is %s; use the name of a workflow in the same project", quote(s.Workflow))
	}
	if len(compactJSON(s.Inputs)) > maxRunInputs {
		return fmt.Errorf("inputs of the workflow are larger than %d KiB", maxRunInputs>>10)
	}
	return nil
}

// runInputs fills the tags in the inputs of the workflow. A text that is one tag becomes the value of
// the tag; in other texts, values become text.
func (s *Source) runInputs(env map[string]any) (map[string]any, error) {
	if s.Workflow == "" {
		return nil, nil
	}
	filled, err := s.fill(s.Inputs, env)
	if err != nil {
		return nil, err
	}
	out, _ := filled.(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	return out, nil
}

func (s *Source) fill(v any, env map[string]any) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		text := s.tagged[runTag+v]
		if tag := text.Only(); tag != nil {
			return evaluateTag(tag, env)
		}
		return fillText(text, env, plainText)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			if out[i], err = s.fill(e, env); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if out[name], err = s.fill(v[name], env); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

// plainText writes a value within a text.
func plainText(v any) (string, error) {
	switch v.(type) {
	case json.Number, bool, string:
		return inputText(v), nil
	}
	return "", apperr.New(apperr.Invalid, "%s cannot be part of a string. Use the tag alone, without text around it.", quote(v))
}
