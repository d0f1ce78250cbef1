package dag

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRules(t *testing.T) {
	t.Parallel()
	plan, problems := Compile([]Spec{{Name: "a"}, {Name: "b"}, {Name: "my-op_1"}})
	require.Empty(t, problems)
	ends := func(a, b, c string) *Run {
		r := NewRun(plan, 0)
		for i, how := range []string{a, b, c} {
			switch how {
			case "errored":
				r.Fail(i, true)
			case "failed":
				r.Fail(i, false)
			case "omitted":
				r.Omit(i)
			case "skipped":
				r.Set(i, Skipped)
			default:
				r.Set(i, Succeeded)
			}
		}
		return r
	}
	for _, c := range []struct {
		rule, a, b, c string
		want          bool
	}{
		{"a", "succeeded", "failed", "failed", true},
		{"a", "skipped", "failed", "failed", true}, // of the bare statuses
		{"a", "omitted", "succeeded", "succeeded", false},
		{"a && b", "succeeded", "failed", "succeeded", false},
		{"a || b", "failed", "succeeded", "succeeded", true},
		{"a.Failed", "errored", "succeeded", "succeeded", false},
		{"a.Errored", "errored", "succeeded", "succeeded", true},
		{"!a.Succeeded", "failed", "succeeded", "succeeded", true},
		{"a.Succeeded && (b.Failed || my-op_1.Skipped)", "succeeded", "succeeded", "skipped", true},
		{"a.Failed || b.Failed && my-op_1", "succeeded", "failed", "failed", false}, // && binds closer
		{"a.Completed&&b.Completed", "failed", "omitted", "failed", true},
		{"a.Omitted", "omitted", "failed", "failed", true},
		{"a.AnySucceeded && b.AllFailed", "succeeded", "failed", "failed", true},
		{"a.Daemoned", "succeeded", "failed", "failed", false},
		{" !( a.Failed )\n", "succeeded", "failed", "failed", true},
	} {
		rule, err := ParseRule(c.rule, HasSucceeded, WasSkipped)
		require.NoError(t, err, c.rule)
		require.Equal(t, c.rule, rule.String())
		r := ends(c.a, c.b, c.c)
		require.Equal(t, c.want, rule.root.bind(plan.byName).holds(r.is), c.rule)
	}
}

func TestRulesThatAreWrong(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"":                              "expected the name of a node",
		"a.Done":                        "expected one of Succeeded, Failed",
		"a b":                           "expected &&, || or the end of the rule",
		"a && ":                         "At character 6",
		"(a":                            "expected a closing parenthesis",
		"a)":                            "&&, || or the end",
		"a & b":                         `"& b"`,
		"é":                             "At character 1",
		strings.Repeat("(", 300):        "nested more than",
		strings.Repeat("!", 300) + "a":  "nested more than",
		strings.Repeat("a && ", 10_000): "longer than",
	} {
		_, err := ParseRule(text, HasSucceeded)
		require.ErrorContains(t, err, says, text)
	}
}

func FuzzRule(f *testing.F) {
	for _, s := range []string{"a", "a.Failed || !(b && c.Skipped)", "((", "a..b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rule, err := ParseRule(text, HasSucceeded, WasSkipped)
		if err != nil {
			return
		}
		again, err := ParseRule(rule.String(), HasSucceeded, WasSkipped)
		require.NoError(t, err)
		require.Equal(t, rule.Names(), again.Names())
	})
}

// TestOutcomes: a failure counts when it reaches an end.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	rule := func(text string) *Rule {
		r, err := ParseRule(text, HasSucceeded)
		require.NoError(t, err)
		return r
	}
	plan, problems := Compile([]Spec{
		{Name: "work"}, {Name: "rescue", Rule: rule("work.Failed")}, {Name: "after", Rule: rule("work.Succeeded || rescue.Succeeded")},
	})
	require.Empty(t, problems)
	r := NewRun(plan, 0)
	r.Fail(0, false)
	r.Set(1, Succeeded)
	r.Set(2, Succeeded)
	require.Equal(t, Succeeded, r.Outcome(Root))
	r = NewRun(plan, 0)
	r.Fail(0, false)
	r.Fail(1, false)
	r.Omit(2)
	require.Equal(t, Failed, r.Outcome(Root))
}
