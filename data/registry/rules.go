package registry

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/typeregistry"
)

// Rule compares a metric of a version with that of the version in production.
type Rule struct {
	Metric      string  `json:"metric"`
	Better      string  `json:"better"`           // higher or lower
	Margin      float64 `json:"margin,omitempty"` // by which it must be better
	SameTestSet bool    `json:"same_test_set"`    // both were measured on the same test set
}

// Check is how a rule judged a version.
type Check struct {
	Text   string `json:"text"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Better values of Rule.
const (
	Higher = "higher"
	Lower  = "lower"
)

// Judge applies rules to a version. Without a version in production, a rule asks only for the metric.
func Judge(rules []Rule, candidate catalogue.Entry, current *catalogue.Entry) []Check {
	checks := []Check{}
	for _, r := range rules {
		checks = append(checks, r.judge(candidate, current))
	}
	return checks
}

// rounding is the relative error of a difference of two metrics: 0.7 is not quite 0.1 more than 0.6.
const rounding = 1e-12

func (r Rule) judge(candidate catalogue.Entry, current *catalogue.Entry) Check {
	c := Check{Text: r.Text()}
	value, ok := candidate.Metrics()[r.Metric]
	if !ok {
		c.Detail = "The version has no metric " + r.Metric + "."
		return c
	}
	if current == nil {
		c.OK, c.Detail = true, number(value)+"; no version is in production"
		return c
	}
	before, ok := current.Metrics()[r.Metric]
	if !ok {
		c.Detail = current.Version + ", which is in production, has no metric " + r.Metric + "."
		return c
	}
	if r.SameTestSet && (candidate.TestSet() == "" || candidate.TestSet() != current.TestSet()) {
		c.Detail = fmt.Sprintf("Measured on %s; %s was measured on %s.", cmp.Or(candidate.TestSet(), "an unknown test set"), current.Version, cmp.Or(current.TestSet(), "an unknown test set"))
		return c
	}
	gain := value - before
	if r.Better == Lower {
		gain = -gain
	}
	c.OK = gain >= r.Margin || r.Margin > 0 && r.Margin-gain <= rounding*math.Max(math.Abs(value), math.Abs(before))
	c.Detail = fmt.Sprintf("%s, %s in production", number(value), number(before))
	return c
}

// Text is the rule for users.
func (r Rule) Text() string {
	text := r.Metric + " at least as high as in production"
	switch {
	case r.Better == Lower && r.Margin > 0:
		text = r.Metric + " at least " + number(r.Margin) + " lower than in production"
	case r.Better == Lower:
		text = r.Metric + " at most as high as in production"
	case r.Margin > 0:
		text = r.Metric + " at least " + number(r.Margin) + " higher than in production"
	}
	if r.SameTestSet {
		text += ", on the same test set"
	}
	return text
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// passed reports whether all checks passed; without checks, none did.
func passed(checks []Check) bool {
	return len(checks) > 0 && !slices.ContainsFunc(checks, func(c Check) bool { return !c.OK })
}

// MetricRow is a metric of two versions.
type MetricRow struct {
	Name        string
	Before, Now *float64
	Better      string // higher, lower, or "" if it is unknown
	Improved    bool
	Worse       bool
	SameTestSet bool
}

// Difference is Now minus Before; nil unless both are known.
func (r MetricRow) Difference() *float64 {
	if r.Before == nil || r.Now == nil {
		return nil
	}
	d := *r.Now - *r.Before
	return &d
}

// Verdict is "better", "worse" or, if neither is known, "".
func (r MetricRow) Verdict() string {
	switch {
	case r.Improved:
		return "better"
	case r.Worse:
		return "worse"
	}
	return ""
}

// Compare returns the metrics of two versions, by name. Which values are better comes from the rules,
// else from the name.
func Compare(before, now catalogue.Entry, rules []Rule) []MetricRow {
	old, current := before.Metrics(), now.Metrics()
	names := slices.Sorted(maps.Keys(old))
	for _, name := range slices.Sorted(maps.Keys(current)) {
		if _, ok := old[name]; !ok {
			names = append(names, name)
		}
	}
	var rows []MetricRow
	for _, name := range names {
		row := MetricRow{Name: name, Better: direction(name, rules), SameTestSet: now.TestSet() != "" && now.TestSet() == before.TestSet()}
		if v, ok := old[name]; ok {
			row.Before = &v
		}
		if v, ok := current[name]; ok {
			row.Now = &v
		}
		if row.Before != nil && row.Now != nil && row.Better != "" && *row.Before != *row.Now {
			row.Improved = (*row.Now > *row.Before) == (row.Better == Higher)
			row.Worse = !row.Improved
		}
		rows = append(rows, row)
	}
	return rows
}

func direction(name string, rules []Rule) string {
	for _, r := range rules {
		if r.Metric == name {
			return r.Better
		}
	}
	lower := strings.ToLower(name)
	for _, part := range []string{"loss", "error", "latency", "rmse", "mse", "mae", "perplexity"} {
		if strings.Contains(lower, part) {
			return Lower
		}
	}
	for _, part := range []string{"accuracy", "precision", "recall", "f1", "auc", "score", "r2", "bleu"} {
		if strings.Contains(lower, part) {
			return Higher
		}
	}
	return ""
}

// SignatureChanges returns how the inputs and outputs of two versions differ, in sentences.
func SignatureChanges(before, now catalogue.Entry) []string {
	var changes []string
	compare := func(side string, old, current []typeregistry.Column) {
		types := map[string]string{}
		for _, c := range old {
			types[c.Name] = c.DType
		}
		for _, c := range current {
			t, ok := types[c.Name]
			switch {
			case !ok:
				changes = append(changes, side+" "+c.Name+" is new.")
			case t != c.DType:
				changes = append(changes, fmt.Sprintf("%s %s is %s instead of %s.", side, c.Name, c.DType, t))
			}
			delete(types, c.Name)
		}
		for _, name := range slices.Sorted(maps.Keys(types)) {
			changes = append(changes, side+" "+name+" is gone.")
		}
	}
	compare("Input", before.Facts.Inputs, now.Facts.Inputs)
	compare("Output", before.Facts.Outputs, now.Facts.Outputs)
	return changes
}
