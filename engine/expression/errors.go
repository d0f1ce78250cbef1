package expression

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/expr-lang/expr/file"
	"github.com/flowforge/flowforge/apperr"
)

// UnknownError is the error for an undefined name. It is wrapped in an [apperr.Error];
// errors.As finds it.
type UnknownError struct {
	Name string   // as it is written, dotted: "inputs.rat"
	Near []string // similar names that exist, best first
}

// Error names the undefined name and similar names.
func (u *UnknownError) Error() string {
	if len(u.Near) == 0 {
		return "there is no " + u.Name
	}
	return "there is no " + u.Name + ": did you mean " + strings.Join(u.Near, " or ") + "?"
}

// invalid is the error for source that users see: the cause, the position and an
// excerpt.
func invalid(source string, err error) error {
	place, cause := "", err.Error()
	if e, ok := errors.AsType[*file.Error](err); ok {
		cause = e.Message
		if e.Prev != nil {
			cause = e.Prev.Error()
		}
		if e.Line > 1 {
			place = fmt.Sprintf(" at line %d, column %d", e.Line, e.Column+1)
		} else if e.Line == 1 {
			place = fmt.Sprintf(" at column %d", e.Column+1)
		}
	}
	return refuse(err, "The expression %s is not valid%s: %s", quoted(source), place, plainWords(cause))
}

// refuse returns an error for users, on one line, that wraps its cause.
func refuse(cause error, format string, args ...any) error {
	return described{&apperr.Error{Code: apperr.Invalid, Message: visible(short(fmt.Sprintf(format, args...), 800))}, cause}
}

// visible returns s with a symbol for each character that is not printable.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// described is an error for users that already describes its cause: errors.As finds both,
// and the text is only the user's.
type described struct {
	reader *apperr.Error
	cause  error
}

func (s described) Error() string   { return s.reader.Message }
func (s described) Unwrap() []error { return []error{s.reader, s.cause} }

// quoted returns a text for messages: quoted, on one line, shortened.
func quoted(s string) string {
	return "«" + visible(short(strings.Join(strings.Fields(short(s, 400)), " "), 80)) + "»"
}

// short returns the first n characters of s.
func short(s string, n int) string {
	for at := range s {
		if n--; n < 0 {
			return s[:at] + "…"
		}
	}
	return s
}

// Messages of the library about values of the wrong kind.
var (
	conversion = regexp.MustCompile(`^interface conversion: interface \{\} is (\S+), not (\S+)$`)
	operation  = regexp.MustCompile(`^invalid operation: (\S+) ?(\S*) ?(\S*)`)
)

// plainWords translates a message of the library.
func plainWords(cause string) string {
	cause = strings.TrimPrefix(cause, "runtime error: ")
	if m := conversion.FindStringSubmatch(cause); m != nil {
		return "expected " + kindOfType(m[2]) + ", got " + kindOfType(m[1])
	}
	switch {
	case strings.Contains(cause, "memory budget exceeded"):
		return errTooMuch.Error()
	case strings.Contains(cause, "exceeds maximum allowed nodes"):
		return fmt.Sprintf("it has more than %d parts", MaxParts)
	case strings.Contains(cause, "token EOF"), strings.Contains(cause, "unexpected end"):
		return "unexpected end"
	}
	if m := operation.FindStringSubmatch(cause); m != nil && m[3] != "" {
		return fmt.Sprintf("operator %s does not apply to %s and %s", m[2], kindOfType(m[1]), kindOfType(m[3]))
	}
	return strings.NewReplacer("\n", " ", "map[string]interface {}", "an object", "[]interface {}", "a list", "interface {}", "a value", helper, "").Replace(cause)
}

// kindOfType returns the JSON name of a Go type.
func kindOfType(t string) string {
	switch t {
	case "bool":
		return "true or false"
	case "string":
		return "a string"
	case "int", "int64", "float64", "json.Number":
		return "a number"
	case "nil", "<nil>":
		return "null"
	case "time.Time":
		return "a date"
	case "time.Duration":
		return "a duration"
	}
	switch {
	case strings.HasPrefix(t, "[]"):
		return "a list"
	case strings.HasPrefix(t, "map["):
		return "an object"
	}
	return t
}

// kindOf describes the kind of v, with the value itself when that is short.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(v)
	case string:
		return "the text " + quoted(v)
	case int, int64, float64:
		return fmt.Sprintf("the number %v", v)
	}
	return kindOfType(fmt.Sprintf("%T", v))
}

// unknown returns the error for name, whose last part is not a key of m.
func unknown(prefix, last string, m map[string]any) *UnknownError {
	return &UnknownError{Name: join(prefix, last), Near: near(prefix, last, slices.Sorted(maps.Keys(m)))}
}

// near returns at most two of names that are most similar to name.
func near(prefix, name string, names []string) []string {
	const longest, most = 64, 200
	if len(name) > longest {
		return nil
	}
	allowed := 1 + len(name)/4
	found := map[int][]string{}
	for i, n := range names {
		if i == most {
			break
		}
		if len(n) > longest || max(len(n), len(name))-min(len(n), len(name)) > allowed {
			continue
		}
		d := apperr.Distance(strings.ToLower(n), strings.ToLower(name))
		found[d] = append(found[d], join(prefix, n))
	}
	for d := range allowed + 1 {
		if best := found[d]; len(best) > 0 {
			return best[:min(2, len(best))]
		}
	}
	return nil
}

// join joins two parts of a path with a dot, if both exist.
func join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}
