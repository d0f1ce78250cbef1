package change_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/comparison/change"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

const header = "name: train\nversion: 1.0.0\n"

func parse(t *testing.T, doc string) *workflow.Definition {
	t.Helper()
	d, problems := workflow.Parse([]byte(header+doc), typeregistry.Builtin())
	require.Empty(t, problems)
	return d
}

// one returns the operators of a workflow with a single task.
const one = "operators: [{name: fit, type: shell, code: {script: 'true'}}]\n"

func TestWhatBreaksLaunches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after, kind, breaks string }{
		"a new optional input":      {"", "{name: lr, type: Float, default: 0.1}", "added", ""},
		"a new required input":      {"", "{name: lr, type: Float}", "added", `Every launch must set "lr".`},
		"a removed input":           {"{name: lr, type: Float}", "", "removed", `Launches that set "lr" are rejected.`},
		"another type":              {"{name: lr, type: Float}", "{name: lr, type: Boolean}", "changed", `Values of "lr" no longer fit: Float is not a Boolean.`},
		"a wider type":              {"{name: lr, type: Integer}", "{name: lr, type: Float}", "changed", ""},
		"a lower maximum":           {"{name: lr, type: Float(max=1)}", "{name: lr, type: Float(max=0.5)}", "changed", `Some values of "lr" are now rejected: the maximum is 0.5.`},
		"an exclusive maximum":      {"{name: lr, type: Float(max=1)}", "{name: lr, type: Float(exclusive_max=1)}", "changed", `Some values of "lr" are now rejected: they must be less than 1.`},
		"an inclusive minimum":      {"{name: lr, type: Float(exclusive_min=1)}", "{name: lr, type: Float(min=1)}", "changed", ""},
		"a higher maximum":          {"{name: lr, type: Float(max=0.5)}", "{name: lr, type: Float(max=1)}", "changed", ""},
		"a choice less":             {"{name: k, type: 'Enum(a, b)'}", "{name: k, type: Enum(a)}", "changed", `Values of "k" no longer fit: "b" is not one of its options.`},
		"another default":           {"{name: lr, type: Float, default: 1}", "{name: lr, type: Float, default: 2}", "changed", ""},
		"no default any more":       {"{name: lr, type: Float, default: 1}", "{name: lr, type: Float}", "changed", `Every launch must set "lr".`},
		"optional with a default":   {"{name: lr, type: Float?}", "{name: lr, type: Float, default: 1}", "changed", ""},
		"more items":                {"{name: l, type: 'List<Integer>'}", "{name: l, type: 'List<Integer>(min_items=2)'}", "changed", `Some values of "l" are now rejected: at least 2 items are required.`},
		"unique items":              {"{name: l, type: 'List<Integer>'}", "{name: l, type: 'List<Integer>(unique=true)'}", "changed", `Some values of "l" are now rejected: items must be unique.`},
		"a bound of items":          {"{name: l, type: 'List<Integer>'}", "{name: l, type: 'List<Integer(max=5)>'}", "changed", `Some values of "l[]" are now rejected: the maximum is 5.`},
		"a pattern of keys":         {"{name: m, type: 'Map<String, Integer>'}", "{name: m, type: 'Map<String, Integer>(key_pattern=\"[a-z]+\")'}", "changed", `Some values of "m" are now rejected: keys must match [a-z]+.`},
		"a bound of values":         {"{name: m, type: 'Map<String, Integer>'}", "{name: m, type: 'Map<String, Integer(min=1)>'}", "changed", `Some values of "m.*" are now rejected: the minimum is 1.`},
		"a bound of a field":        {"{name: s, type: 'Struct{a: Integer = 1}'}", "{name: s, type: 'Struct{a: Integer(max=9) = 1}'}", "changed", `Some values of "s.a" are now rejected: the maximum is 9.`},
		"a later first day":         {"{name: d, type: 'Date(min=\"2020-01-01\")'}", "{name: d, type: 'Date(min=\"2021-01-01\")'}", "changed", `Some values of "d" are now rejected: the minimum is 2021-01-01.`},
		"an earlier first day":      {"{name: d, type: 'Date(min=\"2021-01-01\")'}", "{name: d, type: 'Date(min=\"2020-01-01\")'}", "changed", ""},
		"a shorter duration":        {"{name: d, type: 'Duration(max=\"10h\")'}", "{name: d, type: 'Duration(max=\"90m\")'}", "changed", `Some values of "d" are now rejected: the maximum is PT1H30M.`},
		"a format":                  {"{name: t, type: String}", "{name: t, type: 'String(format=\"email\")'}", "changed", `Some values of "t" are now rejected: the format is email.`},
		"fewer bytes":               {"{name: f, type: File}", "{name: f, type: 'File(max_bytes=1024)'}", "changed", `Some values of "f" are now rejected: at most 1 KiB are allowed.`},
		"fewer media types":         {"{name: f, type: 'File(media_types=[\"image/png\", \"text/csv\"])'}", "{name: f, type: 'File(media_types=[\"image/*\"])'}", "changed", `Some values of "f" are now rejected: the media types are image/*.`},
		"more media types":          {"{name: f, type: 'File(media_types=[\"image/png\"])'}", "{name: f, type: 'File(media_types=[\"image/*\"])'}", "changed", ""},
		"a rule":                    {"{name: lr, type: Float}", "{name: lr, type: Float, max: '2 * 3'}", "changed", `Some launches may be rejected: the rules for "lr" changed.`},
		"a validator":               {"{name: lr, type: Float}", "{name: lr, type: Float, validators: [{rule: range, max: 3}]}", "changed", `Some launches may be rejected: the rules for "lr" changed.`},
		"no validator any more":     {"{name: lr, type: Float, validators: [{rule: range, max: 3}]}", "{name: lr, type: Float}", "changed", ""},
		"an optional one, required": {"{name: lr, type: Float?}", "{name: lr, type: Float}", "changed", `Values of "lr" no longer fit: it may be absent, but Float is required.`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes, err := change.Between(parse(t, "inputs: ["+c.before+"]\n"+one), parse(t, "inputs: ["+c.after+"]\n"+one))
			require.NoError(t, err)
			require.Len(t, changes, 1)
			require.Equal(t, change.Inputs, changes[0].Section)
			require.Equal(t, c.kind, string(changes[0].Kind))
			require.Equal(t, c.breaks, changes[0].Breaks)
			require.NotEmpty(t, changes[0].Details)
		})
	}
}

func TestOperatorsAndSettings(t *testing.T) {
	t.Parallel()
	before := parse(t, `
timeout: 1h
outputs: [{name: loss, type: Float, from: fit.loss}, {name: n, type: Integer, from: fit.n}]
operators:
  - {name: load, type: shell, code: {script: "true"}}
  - {name: fit, type: shell, depends_on: [load], outputs: [{name: loss, type: Float}, {name: n, type: Integer}], code: {script: "a\nb\nc\n"}, resources: {cpu: "1"}}
`)
	after := parse(t, `
timeout: 2h
outputs: [{name: loss, type: String, from: fit.loss}]
operators:
  - {name: fit, type: shell, outputs: [{name: extra, type: Float}, {name: loss, type: String}, {name: n, type: Integer}], code: {script: "a\nB\nc\n"}, resources: {cpu: "2"}}
  - {name: report, type: shell, depends_on: [fit], code: {script: "true"}}
`)
	changes, err := change.Between(before, after)
	require.NoError(t, err)
	var sentences []string
	for _, c := range changes {
		sentences = append(sentences, fmt.Sprintf("%s %s %s", c.Section, c.Name, c.Kind))
		for _, d := range c.Details {
			if d.Patch == nil {
				sentences = append(sentences, fmt.Sprintf("  %s: %q → %q", d.Path, d.Before, d.After))
				continue
			}
			require.Equal(t, "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", d.Patch.String())
		}
	}
	require.Equal(t, []string{
		"outputs loss changed", `  type: "Float" → "String"`,
		"outputs n removed", `  type: "Integer" → ""`, `  from: "fit.n" → ""`,
		"operators fit changed",
		`  depends_on[0]: "load" → ""`, `  outputs.extra.type: "" → "Float"`, `  outputs.loss.type: "Float" → "String"`, `  resources.cpu: "1000m" → "2000m"`,
		"operators load removed", "operators report added",
		"settings timeout changed", `  timeout: "1h" → "2h"`,
	}, sentences)
	require.Equal(t, `Callers that read "loss" get a different type: String is not a Float.`, changes[0].Breaks)
	require.Equal(t, `Callers that read "n" fail.`, changes[1].Breaks)

	same, err := change.Between(before, before)
	require.NoError(t, err)
	require.Empty(t, same)
}

func TestGraphsAndExit(t *testing.T) {
	t.Parallel()
	doc := func(parallelism, fit, exit string) *workflow.Definition {
		return parse(t, "operators: [{name: run, type: graph, graph: part}"+fit+"]\non_exit: ["+exit+"]\ngraphs: {part: {parallelism: "+parallelism+", operators: [{name: a, type: shell, code: {script: 'true'}}]}}\n")
	}
	const task = "{name: tidy, type: shell, code: {script: 'true'}}"
	changes, err := change.Between(doc("1", ", "+task, ""), doc("2", "", task))
	require.NoError(t, err)
	require.Equal(t, []change.Change{
		{Section: change.Operators, Name: "tidy", Kind: change.Changed, Details: []change.Detail{{Path: "runs on exit", After: "true"}}},
		{Section: change.Settings, Name: "graph/part", Kind: change.Changed, Details: []change.Detail{{Path: "parallelism", Before: "1", After: "2"}}},
	}, changes)
}

// Applying a patch to the text before gives the text after, whatever the texts are.
func TestPatchesAreComplete(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range random.IntN(60) {
			fmt.Fprintln(&b, random.IntN(12))
		}
		return b.String()
	}
	for range 500 {
		before, after := text(), text()
		p, err := change.Texts(before, after)
		require.NoError(t, err)
		require.Equal(t, after, apply(t, before, p))
	}
	for range 500 { // few changes, so that equal lines join edits
		lines := make([]string, 120)
		for i := range lines {
			lines[i] = fmt.Sprintf("line %d\n", i)
		}
		before := strings.Join(lines, "")
		for range 1 + random.IntN(6) {
			at := random.IntN(len(lines))
			lines[at] = []string{"", "new\n", lines[at] + "more\n"}[random.IntN(3)]
		}
		after := strings.Join(lines, "")
		p, err := change.Texts(before, after)
		require.NoError(t, err)
		require.Equal(t, after, apply(t, before, p))
	}
	p, err := change.Texts("a", "a\n")
	require.NoError(t, err)
	require.Empty(t, p.Hunks, "a missing line break at the end is not a change")
}

// apply checks the numbers of lines on its way.
func apply(t *testing.T, before string, p change.Patch) string {
	t.Helper()
	lines := strings.SplitAfter(before, "\n")
	var out []string
	at := 0
	for _, h := range p.Hunks {
		for _, l := range h.Lines {
			if l.Before > 0 {
				out = append(out, lines[at:max(at, l.Before-1)]...)
				at = max(at, l.Before-1)
				require.Equal(t, lines[at], l.Text+"\n")
				at++
			}
			if l.After > 0 {
				out = append(out, l.Text+"\n")
				require.Len(t, out, l.After)
			}
		}
	}
	return strings.Join(append(out, lines[at:]...), "")
}

func TestUnionHasNoCycles(t *testing.T) {
	t.Parallel()
	version := func(doc string) workflow.Version {
		d := parse(t, doc)
		plans, problems := d.Compile()
		require.Empty(t, problems)
		return workflow.Version{Definition: d, Plan: plans[""]}
	}
	before := version(`operators:
  - {name: a, type: shell, code: {script: "true"}}
  - {name: b, type: shell, depends_on: [a], code: {script: "true"}}
  - {name: old, type: shell, depends_on: [b], code: {script: "true"}}
  - {name: c, type: shell, depends_on: [old], code: {script: "true"}}
`)
	after := version(`operators:
  - {name: c, type: shell, code: {script: "true"}}
  - {name: b, type: shell, depends_on: [c], code: {script: "true"}}
  - {name: a, type: shell, depends_on: [b], code: {script: "true"}}
`)
	changes, err := change.Between(before.Definition, after.Definition)
	require.NoError(t, err)
	nodes := change.Union(before, after, changes)
	require.Equal(t, []change.Node{
		{Name: "c", Kind: change.Changed, Level: 0},
		{Name: "b", Kind: change.Changed, Level: 1, Dependencies: []int{0}},
		{Name: "a", Kind: change.Changed, Level: 2, Dependencies: []int{1}},
		{Name: "old", Kind: change.Removed, Level: 2, Dependencies: []int{1}},
	}, nodes, "a → b and old → c would close cycles")
}

// TestUnionOfGraphs: operators inside graphs are compared, in graphs that one version lacks too.
func TestUnionOfGraphs(t *testing.T) {
	t.Parallel()
	version := func(doc string) workflow.Version {
		d := parse(t, doc)
		plans, problems := d.Compile()
		require.Empty(t, problems)
		return workflow.Version{Definition: d, Plan: plans[""], Plans: plans}
	}
	const task = `type: shell, code: {script: "true"}`
	before := version("operators: [{name: run, type: graph, graph: part}, {name: gone, type: graph, graph: old}]\ngraphs:\n  part: {operators: [{name: a, " + task + "}, {name: b, depends_on: [a], " + task + "}]}\n  old: {operators: [{name: x, " + task + "}]}\n")
	after := version("operators: [{name: run, type: graph, graph: part}]\ngraphs:\n  part: {operators: [{name: a, " + task + "}, {name: c, depends_on: [a], " + task + "}]}\n")
	changes, err := change.Between(before.Definition, after.Definition)
	require.NoError(t, err)
	require.Equal(t, []string{"old", "part"}, change.ChangedGraphs(changes))
	require.Equal(t, []change.Node{
		{Name: "a"}, {Name: "c", Kind: change.Added, Level: 1, Dependencies: []int{0}}, {Name: "b", Kind: change.Removed, Level: 1, Dependencies: []int{0}},
	}, change.GraphUnion(before, after, "part", changes))
	require.Equal(t, []change.Node{{Name: "x", Kind: change.Removed}}, change.GraphUnion(before, after, "old", changes))
}
