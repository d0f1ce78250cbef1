package expression

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
)

// normal returns a copy of v that has only kinds known to evaluation: numbers are int
// or float64, lists []any, objects map[string]any. The copy protects the caller's
// values from functions that modify objects.
func (m *meter) normal(v any, depth int) any {
	if depth > maxDepth {
		panic(errTooDeep)
	}
	m.spend(1)
	switch v := v.(type) {
	case nil, bool, string, int, time.Time, time.Duration:
		return v
	case float64:
		return v
	case json.Number:
		return number(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = m.normal(e, depth+1)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = m.normal(e, depth+1)
		}
		return out
	}
	return m.normalOther(reflect.ValueOf(v), depth)
}

// normalOther is normal for the rarer types: sized numbers, lists of texts, named types.
func (m *meter) normalOther(r reflect.Value, depth int) any {
	switch r.Kind() {
	case reflect.Bool:
		return r.Bool()
	case reflect.String:
		return r.String()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return int(r.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if n := r.Uint(); n <= math.MaxInt {
			return int(n)
		}
		return float64(r.Uint())
	case reflect.Float32, reflect.Float64:
		return r.Float()
	case reflect.Slice, reflect.Array:
		if b, ok := reflect.TypeAssert[[]byte](r); ok {
			return string(b)
		}
		out := make([]any, r.Len())
		for i := range out {
			out[i] = m.normal(r.Index(i).Interface(), depth+1)
		}
		return out
	case reflect.Map:
		out := make(map[string]any, r.Len())
		for it := r.MapRange(); it.Next(); {
			out[fmt.Sprint(it.Key().Interface())] = m.normal(it.Value().Interface(), depth+1)
		}
		return out
	case reflect.Pointer, reflect.Interface:
		if r.IsNil() {
			return nil
		}
		if s, ok := reflect.TypeAssert[fmt.Stringer](r); ok {
			return s.String()
		}
		return m.normal(r.Elem().Interface(), depth+1)
	}
	if s, ok := reflect.TypeAssert[fmt.Stringer](r); ok {
		return s.String()
	}
	panic(fmt.Errorf("a value of type %s cannot be used in an expression", r.Type()))
}

// number returns n as an int when it is an integer that fits, otherwise as a float64.
func number(n json.Number) any {
	if i, err := strconv.Atoi(n.String()); err == nil {
		return i
	}
	f, err := n.Float64()
	if err != nil {
		panic(fmt.Errorf("%s is not a number in range", quoted(n.String())))
	}
	return f
}

// result converts v for callers: plain JSON values, integers as int64, dates in RFC
// 3339 and durations in Go's format.
func (m *meter) result(v any) any {
	return m.resultOf(m.normal(v, 0))
}

func (m *meter) resultOf(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case string:
		m.text(len(v))
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case time.Duration:
		return v.String()
	case []any:
		for i, e := range v {
			v[i] = m.resultOf(e)
		}
	case map[string]any:
		for k, e := range v {
			m.text(len(k))
			v[k] = m.resultOf(e)
		}
	}
	return v
}
