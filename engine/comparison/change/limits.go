package change

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// limitBreaks specifies which values of a type, or of its parts, are refused that were allowed, a sentence;
// "" for none. path names the value, such as "layers[].size".
func limitBreaks(path string, old, now *typeregistry.Type) string {
	if old.Kind == typeregistry.KindOptional {
		old = old.Elem
	}
	if now.Kind == typeregistry.KindOptional {
		now = now.Elem
	}
	if limit := narrower(&old.Params, &now.Params); limit != "" {
		return fmt.Sprintf("Some values of %q are now rejected: %s.", path, limit)
	}
	if old.Kind == typeregistry.KindString && now.Kind == typeregistry.KindString && old.Params.Multiline && !now.Params.Multiline {
		return fmt.Sprintf("Some values of %q are now rejected: line breaks are not allowed.", path)
	}
	if !sameValidators(old.Rules, now.Rules) {
		return rulesChanged(path)
	}
	if old.Elem != nil && now.Elem != nil {
		part := path + "[]"
		if now.Kind == typeregistry.KindMap {
			part = path + ".*"
		}
		if description := limitBreaks(part, old.Elem, now.Elem); description != "" {
			return description
		}
	}
	for i := range now.Variants {
		at := slices.IndexFunc(old.Variants, func(v typeregistry.Variant) bool { return v.Tag == now.Variants[i].Tag })
		if at < 0 {
			continue
		}
		if description := limitBreaks(path, old.Variants[at].Type, now.Variants[i].Type); description != "" {
			return description
		}
	}
	return fieldBreaks(path, old.Fields, now.Fields)
}

// fieldBreaks is limitBreaks for the fields of an object.
func fieldBreaks(path string, old, now []typeregistry.Field) string {
	for i := range now {
		f := &now[i]
		part := path + "." + f.Name
		at := slices.IndexFunc(old, func(o typeregistry.Field) bool { return o.Name == f.Name })
		if at < 0 {
			if mustSet(f) {
				return fmt.Sprintf("Every value of %q must set %q.", path, part)
			}
			continue
		}
		was := &old[at]
		if mustSet(f) && !mustSet(was) {
			return fmt.Sprintf("Every value of %q must set %q.", path, part)
		}
		if description := limitBreaks(part, was.Type, f.Type); description != "" {
			return description
		}
		if ruleBreaks(was, f) {
			return rulesChanged(part)
		}
	}
	return ""
}

func rulesChanged(path string) string {
	return fmt.Sprintf("Some launches may be rejected: the rules for %q changed.", path)
}

// ruleBreaks reports whether a field has other rules or validators; fewer of them refuse nothing new.
func ruleBreaks(old, now *typeregistry.Field) bool {
	return rulesText(now) != "" && rulesText(old) != rulesText(now) || !sameValidators(old.Validators, now.Validators)
}

// sameValidators reports whether every validator of now was there before.
func sameValidators(old, now []typeregistry.Validator) bool {
	return !slices.ContainsFunc(now, func(v typeregistry.Validator) bool {
		return !slices.ContainsFunc(old, func(o typeregistry.Validator) bool { return validatorRule(o) == validatorRule(v) })
	})
}

// validatorRule is what a validator rejects, without the message.
func validatorRule(v typeregistry.Validator) [7]string {
	return [7]string{v.Rule, v.Pattern, v.Min.String(), v.Max.String(), v.ExclusiveMin.String(), v.ExclusiveMax.String(), v.Field}
}

// narrower specifies which limit excludes values that were allowed; "" for none.
func narrower(a, b *typeregistry.Params) string {
	for _, limit := range []func(a, b *typeregistry.Params) string{narrowerRange, narrowerCount, narrowerText, narrowerFile} {
		if description := limit(a, b); description != "" {
			return description
		}
	}
	return ""
}

func narrowerRange(a, b *typeregistry.Params) string {
	old, now := a.Bounds(), b.Bounds()
	switch {
	case now.Low != "" && (old.Low == "" || less(old.Low, now.Low) || now.LowOpen && !old.LowOpen && !less(now.Low, old.Low)):
		return bound(now.LowOpen, "they must be more than ", "the minimum is ") + now.Low.String()
	case now.High != "" && (old.High == "" || less(now.High, old.High) || now.HighOpen && !old.HighOpen && !less(old.High, now.High)):
		return bound(now.HighOpen, "they must be less than ", "the maximum is ") + now.High.String()
	case b.Earliest != "" && (a.Earliest == "" || sooner(a.Earliest, b.Earliest)):
		return "the minimum is " + b.Earliest
	case b.Latest != "" && (a.Latest == "" || sooner(b.Latest, a.Latest)):
		return "the maximum is " + b.Latest
	}
	return ""
}

func bound(open bool, ifOpen, ifClosed string) string {
	if open {
		return ifOpen
	}
	return ifClosed
}

func narrowerCount(a, b *typeregistry.Params) string {
	switch {
	case lower(a.MaxLength, b.MaxLength):
		return fmt.Sprintf("at most %d characters are allowed", *b.MaxLength)
	case higher(a.MinLength, b.MinLength):
		return fmt.Sprintf("at least %d characters are required", *b.MinLength)
	case lower(a.MaxItems, b.MaxItems):
		return fmt.Sprintf("at most %d items are allowed", *b.MaxItems)
	case higher(a.MinItems, b.MinItems):
		return fmt.Sprintf("at least %d items are required", *b.MinItems)
	case b.Unique && !a.Unique:
		return "items must be unique"
	}
	return ""
}

func narrowerText(a, b *typeregistry.Params) string {
	switch {
	case b.Pattern != "" && b.Pattern != a.Pattern:
		return "they must match " + b.Pattern
	case b.KeyPattern != "" && b.KeyPattern != a.KeyPattern:
		return "keys must match " + b.KeyPattern
	case b.Format != "" && !strings.EqualFold(b.Format, a.Format):
		return "the format is " + b.Format
	}
	return ""
}

func narrowerFile(a, b *typeregistry.Params) string {
	switch {
	case lower(a.MaxBytes, b.MaxBytes):
		return "at most " + units.Bytes(*b.MaxBytes) + " are allowed"
	case !mediaCovered(a.MediaTypes, b.MediaTypes):
		return "the media types are " + strings.Join(b.MediaTypes, ", ")
	}
	return ""
}

// mediaCovered reports whether now has all media types of old; an empty list has all there are.
func mediaCovered(old, now []string) bool {
	if len(now) == 0 || slices.Contains(now, "*/*") {
		return true
	}
	return len(old) > 0 && !slices.ContainsFunc(old, func(o string) bool {
		return !slices.ContainsFunc(now, func(n string) bool {
			return n == o || strings.HasSuffix(n, "/*") && strings.HasPrefix(o, strings.TrimSuffix(n, "*"))
		})
	})
}

// lower reports whether a maximum is new or less than before.
func lower[N int | int64](old, now *N) bool { return now != nil && (old == nil || *now < *old) }

// higher reports whether a minimum is new or more than before.
func higher(old, now *int) bool {
	return now != nil && (old == nil && *now > 0 || old != nil && *now > *old)
}

// less compares decimal numbers exactly.
func less(a, b json.Number) bool {
	x, okX := new(big.Rat).SetString(a.String())
	y, okY := new(big.Rat).SetString(b.String())
	return okX && okY && x.Cmp(y) < 0
}

// sooner compares bounds of days, moments and durations. "today" may be on either side of a day.
func sooner(a, b string) bool {
	if a == "today" || b == "today" {
		return a != b
	}
	x, errX := units.ParseDuration(a)
	y, errY := units.ParseDuration(b)
	if errX == nil && errY == nil {
		return x < y
	}
	p, errP := time.Parse(time.RFC3339Nano, a)
	q, errQ := time.Parse(time.RFC3339Nano, b)
	if errP == nil && errQ == nil {
		return p.Before(q)
	}
	return a < b // days
}
