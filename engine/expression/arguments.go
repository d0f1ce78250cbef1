package expression

import (
	"fmt"
	"math"
	"reflect"
)

// fixed is f with exactly n arguments.
func fixed(n int, f function) function {
	return func(m *meter, args []any) (any, error) {
		if len(args) != n {
			return nil, fmt.Errorf("expected %d arguments, got %d", n, len(args))
		}
		return f(m, args)
	}
}

// textAt returns the text at index i of args.
func textAt(args []any, i int) (string, error) {
	if i >= len(args) {
		return "", fmt.Errorf("argument %d is missing", i+1)
	}
	s, ok := args[i].(string)
	if !ok {
		return "", fmt.Errorf("argument %d must be a string, but is %s", i+1, kindOf(args[i]))
	}
	return s, nil
}

// texts returns the first n arguments, which must be texts.
func texts(args []any, n int) ([]string, error) {
	out := make([]string, n)
	for i := range out {
		s, err := textAt(args, i)
		if err != nil {
			return nil, err
		}
		out[i] = s
	}
	return out, nil
}

// intAt returns the integer at index i of args.
func intAt(args []any, i int) (int, error) {
	if i >= len(args) {
		return 0, fmt.Errorf("argument %d is missing", i+1)
	}
	switch v := args[i].(type) {
	case int:
		return v, nil
	case int64:
		return int(v), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int(v), nil
		}
	}
	return 0, fmt.Errorf("argument %d must be an integer, but is %s", i+1, kindOf(args[i]))
}

func listAt(args []any, i int) ([]any, error) {
	if i >= len(args) {
		return nil, fmt.Errorf("argument %d is missing", i+1)
	}
	if v, ok := args[i].([]any); ok {
		return v, nil
	}
	r := reflect.ValueOf(args[i])
	if r.Kind() != reflect.Slice {
		return nil, fmt.Errorf("argument %d must be a list, but is %s", i+1, kindOf(args[i]))
	}
	out := make([]any, r.Len())
	for k := range out {
		out[k] = r.Index(k).Interface()
	}
	return out, nil
}

func objectAt(args []any, i int) (map[string]any, error) {
	v, ok := args[i].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("argument %d must be an object, but is %s", i+1, kindOf(args[i]))
	}
	return v, nil
}
