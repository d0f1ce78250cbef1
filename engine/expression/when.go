package expression

import (
	"errors"
	"fmt"
	"strings"

	"github.com/casbin/govaluate"
	"github.com/flowforge/flowforge/apperr"
)

// When evaluates an Argo condition whose tags have been replaced: `heads == tails`,
// `"{{x}}" == 'a'`, `3 > 2 && (a != b)`, `'a' in ('a', 'b')`, `status =~ "Fail.*"`. A
// word without quotes is a text. Texts that look like dates are compared as dates, and
// numbers are numbers, as in Argo.
func When(text string) (value bool, err error) {
	if len(text) > MaxLength {
		return false, apperr.New(apperr.Invalid, "The condition is %d bytes long; at most %d are allowed.", len(text), MaxLength)
	}
	if strings.TrimSpace(text) == "" {
		return false, apperr.New(apperr.Invalid, "The condition is empty.")
	}
	defer func() {
		if p := recover(); p != nil {
			value, err = false, conditionError(text, asError(p))
		}
	}()
	if err := checkCondition(text); err != nil {
		return false, conditionError(text, err)
	}
	parsed, err := govaluate.NewEvaluableExpression(text)
	if err != nil {
		return false, conditionError(text, err)
	}
	tokens := parsed.Tokens()
	for i, t := range tokens {
		switch t.Kind {
		case govaluate.VARIABLE:
			tokens[i].Kind = govaluate.STRING
		case govaluate.ACCESSOR:
			return false, conditionError(text, fmt.Errorf("the text %v contains dots; put it in quotes", strings.Join(t.Value.([]string), ".")))
		}
	}
	if parsed, err = govaluate.NewEvaluableExpressionFromTokens(tokens); err != nil {
		return false, conditionError(text, err)
	}
	got, err := parsed.Evaluate(nil)
	if err != nil {
		return false, conditionError(text, err)
	}
	b, ok := got.(bool)
	if !ok {
		return false, apperr.New(apperr.Invalid, "The condition %s must be true or false, but is %s.", quoted(text), kindOf(got))
	}
	return b, nil
}

// The limits of a condition: nested brackets, and the total number of states of its
// patterns.
const (
	maxBrackets = 100
	maxWhen     = 2_000
)

// checkCondition scans a condition before the library does. It limits the depth of
// brackets and the size of patterns.
func checkCondition(text string) error {
	depth, total, m := 0, 0, newMeter()
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\'', '"', '[':
			i, _ = literalEnd(text, i)
		case '(':
			if depth++; depth > maxBrackets {
				return fmt.Errorf("it has more than %d nested brackets", maxBrackets)
			}
		case ')':
			depth--
		case '~':
			if i == 0 || text[i-1] != '=' && text[i-1] != '!' {
				continue
			}
			n, err := m.operand(text[i+1:])
			if err != nil {
				return err
			}
			if total += n; total > maxWhen {
				return fmt.Errorf("its patterns have more than %d states", maxWhen)
			}
		}
	}
	return nil
}

// operand returns the number of states of the pattern at the start of text. The library
// compiles it first.
func (m *meter) operand(text string) (int, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil // the library reports it
	}
	switch text[0] {
	case '\'', '"', '[':
		_, literal := literalEnd(text, 0)
		_, n, err := m.pattern(literal)
		return n, err
	case '(':
		return 0, errors.New("a pattern must follow its operator, as one quoted text")
	}
	return 0, nil // a word has no pattern syntax
}

// literalEnd returns the end and the content of the literal that begins at i. The
// library ends every literal at any kind of quote, so each kind ends it here.
func literalEnd(text string, i int) (int, string) {
	closes := `'"`
	if text[i] == '[' {
		closes = "]"
	}
	var b strings.Builder
	for k := i + 1; k < len(text); k++ {
		if text[k] == '\\' && k+1 < len(text) {
			k++
		} else if strings.IndexByte(closes, text[k]) >= 0 {
			return k, b.String()
		}
		b.WriteByte(text[k])
	}
	return len(text), b.String()
}

// conditionError returns the error for a condition, with a hint when there is one.
func conditionError(text string, err error) error {
	cause := strings.TrimSpace(err.Error())
	hint := ""
	for _, sign := range []string{"invalid token", "cannot transition token", "unclosed", "hanging accessor", "unable to parse numeric", "unexpected end"} {
		if strings.Contains(strings.ToLower(cause), sign) {
			hint = `; a string of more than one word needs quotes, as in "{{tag}}" == "some text"`
			break
		}
	}
	return refuse(err, "The condition %s cannot be evaluated: %s%s", quoted(text), cause, hint)
}
