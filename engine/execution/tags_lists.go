package execution

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/workflow"
)

// listOf returns a list, or the list in a JSON text.
func listOf(v any) (any, error) {
	text, isText := v.(string)
	if !isText {
		return v, nil
	}
	decoded, err := stored.Value(text)
	if err != nil {
		return nil, fmt.Errorf("the value to loop over is not a JSON list: %s", clean(text, 200))
	}
	if _, isList := decoded.([]any); !isList {
		return nil, fmt.Errorf("the value to loop over must be a JSON list, but is %s", clean(text, 200))
	}
	return decoded, nil
}

// sequenceOf returns the numbers of {start, end, count, format} as texts.
func sequenceOf(v any) (any, error) {
	fields, _ := v.(map[string]any)
	number := func(name string, otherwise int) (int, error) {
		text := strings.TrimSpace(textOf(fields[name]))
		if fields[name] == nil || text == "" {
			return otherwise, nil
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, apperr.New(apperr.Invalid, "%s of the sequence must be a whole number, not %q.", name, text)
		}
		return n, nil
	}
	start, err := number("start", 0)
	if err != nil {
		return nil, err
	}
	end, err := number("end", 0)
	if err != nil {
		return nil, err
	}
	if fields["count"] != nil {
		count, err := number("count", 0)
		if err != nil {
			return nil, err
		}
		if end = start + count - 1; count <= 0 {
			return []any{}, nil
		}
	}
	step := 1
	if end < start {
		step = -1
	}
	if (end-start)*step >= workflow.MaxItems {
		return nil, apperr.New(apperr.Invalid, "The sequence has more than the maximum of %d numbers.", workflow.MaxItems)
	}
	format := "%d"
	if f, ok := fields["format"].(string); ok && f != "" {
		format = f
	}
	var items []any
	for n := start; ; n += step {
		items = append(items, fmt.Sprintf(format, n))
		if n == end {
			return items, nil
		}
	}
}
