package dag

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Status is a condition of a rule on a node that has ended or serves.
type Status string

// The statuses. For a node that expanded into items, AnySucceeded and AllFailed apply
// to the items; for any other node they equal Succeeded and Failed.
const (
	HasSucceeded Status = "Succeeded"
	HasFailed    Status = "Failed"  // its task failed
	HasErrored   Status = "Errored" // the system failed, not its task
	WasSkipped   Status = "Skipped" // its condition was false
	WasOmitted   Status = "Omitted" // its dependencies did not satisfy its rule
	HasEnded     Status = "Completed"
	AnySucceeded Status = "AnySucceeded"
	AllFailed    Status = "AllFailed"
	IsDaemoned   Status = "Daemoned" // it runs and serves other nodes
)

// Statuses returns all statuses that a rule may name.
func Statuses() []Status {
	return []Status{HasSucceeded, HasFailed, HasErrored, WasSkipped, WasOmitted, HasEnded, AnySucceeded, AllFailed, IsDaemoned}
}

// ofFailure returns the kinds of failure that s matches.
func (s Status) ofFailure() Failures {
	switch s {
	case HasFailed:
		return OfTask
	case HasErrored:
		return OfSystem
	case HasEnded, AllFailed:
		return AnyFailure
	case HasSucceeded, WasSkipped, WasOmitted, AnySucceeded, IsDaemoned:
	}
	return NoFailure
}

const (
	maxRule      = 20_000 // bytes
	maxRuleDepth = 200
)

// Rule specifies when a node may begin, from the end states of its dependencies: names with
// statuses joined by &&, || and !, such as "a.Succeeded && (b.Failed || c.Skipped)".
type Rule struct {
	text  string
	root  *term
	names []string
}

// term is one term of a rule. node is set in the copy that a plan holds.
type term struct {
	op          byte // '&', '|', '!' or 'a'
	left, right *term
	name        string
	node        int
	status      Status
}

// ParseRule reads a rule. A name without a status means any of bare, which has at least
// one status. Errors are sentences that give the position of the mistake.
func ParseRule(text string, bare ...Status) (*Rule, error) {
	if len(text) > maxRule {
		return nil, fmt.Errorf("The rule is longer than %d bytes.", maxRule)
	}
	p := ruleParser{text: text, bare: bare}
	root, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(text) {
		return nil, p.errorf("expected &&, || or the end of the rule")
	}
	r := &Rule{text: text, root: root}
	root.each(func(t *term) {
		if !slices.Contains(r.names, t.name) {
			r.names = append(r.names, t.name)
		}
	})
	return r, nil
}

// Names lists the nodes in the rule, in the order of the text.
func (r *Rule) Names() []string { return r.names }

// OfFailure reports whether any part of the rule handles a failure.
func (r *Rule) OfFailure() bool {
	found := false
	r.root.each(func(t *term) { found = found || t.status.ofFailure() != NoFailure })
	return found
}

// String returns the rule as it was written.
func (r *Rule) String() string { return r.text }

func (t *term) each(visit func(*term)) {
	switch t.op {
	case 'a':
		visit(t)
	case '!':
		t.left.each(visit)
	default:
		t.left.each(visit)
		t.right.each(visit)
	}
}

// RuleStatuses returns the statuses of node d in the rule of n, in the order of the text; nil
// when the rule does not name d, or n has no rule.
func (n *Node) RuleStatuses(d int) []Status {
	if n.rule == nil {
		return nil
	}
	var requested []Status
	n.rule.each(func(t *term) {
		if t.node == d && !slices.Contains(requested, t.status) {
			requested = append(requested, t.status)
		}
	})
	return requested
}

// OfFailure reports whether all of statuses match only failures.
func OfFailure(statuses []Status) bool {
	only := func(s Status) bool { return s == HasFailed || s == HasErrored || s == AllFailed }
	return len(statuses) > 0 && !slices.ContainsFunc(statuses, func(s Status) bool { return !only(s) })
}

// holds evaluates t.
func (t *term) holds(is func(node int, status Status) bool) bool {
	switch t.op {
	case 'a':
		return is(t.node, t.status)
	case '!':
		return !t.left.holds(is)
	case '&':
		return t.left.holds(is) && t.right.holds(is)
	}
	return t.left.holds(is) || t.right.holds(is)
}

// bind returns t with names resolved to nodes.
func (t *term) bind(nodes map[string]int) *term {
	if t == nil {
		return nil
	}
	bound := *t
	bound.node, bound.left, bound.right = nodes[t.name], t.left.bind(nodes), t.right.bind(nodes)
	return &bound
}

type ruleParser struct {
	text string
	at   int
	bare []Status
}

func (p *ruleParser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *ruleParser) errorf(format string, args ...any) error {
	rest := []rune(p.text[p.at:])
	found := "the end of the rule"
	if len(rest) > 0 {
		found = fmt.Sprintf("%q", string(rest[:min(len(rest), 20)]))
	}
	place := utf8.RuneCountInString(p.text[:p.at]) + 1
	return fmt.Errorf("At character %d: %s, found %s.", place, fmt.Sprintf(format, args...), found)
}

func (p *ruleParser) take(token string) bool {
	if p.space(); !strings.HasPrefix(p.text[p.at:], token) {
		return false
	}
	p.at += len(token)
	return true
}

func (p *ruleParser) or(depth int) (*term, error) {
	return p.chain(depth, "||", '|', p.and)
}

func (p *ruleParser) and(depth int) (*term, error) {
	return p.chain(depth, "&&", '&', p.factor)
}

func (p *ruleParser) chain(depth int, token string, op byte, part func(int) (*term, error)) (*term, error) {
	left, err := part(depth)
	for err == nil && p.take(token) {
		var right *term
		right, err = part(depth)
		left = &term{op: op, left: left, right: right}
	}
	return left, err
}

func (p *ruleParser) factor(depth int) (*term, error) {
	if depth > maxRuleDepth {
		return nil, fmt.Errorf("The rule is nested more than %d levels deep.", maxRuleDepth)
	}
	switch {
	case p.take("!"):
		inner, err := p.factor(depth + 1)
		return &term{op: '!', left: inner}, err
	case p.take("("):
		inner, err := p.or(depth + 1)
		if err == nil && !p.take(")") {
			err = p.errorf("expected a closing parenthesis")
		}
		return inner, err
	}
	return p.atom()
}

func (p *ruleParser) word() string {
	start := p.at
	for p.at < len(p.text) && isNameByte(p.text[p.at]) {
		p.at++
	}
	return p.text[start:p.at]
}

func isNameByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (p *ruleParser) atom() (*term, error) {
	p.space()
	name := p.word()
	if name == "" {
		return nil, p.errorf("expected the name of a node")
	}
	if p.at >= len(p.text) || p.text[p.at] != '.' {
		var any *term
		for _, s := range p.bare {
			one := &term{op: 'a', name: name, status: s}
			if any == nil {
				any = one
			} else {
				any = &term{op: '|', left: any, right: one}
			}
		}
		return any, nil
	}
	p.at++
	at := p.at
	status := Status(p.word())
	if !slices.Contains(Statuses(), status) {
		p.at = at
		return nil, p.errorf("expected one of %s", join(Statuses()))
	}
	return &term{op: 'a', name: name, status: status}, nil
}

func join(all []Status) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}
