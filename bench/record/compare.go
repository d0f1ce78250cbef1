package record

import (
	"fmt"
	"slices"
	"strings"
)

// Regression is the growth of a median above which a case is reported as slower.
const Regression = 0.15

// Change is the difference of a case between two runs.
type Change struct {
	Case          string
	Unit          string
	Before, After float64 // medians
	// Apart means that the ranges of the two runs do not overlap, so that the difference is
	// probably not noise.
	Apart bool
}

// Growth is the relative change of the median: 0.2 is 20 % slower.
func (c Change) Growth() float64 {
	if c.Before == 0 {
		return 0
	}
	return c.After/c.Before - 1
}

// Slower reports whether the case is a regression.
func (c Change) Slower() bool { return c.Growth() > Regression }

func (c Change) String() string {
	text := fmt.Sprintf("%s: %.4g → %.4g %s (%+.0f %%)", c.Case, c.Before, c.After, c.Unit, c.Growth()*100)
	if !c.Apart {
		text += ", ranges overlap"
	}
	return text
}

// Previous returns the last run of the same benchmark on the same kind of machine before r.
func Previous(runs []Run, r Run) (Run, bool) {
	for _, before := range slices.Backward(runs) {
		if before.At.Before(r.At) && before.Benchmark == r.Benchmark && before.Machine.Same(r.Machine) {
			return before, true
		}
	}
	return Run{}, false
}

// Compare returns the changes of the cases that both runs measured in the same unit, in the order
// of after.
func Compare(before, after Run) []Change {
	var changes []Change
	for _, c := range after.Cases {
		earlier, ok := before.Case(c.Name)
		if !ok || earlier.Unit != c.Unit || len(c.Values) == 0 || len(earlier.Values) == 0 {
			continue
		}
		least, most := c.Range()
		leastBefore, mostBefore := earlier.Range()
		changes = append(changes, Change{
			Case: c.Name, Unit: c.Unit, Before: earlier.Median(), After: c.Median(),
			Apart: least > mostBefore || most < leastBefore,
		})
	}
	return changes
}

// Comparison describes the changes between two runs in lines of text, regressions first.
func Comparison(before, after Run) string {
	var slower, others []string
	for _, c := range Compare(before, after) {
		if c.Slower() {
			slower = append(slower, "  "+c.String())
		} else {
			others = append(others, "  "+c.String())
		}
	}
	lines := []string{fmt.Sprintf("Compared with the run of %s at commit %s:", before.At.UTC().Format("2006-01-02 15:04 UTC"), before.Commit)}
	if len(slower) > 0 {
		lines = append(lines, fmt.Sprintf("More than %.0f %% slower:", Regression*100))
		lines = append(lines, slower...)
	} else {
		lines = append(lines, fmt.Sprintf("No case is more than %.0f %% slower.", Regression*100))
	}
	return strings.Join(append(lines, others...), "\n") + "\n"
}
