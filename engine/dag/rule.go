package dag

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Status is what a rule asks of a node once it has ended, or serves.
type Status string

// The statuses. Of a node that became several, AnySucceeded and AllFailed look at
// those; of any other they are Succeeded and Failed.
const (
	HasSucceeded Status = "Succeeded"
	HasFailed    Status = "Failed"  // its task ended badly
	HasErrored   Status = "Errored" // something around its task went wrong
	WasSkipped   Status = "Skipped" // its condition was false
	WasOmitted   Status = "Omitted" // what it depends on did not come out as its own rule wants
	HasEnded     Status = "Completed"
	AnySucceeded Status = "AnySucceeded"
	AllFailed    Status = "AllFailed"
	IsDaemoned   Status = "Daemoned" // it runs and serves others
)

// Statuses are all that a rule may name.
func Statuses() []Status {
	return []Status{HasSucceeded, HasFailed, HasErrored, WasSkipped, WasOmitted, HasEnded, AnySucceeded, AllFailed, IsDaemoned}
}

// ofFailure returns the kinds of failure of which s may hold.
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

// Rule says when a node may begin, by how what it depends on has ended: names with
// statuses joined by &&, || and !, such as "a.Succeeded && (b.Failed || c.Skipped)".
type Rule struct {
	text  string
	root  *term
	names []string
}

// term is one part of a rule. node is set in the copy that belongs to a plan.
type term struct {
	op          byte // '&', '|', '!' or 'a'
	left, right *term
	name        string
	node        int
	status      Status
}

// ParseRule reads a rule. A name alone means any of bare, which holds at least one
// status. Errors are sentences that say where the rule is wrong.
func ParseRule(text string, bare ...Status) (*Rule, error) {
	if len(text) > maxRule {
		return nil, fmt.Errorf("The rule is longer than %d characters.", maxRule)
	}
	p := ruleParser{text: text, bare: bare}
	root, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(text) {
		return nil, p.errorf("&&, || or the end is expected")
	}
	r := &Rule{text: text, root: root}
	root.each(func(t *term) {
		if !slices.Contains(r.names, t.name) {
			r.names = append(r.names, t.name)
		}
	})
	return r, nil
}

// Names lists the nodes that the rule asks about, in the order of the text.
func (r *Rule) Names() []string { return r.names }

// OfFailure reports whether the rule takes up a failure anywhere.
func (r *Rule) OfFailure() bool {
	asks := false
	r.root.each(func(t *term) { asks = asks || t.status.ofFailure() != NoFailure })
	return asks
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

// Asks returns what the rule of n asks of node d, in the order of the text; nil when
// it names it nowhere, or n has no rule.
func (n *Node) Asks(d int) []Status {
	if n.rule == nil {
		return nil
	}
	var asked []Status
	n.rule.each(func(t *term) {
		if t.node == d && !slices.Contains(asked, t.status) {
			asked = append(asked, t.status)
		}
	})
	return asked
}

// OfFailure reports whether all of statuses hold of a failure alone.
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

// bind returns t with names turned into nodes.
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
	found := "the end"
	if len(rest) > 0 {
		found = fmt.Sprintf("%q", string(rest[:min(len(rest), 20)]))
	}
	place := utf8.RuneCountInString(p.text[:p.at]) + 1
	return fmt.Errorf("At character %d %s, but there is %s.", place, fmt.Sprintf(format, args...), found)
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
			err = p.errorf("a closing parenthesis is expected")
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
		return nil, p.errorf("the name of a node is expected")
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
		return nil, p.errorf("one of %s is expected", join(Statuses()))
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
