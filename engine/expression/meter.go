package expression

import (
	"errors"
	"reflect"
	"strings"
)

// The limits of one text and of one evaluation.
const (
	MaxLength = 16 << 10  // bytes of an expression or a condition
	MaxParts  = 2_000     // parts (operators, names, literals) of an expression
	MaxSteps  = 2_000_000 // steps of an evaluation: an executed part, or an accessed element or 16 bytes of text
	maxDepth  = 100       // nesting of lists and objects
	maxItems  = 1_000_000 // elements of the lists that an evaluation creates
)

const bytesPerStep = 16

var (
	errTooMuch = errors.New("it exceeds the limit of 2,000,000 steps; use shorter lists or strings")
	errTooDeep = errors.New("a value is nested more than 100 levels deep")
)

// meter is the remaining budget of an evaluation.
type meter struct{ left int }

func newMeter() *meter { return &meter{left: MaxSteps} }

// spend charges n steps. It panics when fewer are left, because libraries call it
// indirectly; the evaluation recovers.
func (m *meter) spend(n int) {
	if n < 0 || n > m.left {
		m.left = 0
		panic(errTooMuch)
	}
	m.left -= n
}

// parsing charges n bytes of a program, and reports whether the budget was sufficient.
func (m *meter) parsing(n int) bool {
	const base, perByte = 50, 2
	if n > (m.left-base)/perByte {
		return false
	}
	m.left -= base + perByte*n
	return true
}

// text charges n bytes of text.
func (m *meter) text(n int) {
	if n < 0 {
		m.spend(-1)
	}
	m.spend(1 + n/bytesPerStep)
}

// product charges a text of a times b bytes, which may overflow an int.
func (m *meter) product(a, b int) {
	a, b = max(a, 0), max(b, 0)
	if b > 0 && a > MaxSteps*bytesPerStep/b {
		m.spend(-1)
	}
	m.text(a * b)
}

// weigh charges reading all of v. Shared values are charged each time they are reached,
// because printing and comparing v also visit them each time.
func (m *meter) weigh(v any) { m.weighAt(v, 0) }

func (m *meter) weighAt(v any, depth int) {
	if depth > maxDepth {
		panic(errTooDeep)
	}
	switch v := v.(type) {
	case nil, bool, int, int64, float64:
		m.spend(1)
	case string:
		m.text(len(v))
	case []byte:
		m.text(len(v))
	case []int:
		m.spend(1 + len(v))
	case []float64:
		m.spend(1 + len(v))
	case []any:
		m.spend(1)
		for _, e := range v {
			m.weighAt(e, depth+1)
		}
	case map[string]any:
		m.spend(1)
		for k, e := range v {
			m.text(len(k))
			m.weighAt(e, depth+1)
		}
	default:
		m.weighOther(v, depth)
	}
}

// weighOther weighs values of kinds that only library functions return.
func (m *meter) weighOther(v any, depth int) {
	m.spend(1)
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range r.Len() {
			m.weighAt(r.Index(i).Interface(), depth+1)
		}
	case reflect.Map:
		for it := r.MapRange(); it.Next(); {
			m.weighAt(it.Key().Interface(), depth+1)
			m.weighAt(it.Value().Interface(), depth+1)
		}
	case reflect.String:
		m.text(r.Len())
	}
}

// indented charges printing v with two spaces per level.
func (m *meter) indented(v any, depth int) {
	m.product(depth, 2)
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			m.indented(e, depth+1)
		}
	case map[string]any:
		for _, e := range v {
			m.indented(e, depth+1)
		}
	}
}

// pieces charges splitting s at every sep.
func (m *meter) pieces(s, sep string) {
	m.spend(4 * (strings.Count(s, sep) + 1))
}
