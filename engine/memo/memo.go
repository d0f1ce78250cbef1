// Package memo decides whether two pieces of work are the same: the parts that a result
// depends on, the key that identifies the result, and the differences between two sets
// of parts. It is pure.
package memo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parts are the values that a result depends on.
type Parts struct {
	Code    string          `json:"code"`    // fingerprint of the code that runs
	Version string          `json:"version"` // of the cache, as the operator sets it
	Inputs  map[string]Part `json:"inputs"`
}

// Part is one value: its fingerprint, and the start of its text for display.
type Part struct {
	Hash string `json:"hash"`
	Text string `json:"text"`
}

// maxText is the maximum length of the text of a value, in characters.
const maxText = 40

// Of returns the key parts of code, identified by its fingerprint, with the inputs values.
// content returns the hash of the bytes behind a reference such as {"$artifact": id}, so that
// equal bytes are equal under any ID. For an object that is not a reference, it returns false.
func Of(code [sha256.Size]byte, version string, values map[string]any, content func(ref map[string]any) (string, bool)) Parts {
	p := Parts{Code: hex.EncodeToString(code[:]), Version: version, Inputs: make(map[string]Part, len(values))}
	for name, value := range values {
		text := Canonical(resolve(value, content))
		sum := sha256.Sum256(text)
		p.Inputs[name] = Part{Hash: hex.EncodeToString(sum[:]), Text: Short(string(text))}
	}
	return p
}

// resolve replaces the references in value with the hashes of their bytes.
func resolve(value any, content func(map[string]any) (string, bool)) any {
	switch v := value.(type) {
	case map[string]any:
		if hash, ok := content(v); ok {
			return map[string]any{"$bytes": hash}
		}
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[name] = resolve(item, content)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = resolve(item, content)
		}
		return out
	}
	return value
}

// Key is the key of the result of p within whom: keys of different owners never
// collide.
func (p Parts) Key(whom ...string) [sha256.Size]byte {
	hash := sha256.New()
	write := func(text string) { fmt.Fprintf(hash, "%d:%s", len(text), text) }
	write(strconv.Itoa(len(whom)))
	for _, w := range whom {
		write(w)
	}
	write(p.Code)
	write(p.Version)
	for _, name := range slices.Sorted(maps.Keys(p.Inputs)) {
		write(name)
		write(p.Inputs[name].Hash)
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

// Changes lists how now differs from before, in the order of the names, such as "lr 0.1
// → 0.2" or "code changed". An empty list means that they are the same.
func Changes(before, now Parts) []string {
	var out []string
	if before.Code != now.Code {
		out = append(out, "code changed")
	}
	if before.Version != now.Version {
		out = append(out, fmt.Sprintf("cache version %s → %s", orNone(before.Version), orNone(now.Version)))
	}
	names := map[string]struct{}{}
	for _, m := range []map[string]Part{before.Inputs, now.Inputs} {
		for name := range m {
			names[name] = struct{}{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		old, had := before.Inputs[name]
		next, has := now.Inputs[name]
		switch {
		case old.Hash == next.Hash:
		case !had:
			out = append(out, fmt.Sprintf("%s is new: %s", name, next.Text))
		case !has:
			out = append(out, name+" was removed")
		case old.Text == next.Text:
			out = append(out, name+" changed after its first characters "+next.Text)
		default:
			out = append(out, fmt.Sprintf("%s %s → %s", name, old.Text, next.Text))
		}
	}
	return out
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// Canonical writes a decoded JSON value so that equal values are equal bytes: keys
// sorted, numbers in one normal form.
func Canonical(value any) []byte {
	text, err := json.Marshal(plain(value))
	if err != nil {
		return []byte("null") // decoded JSON always encodes
	}
	return text
}

// Same reports whether two decoded JSON values are equal.
func Same(a, b any) bool { return string(Canonical(a)) == string(Canonical(b)) }

// plain normalizes the numbers in value.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[name] = plain(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plain(item)
		}
		return out
	case json.Number:
		return number(v.String())
	case float64:
		return number(strconv.FormatFloat(v, 'g', -1, 64))
	}
	return value
}

// exact is the limit up to which float64 represents every integer exactly.
const exact = 1 << 53

func number(text string) json.Number {
	if !strings.ContainsAny(text, ".eE") {
		if text == "-0" {
			text = "0"
		}
		return json.Number(text)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return json.Number(text)
	}
	if f == math.Trunc(f) && math.Abs(f) < exact {
		return json.Number(strconv.FormatInt(int64(f), 10))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

// Short returns the start of a text.
func Short(text string) string {
	if utf8.RuneCountInString(text) <= maxText {
		return text
	}
	return string([]rune(text)[:maxText-1]) + "…"
}
