package typeregistry

import (
	"strings"
	"time"
)

// Env is the environment of a check.
type Env struct {
	// Now resolves "today"; a zero Now leaves it unresolved.
	Now time.Time
	// Produced: a program made the value, so a String may have several lines.
	Produced bool
	// Exists reports whether the user may use the entry that a value refers
	// to: kind is the kind of the value, ref a catalogue reference
	// ("name@version" or "name"), an artifact id, a secret's name or a ConnectionRef. Nil: not
	// checked.
	Exists func(kind Kind, ref string) bool
	// Head returns the first HeadBytes bytes of an uploaded file by its SHA-256
	// in hex; false if they cannot be read. Nil: content is not checked.
	Head func(sha256 string) ([]byte, bool)
	// Offers describes in a sentence why the source of the field f does not have the value v, "" if it
	// does. Nil: values are not compared with sources outside of the definition.
	Offers func(o Offered) string
}

// Offered is a value of a field with a source of options.
type Offered struct {
	Field  Field
	Source Resolved
	Inputs map[string]any // of the schema, checked before the field
	Value  any
}

// Problem is one error in a value. Path leads from the value to the invalid part: ""
// is the value itself, then "a.b", "0", "key".
type Problem struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// maxProblems limits the problems of one check.
const maxProblems = 100

// Check returns the problems of v as a value of t, none if it is valid.
func (t *Type) Check(v any, env Env) []Problem {
	_, problems := t.CheckValue(v, env)
	return problems
}

// Normalize returns the canonical form of v, checked without an environment.
func (t *Type) Normalize(v any) (any, []Problem) { return t.CheckValue(v, Env{}) }

// CheckValue returns the canonical form of v and its problems. The canonical form is
// meaningful only without problems.
func (t *Type) CheckValue(v any, env Env) (any, []Problem) {
	c := &checker{env: env}
	out := t.normalize(c, "", Plain(v))
	return out, c.problems
}

// checker collects the problems of one check.
type checker struct {
	env      Env
	problems []Problem
	scope    map[string]any  // the values that sources of options read
	faulty   map[string]bool // fields of the scope that have problems
}

func (c *checker) problem(path, message string) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, Problem{Path: path, Message: message})
	}
}

// wrong reports that v is not a value of t, and what to enter instead.
func (c *checker) wrong(t *Type, path string, v any) any {
	if v == nil {
		c.problem(path, t.impl.hint(t))
		return v
	}
	c.problem(path, sentence(quote(v)+" is not "+t.impl.noun(t)+".", t.impl.hint(t)))
	return v
}

func (t *Type) normalize(c *checker, path string, v any) any {
	before := len(c.problems)
	out := t.impl.normalize(c, t, path, v)
	if len(c.problems) == before {
		for _, rule := range t.Rules {
			rule.check(c, t, path, out)
		}
	}
	return out
}

// exists reports a reference to an entry that the user may not use.
func (c *checker) exists(t *Type, path, ref string) {
	if c.env.Exists != nil && !c.env.Exists(t.Kind, ref) {
		c.problem(path, "There is no "+t.impl.noun(t)[2:]+" "+quote(ref)+" that you can use. Choose one from the list.")
	}
}

func join(path, segment string) string {
	if path == "" {
		return segment
	}
	return path + "." + segment
}

func sentence(parts ...string) string {
	kept := parts[:0:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, " ")
}
