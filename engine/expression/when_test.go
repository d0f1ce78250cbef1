package expression

import (
	"strings"
	"testing"

	"github.com/flowforge/flowforge/apperr"
)

func TestConditions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`heads == tails`:                     false,
		`heads == heads`:                     true,
		`heads != tails`:                     true,
		`"a" == 'a'`:                         true,
		`'a b' == "a b"`:                     true,
		`3 > 2`:                              true,
		`3 == 3.0`:                           true,
		`"3" == 3`:                           false,
		`a != b && (c == d)`:                 false,
		`a != b || (c == d)`:                 true,
		`true`:                               true,
		`false`:                              false,
		`!false`:                             true,
		`true == true`:                       true,
		`'a' in ('a','b')`:                   true,
		`c in ('a','b')`:                     false,
		`Failed =~ "^Fa"`:                    true,
		`"Succeeded" !~ "^Fa"`:               true,
		`heads == tails || x == x`:           true,
		`(1 + 2) * 2 == 6`:                   true,
		`7 % 2 == 1`:                         true,
		`"2026-01-02" < "2026-01-03"`:        true,
		`[flip coin] == "flip coin"`:         true,
		`"" == ""`:                           true,
		`1 <= 1 && 2 >= 1`:                   true,
		`0x10 == 16`:                         true,
		`true && !(a == b)`:                  true,
		`"it \"quotes\"" == 'it \"quotes\"'`: true,
		`-1 < 0`:                             true,
		`Succeeded == Succeeded && 10 > 9`:   true,
		`a == b ? false : true`:              true,
		`"` + strings.Repeat("long ", 2_000) + `ok" =~ "ok$"`: true,
		`"ab" =~ "a" && "x" !~ 'a'`:                           true,
		`"a =~ (" == "a =~ ("`:                                true,
		`"grüße" == "grüße"`:                                  true,
	} {
		if got, err := When(text); err != nil || got != want {
			t.Errorf("%s = %v, %v", text, got, err)
		}
	}
}

func TestConditionsWithTags(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{{steps.flip-coin.outputs.result}} == heads`:            true,
		`"{{steps.flip-coin.outputs.result}}" == "tails"`:        false,
		`{{steps.generate.outputs.parameters.num}} > 0`:          true,
		`{{=asInt(inputs.parameters.x) > 2}}`:                    true,
		`{{=tasks['a-b'].outputs.result == "heads"}}`:            false,
		`{{=tasks['a-b'].status}} == Succeeded && {{item}} != x`: true,
	} {
		replaced, err := scope().RenderString(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := When(replaced); err != nil || got != want {
			t.Errorf("%s = %v, %v", replaced, got, err)
		}
	}
}

func TestWrongConditions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                "is empty",
		`heads`:                           "must be true or false, but is the text «heads»",
		`3`:                               "is the number 3",
		`a b == c`:                        "needs quotes",
		`my-step == x`:                    "",
		`1.2.3 == 1.2.3`:                  "needs quotes",
		`v1.2 == v1.2`:                    "the text v1.2 contains dots; put it in quotes",
		`a === b`:                         "needs quotes",
		`{{steps.a.outputs.result}} == x`: "needs quotes",
		`(a == b`:                         "unbalanced parenthesis",
		`"a == b`:                         "unclosed string literal; a string",
		`a == `:                           "unexpected end",
		`a > 3`:                           "",
		`x =~ "("`:                        "is not a valid pattern: missing closing )",
		`x =~ ("a" + "b")`:                "must follow its operator",
		`x =~`:                            "",
		`foo("x") == "x"`:                 "",
		`true && 1`:                       "",
		strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200): "more than 100 nested brackets",
		strings.Repeat("a", MaxLength+1):                             "at most 16384",
		`x =~ "` + strings.Repeat("(abcdefgh", 50) + `{1000}"`:       "",
		`x =~ "` + strings.Repeat("abcdefgh", 50) + `{1000}x{1000}"`: "more than",
		`x =~ "((a{100}){10}){10}"`:                                  "",
	} {
		got, err := When(text)
		if err == nil || !strings.Contains(err.Error(), want) || apperr.CodeOf(err) != apperr.Invalid {
			t.Errorf("%s = %v, %v; want %s", quoted(text), got, err, want)
		}
	}
}

// The greatest conditions that are allowed end, and what they say stays short.
func TestHostileConditionsEnd(t *testing.T) {
	t.Parallel()
	many := func(unit, sep string) string {
		n := (MaxLength - 100) / (len(unit) + len(sep))
		return strings.TrimSuffix(strings.Repeat(unit+sep, n), sep)
	}
	for name, text := range map[string]string{
		"a long text against a great pattern": `"` + strings.Repeat("a", MaxLength-60) + `" =~ "(a|b|c)*.{900}q"`,
		"many great patterns":                 many(`"" =~ ".{900}"`, " || "),
		"many small patterns":                 many(`a =~ "b*"`, " && "),
		"a word as a pattern":                 `a =~ ` + strings.Repeat("a", MaxLength-10),
		"a bracketed pattern":                 `a =~ [(a{999}){9}]`,
		"an escaped quote":                    `a =~ "\"(a{999}){999}"`,
		"a quote of the other kind":           `a =~ "x' =~ '(a{900}b{900}c{900}){2}"`,
		"many comparisons":                    many(`a == a`, " && "),
		"many members":                        `z in (` + many(`a`, ",") + `)`,
		"many signs":                          strings.Repeat("!", MaxLength-10) + "true",
		"many minuses":                        strings.Repeat("-", MaxLength-10) + "1 == 1",
		"many powers":                         many(`9`, "**") + " > 1",
		"many texts":                          many(`"aaaaaaaa"`, "+") + ` == "x"`,
		"many questions":                      many(`true ? true`, " : ") + " : false",
		"no text at all":                      "0" + strings.Repeat("\x96", 9_000),
		"many opening brackets":               strings.Repeat("(", MaxLength),
		"many closing brackets":               strings.Repeat(")", MaxLength),
		"many commas":                         strings.Repeat(",", MaxLength),
	} {
		_, err := When(text)
		if err != nil && (len(err.Error()) > 4_000 || apperr.CodeOf(err) != apperr.Invalid) {
			t.Errorf("%s: a message of %d bytes, %s", name, len(err.Error()), apperr.CodeOf(err))
		}
	}
}
