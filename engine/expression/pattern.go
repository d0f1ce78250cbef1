package expression

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// The limits of a regular expression: matching time is proportional to its states times
// the length of the text.
const (
	maxPattern = 1_000
	maxStates  = 5_000
)

// pattern compiles a regular expression (RE2) after counting its states.
func (m *meter) pattern(s string) (*regexp.Regexp, int, error) {
	if len(s) > maxPattern {
		return nil, 0, fmt.Errorf("a pattern may have at most %d bytes, but this one has %d", maxPattern, len(s))
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			return nil, 0, fmt.Errorf("%s is not a valid pattern: %s %s", quoted(s), e.Code, quoted(e.Expr))
		}
		return nil, 0, err
	}
	n := states(tree)
	if n > maxStates {
		return nil, 0, fmt.Errorf("the pattern %s repeats so much that it has more than %d states", quoted(s), maxStates)
	}
	m.spend(20 + 2*n)
	re, err := regexp.Compile(s)
	return re, n, err
}

// states estimates the number of states of the automaton of re; it returns maxStates+1
// for any larger number.
func states(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		n += states(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxStates+1)
}

// scan charges one search of a pattern through n bytes.
func (m *meter) scan(n, states int) {
	const statesPerStep = 64
	if n > 0 && states > MaxSteps*statesPerStep/n {
		m.spend(-1)
	}
	m.spend(1 + n*states/statesPerStep)
}

// matches implements the operator matches: it reports whether a text contains a match
// of a pattern.
func matches(m *meter, args []any) (any, error) {
	s, err := texts(args, 2)
	if err != nil {
		return nil, err
	}
	re, n, err := m.pattern(s[1])
	if err != nil {
		return nil, err
	}
	m.scan(len(s[0]), n)
	return re.MatchString(s[0]), nil
}
