package typeregistry

import (
	"strings"
	"time"
)

// Env is what a check may know of the world outside the value.
type Env struct {
	// Now gives "today" its meaning; zero leaves it without one.
	Now time.Time
	// Exists reports whether the reader may use the entry that a value refers
	// to: kind is the kind of the value, ref a catalogue reference
	// ("name@version" or "name"), an artifact id or a secret's name. Nil: not checked.
	Exists func(kind Kind, ref string) bool
	// Head returns the first HeadBytes bytes of a file that was uploaded, by its
	// SHA-256 in hex; false when they cannot be read. Nil: not looked at.
	Head func(sha256 string) ([]byte, bool)
}

// Problem is one thing wrong with a value. Path leads from the value to the
// part at fault: "" is the value itself, then "a.b", "0", "key".
type Problem struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// maxProblems bounds what one check reports.
const maxProblems = 100

// Check returns what is wrong with v, nothing when it is a value of t.
func (t *Type) Check(v any, env Env) []Problem {
	_, problems := t.CheckValue(v, env)
	return problems
}

// Normalize returns the canonical form of v, checked without an environment.
func (t *Type) Normalize(v any) (any, []Problem) { return t.CheckValue(v, Env{}) }

// CheckValue returns the canonical form of v and what is wrong with it. The
// canonical form is meaningful only without problems.
func (t *Type) CheckValue(v any, env Env) (any, []Problem) {
	c := &checker{env: env}
	out := t.normalize(c, "", Plain(v))
	return out, c.problems
}

// checker collects the problems of one check.
type checker struct {
	env      Env
	problems []Problem
}

func (c *checker) problem(path, message string) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, Problem{Path: path, Message: message})
	}
}

// wrong reports that v is not what t wants, and what to enter instead.
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

// exists reports a reference to something that the reader may not use.
func (c *checker) exists(t *Type, path, ref string) {
	if c.env.Exists != nil && !c.env.Exists(t.Kind, ref) {
		c.problem(path, "There is no "+t.impl.noun(t)[2:]+" "+quote(ref)+" that you may use. Choose one from the list.")
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
