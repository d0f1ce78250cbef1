package runner

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestExpand: the rows are those of Kubernetes' own tests of its expansion.
func TestExpand(t *testing.T) {
	t.Parallel()
	env := environ{"VAR_A": "A", "VAR_B": "B", "VAR_C": "C", "VAR_REF": "$(VAR_A)", "VAR_EMPTY": ""}
	for text, want := range map[string]string{
		"$(VAR_A)":                        "A",
		"___$(VAR_B)___":                  "___B___",
		"___$(VAR_C)":                     "___C",
		"$(VAR_A)-$(VAR_A)":               "A-A",
		"$(VAR_A)-1":                      "A-1",
		"f000-$$VAR_A":                    "f000-$VAR_A",
		"foo\\$(VAR_C)bar":                "foo\\Cbar",
		"foo\\\\$(VAR_C)bar":              "foo\\\\Cbar",
		"foo$$(VAR_B)bar":                 "foo$(VAR_B)bar",
		"foo$$$(VAR_B)bar":                "foo$Bbar",
		"$$(VAR_A)":                       "$(VAR_A)",
		"$$$$$$$(VAR_A)":                  "$$$A",
		"$$$$$$(VAR_A)":                   "$$$(VAR_A)",
		"$(VAR_A$(VAR_B))":                "$(VAR_A$(VAR_B))",
		"$(VAR_A$(VAR_B)":                 "$(VAR_A$(VAR_B)",
		"$(VAR_REF)":                      "$(VAR_A)",
		"%%$(VAR_REF)--$(VAR_REF)%%":      "%%$(VAR_A)--$(VAR_A)%%",
		"foo$(VAR_EMPTY)bar":              "foobar",
		"foo$(VAR_Awhoops!":               "foo$(VAR_Awhoops!",
		"f00__(VAR_A)__":                  "f00__(VAR_A)__",
		"$?_boo_$!":                       "$?_boo_$!",
		"$VAR_A":                          "$VAR_A",
		"$(VAR_DNE)":                      "$(VAR_DNE)",
		"$$$$$$$(BAZ)":                    "$$$$(BAZ)",
		"\n":                              "\n",
		"$":                               "$",
		"VAR_A)$":                         "VAR_A)$",
		"${VAR_A}":                        "${VAR_A}",
		"$(VAR_B)_______$(A":              "B_______$(A",
		"$(VAR_C)_______$(":               "C_______$(",
		"$(VAR_A)foobarzab$":              "Afoobarzab$",
		"foo-\\$(VAR_A":                   "foo-\\$(VAR_A",
		"--$($($($($--":                   "--$($($($($--",
		"$($($($($--foo$(":                "$($($($($--foo$(",
		"foo0--$($($($(":                  "foo0--$($($($(",
		"$(foo$$var)":                     "$(foo$$var)",
		"echo $(date) $((1 + 2)) $(VAR_A": "echo $(date) $((1 + 2)) $(VAR_A",
	} {
		require.Equal(t, want, env.expand(text), text)
	}
}

// TestVariablesNameEarlierOnes: a variable names those before it, also secrets; others stay
// as they are. The command names all.
func TestVariablesNameEarlierOnes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.secrets = map[string]string{"db.password": secretValue}
	seen := filepath.Join(t.TempDir(), "seen")
	spec := shell("expand", "")
	spec.Env = map[string]string{"EARLY": "$(HOST)", "HOST": "db", "URL": "//me:$(PASSWORD)@$(HOST)", "LITERAL": "$$(HOST)", "NONE": "$(NONE) $(NOTHING)", "PYTHONPATH": "/lib/$(HOST)"}
	spec.Secrets = []*flowforgev1.InputSecret{{Grant: &flowforgev1.SecretGrant{Name: "db.password", Mac: []byte("good")}, Variable: "PASSWORD"}}
	process := &flowforgev1.Process{
		Command: []string{"sh", "-c", `printf '%s|' "$@" "$EARLY" "$URL" "$LITERAL" "$NONE" "${PYTHONPATH#*:}" "$$$$" > ` + seen, "sh", "$(URL)", "$(NOTHING)", "$$(HOST)"},
		Expand:  true, Variables: []string{"EARLY", "HOST", "PASSWORD", "URL", "LITERAL", "NONE", "PYTHONPATH"},
	}
	spec.Work = &flowforgev1.AttemptSpec_Process{Process: process}
	wantOutcome(t, b.run(t, spec), flowforgev1.Outcome_OUTCOME_SUCCEEDED)
	got, err := os.ReadFile(seen)
	require.NoError(t, err)
	url := "//me:" + secretValue + "@db"
	require.Regexp(t, `^`+regexp.QuoteMeta(url+"|$(NOTHING)|$(HOST)|$(HOST)|"+url+"|$(HOST)|$(NONE) $(NOTHING)|/lib/db|")+`[0-9]+\|$`, string(got))

	plain := shell("plain", "")
	plain.Env = map[string]string{"HOST": "db", "URL": "$(HOST)"}
	plain.Work = &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{Command: []string{"sh", "-c", `printf %s "$1 $URL" > ` + seen, "sh", "$(HOST)"}}}
	wantOutcome(t, b.run(t, plain), flowforgev1.Outcome_OUTCOME_SUCCEEDED)
	got, err = os.ReadFile(seen)
	require.NoError(t, err)
	require.Equal(t, "$(HOST) $(HOST)", string(got), "a command of a native definition stays as it is")
}
