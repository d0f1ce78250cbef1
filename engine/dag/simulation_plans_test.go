package dag

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomRule joins statuses of some of the names.
func randomRule(t *testing.T, rng *rand.Rand, names []string) *Rule {
	t.Helper()
	text := ""
	for range 1 + rng.IntN(3) {
		if text != "" {
			text += []string{" && ", " || "}[rng.IntN(2)]
		}
		if rng.IntN(6) == 0 {
			text += "!"
		}
		text += names[rng.IntN(len(names))]
		if rng.IntN(4) > 0 {
			all := Statuses()
			text += "." + string(all[rng.IntN(len(all))])
		}
	}
	rule, err := ParseRule(text, HasSucceeded, WasSkipped)
	require.NoError(t, err)
	return rule
}

// randomTraits are plain most of the time.
func randomTraits(rng *rand.Rand, deep int) Traits {
	t := Traits{OnFailure: Policy(rng.IntN(3))}
	switch rng.IntN(12) {
	case 0, 1:
		t.Expands = deep > 0
		t.Shares = t.Expands && rng.IntN(4) == 0
	case 2:
		t.Waits = true
	case 3:
		t.MayFail = Failures(1 + rng.IntN(3))
	case 4, 5:
		t.Serves = true
	}
	t.Conditional = rng.IntN(6) == 0
	t.Watches = rng.IntN(8) == 0
	t.Undrained = rng.IntN(3) == 0 && (t.Watches || rng.IntN(8) == 0)
	return t
}

// randomPlan returns an acyclic plan of n nodes, the last of which may be final.
func randomPlan(t *testing.T, rng *rand.Rand, n, deep int) *Plan {
	t.Helper()
	specs := make([]Spec, n)
	for i := range specs {
		specs[i] = Spec{Name: fmt.Sprintf("n%d", i), Traits: randomTraits(rng, deep)}
		if i > n/2 && rng.IntN(12) == 0 {
			specs[i].Final = true
			continue
		}
		var names []string
		for d := range i {
			if rng.IntN(i+1) < 2 && !specs[d].Final {
				names = append(names, specs[d].Name)
				specs[i].Dependencies = append(specs[i].Dependencies, Dependency{Name: specs[d].Name, Streams: rng.IntN(5) < 2})
			}
		}
		if len(names) > 0 && rng.IntN(3) == 0 {
			specs[i].Rule = randomRule(t, rng, names)
			specs[i].Outlasts = specs[i].Watches && rng.IntN(2) == 0
		}
	}
	plan, problems := Compile(specs)
	require.Empty(t, problems)
	return plan
}
