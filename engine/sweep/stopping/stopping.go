// Package stopping decides which runs of a sweep end early, from the best value that each run had
// reached at fixed steps of its metric. Pure.
package stopping

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Kind is a rule.
type Kind string

// The rules. Both compare the best value of a run until a step with those of the other runs until
// the same step.
//
// Median is the rule of Google Vizier (Golovin et al., KDD 2017, section 3.2.2), with the best value
// of the others in place of their running average, as in Optuna. Halving is asynchronous successive
// halving (Li et al., "A System for Massively Parallel Hyperparameter Tuning", MLSys 2020) in its
// stopping variant: at a rung, a run continues if it is in the best 1/Factor of the runs that
// reached the rung so far.
const (
	Median  Kind = "median"
	Halving Kind = "halving"
)

// Rule is a rule with its settings.
type Rule struct {
	Kind    Kind
	Lower   bool  // lower values are better
	MinStep int64 // the first step that is compared
	MinRuns int   // of Median: other runs that must have reached the step
	Factor  int   // of Halving
}

const maxStep = 1 << 40

// Steps returns the steps at which runs are compared, ascending: the rungs of Halving; for Median
// MinStep and then each step a quarter later.
func (r Rule) Steps() []int64 {
	var steps []int64
	for s := max(r.MinStep, 1); s < maxStep; {
		steps = append(steps, s)
		if r.Kind == Halving {
			s *= int64(max(r.Factor, 2))
		} else {
			s = max(s+1, int64(math.Ceil(float64(s)*1.25)))
		}
	}
	return steps
}

// Decision indicates that a run ends early.
type Decision struct {
	Step  int64
	Value float64 // best of the run until the step
	Limit float64 // what it had to reach
	Of    int     // runs that it was compared with
	rule  Rule
}

// Decide reports whether a run that has just reached step with its best value until then ends
// early. Others are the best values of the other runs that have reached the step, in any state.
func (r Rule) Decide(step int64, value float64, others []float64) (Decision, bool) {
	d := Decision{Step: step, Value: value, Of: len(others), rule: r}
	if r.Kind == Halving {
		all := append(slices.Clone(others), value)
		kept := len(all) / max(r.Factor, 2)
		if kept == 0 { // too few to drop one
			return d, false
		}
		d.Limit = r.ordered(all)[kept-1]
		return d, r.worse(value, d.Limit)
	}
	if len(others) < max(r.MinRuns, 1) {
		return d, false
	}
	d.Limit = median(r.ordered(others))
	return d, r.worse(value, d.Limit)
}

// ordered returns the values, the best first.
func (r Rule) ordered(values []float64) []float64 {
	out := slices.Sorted(slices.Values(values))
	if !r.Lower {
		slices.Reverse(out)
	}
	return out
}

func (r Rule) worse(a, b float64) bool {
	if r.Lower {
		return a > b
	}
	return a < b
}

func median(ordered []float64) float64 {
	n := len(ordered)
	if n%2 == 1 {
		return ordered[n/2]
	}
	return (ordered[n/2-1] + ordered[n/2]) / 2
}

// Message names the rule and the numbers: "Stopped early: below the median at step 10 (0.71, median
// of 8 other runs 0.74)."
func (d Decision) Message() string {
	side := "below"
	if d.rule.Lower {
		side = "above"
	}
	if d.rule.Kind == Halving {
		return fmt.Sprintf("Stopped early: not among the best 1 of %d at the rung of step %d (%s, limit %s of %d runs).",
			d.rule.Factor, d.Step, number(d.Value), number(d.Limit), d.Of+1)
	}
	return fmt.Sprintf("Stopped early: %s the median at step %d (%s, median of %d other runs %s).", side, d.Step, number(d.Value), d.Of, number(d.Limit))
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }
