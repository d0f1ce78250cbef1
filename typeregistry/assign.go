package typeregistry

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/platform/units"
)

// Assignable returns nil if a value of type from may be used where type to is expected,
// or the reason why not. It finds contradictory bounds; bounds that depend on the value
// are checked at run time.
func Assignable(from, to *Type) error {
	if to.Custom != "" && from.Extends(to.Custom) {
		return nil
	}
	if to.Custom != "" && to.impl.shape() != variantsShape {
		return fmt.Errorf("%s is not a %s", from.Name(), to.Custom)
	}
	if from.Kind == KindOptional && to.Kind != KindOptional && to.Kind != KindJSON {
		return fmt.Errorf("it may be absent, but %s is required", to.Name())
	}
	return to.impl.accept(to, from)
}

func mismatch(t, from *Type) error {
	return fmt.Errorf("%s is not %s", from.Name(), article(t.Name()))
}

func sameKind(t, from *Type) error {
	if from.Kind != t.Kind {
		return mismatch(t, from)
	}
	return nil
}

func article(name string) string {
	if strings.ContainsRune("AEIOU", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

// Render formats v on one line.
func (t *Type) Render(v any) string {
	plain := Plain(v)
	if plain == nil && t.Kind != KindOptional && t.Kind != KindJSON {
		return ""
	}
	return t.impl.render(t, plain)
}

// compareValues orders two canonical values of the same kind; comparable is false if
// they have no order.
func compareValues(a, b any) (order int, comparable bool) {
	if x, ok := a.(json.Number); ok {
		y, ok := b.(json.Number)
		return compareNumbers(x, y), ok
	}
	x, okX := a.(string)
	y, okY := b.(string)
	if !okX || !okY {
		return 0, false
	}
	if p, err := time.Parse(time.RFC3339Nano, x); err == nil {
		if q, err := time.Parse(time.RFC3339Nano, y); err == nil {
			return p.Compare(q), true
		}
	}
	if p, err := units.ParseDuration(x); err == nil && strings.HasPrefix(x, "PT") {
		if q, err := units.ParseDuration(y); err == nil && strings.HasPrefix(y, "PT") {
			return int(min(1, max(-1, p-q))), true
		}
	}
	return strings.Compare(x, y), true
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
