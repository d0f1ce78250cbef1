package document_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/report/document"
)

const fence = "```"

func block(head string, lines ...string) string {
	return fence + head + "\n" + strings.Join(lines, "\n") + "\n" + fence + "\n"
}

func TestBlocksHaveTheirOptions(t *testing.T) {
	t.Parallel()
	d, err := document.Parse("# Results\n\nText with **stress**.\n\n" +
		block("{table}", "title: Best runs", "view: baseline", `where: lr > 0.01 and error ~ "CUDA"`, "sort: -metrics.accuracy", "columns: [lr, metrics.accuracy]", "limit: 20") +
		"\nBetween.\n\n" +
		block("{chart}", "metric: accuracy, loss", "executions:", "  - https://ff.example/executions/0197C3F2-1111-7000-8000-000000000001?tab=logs", "  - '#a1b2c3'", "x: relative", "scale: log", "smoothing: 0.6", "outliers: hide") +
		block("{artifact}", "id: /artifacts/0197c3f2-1111-7000-8000-000000000002") + block("python", "print(1)"))
	require.NoError(t, err)
	require.Empty(t, d.Problems)
	require.Len(t, d.Parts, 6)
	require.Contains(t, d.Parts[0].HTML, "<h2>Results</h2>", "the title of the page is the first heading")
	require.Contains(t, d.Parts[0].HTML, "<strong>stress</strong>")
	require.Equal(t, &document.Block{
		Kind: document.Table, Line: 5, Title: "Best runs", View: "baseline", Where: `lr > 0.01 and error ~ "CUDA"`, Sort: "-metrics.accuracy", Columns: []string{"lr", "metrics.accuracy"}, Limit: 20, Axis: "step",
	}, d.Parts[1].Block)
	require.Equal(t, &document.Block{
		Kind: document.Chart, Line: 16, Metrics: []string{"accuracy", "loss"}, Executions: []string{"0197c3f2-1111-7000-8000-000000000001", "a1b2c3"},
		Axis: "relative", Log: true, Smooth: 60, Outliers: true, Limit: 10,
	}, d.Parts[3].Block)
	require.Equal(t, "0197c3f2-1111-7000-8000-000000000002", d.Parts[4].Block.ID)
	require.Contains(t, d.Parts[5].HTML, `<pre class="code" tabindex="0">`)
}

func TestMistakesNameTheirLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, problem string }{
		"unknown block":      {block("{tabel}"), "Line 1: There is no block {tabel}. Use {table}, {chart}, {artifact}, {execution} or {sweep}."},
		"unknown option":     {"Hello\n\n" + block("{chart}", "metric: a", "metrik: b"), `Line 5: {chart} has no option "metrik".`},
		"twice":              {block("{table}", "limit: 2", "limit: 3"), "The option limit is set twice."},
		"limit":              {block("{table}", "limit: 1000"), "Line 2: Enter a limit from 1 to 100."},
		"no metric":          {block("{chart}", "limit: 5"), "Line 1: {chart} needs a metric"},
		"two selections":     {block("{chart}", "metric: a", "view: b", "executions: c"), "Use executions, or view and where, not both."},
		"no id":              {block("{sweep}"), "{sweep} needs an id"},
		"empty value":        {block("{execution}", "id:"), "Line 2: Enter one value."},
		"nested value":       {block("{table}", "view: {a: b}"), "Line 2: The option view must be a string, a number, or a list of them."},
		"no mapping":         {block("{table}", "- a"), "Line 2: Write options as name: value"},
		"broken":             {block("{table}", "view: [a"), "The options cannot be read"},
		"behind the brace":   {block("{table} view=a"), `Remove "view=a" after {table}`},
		"in a list":          {"- point\n\n  " + strings.ReplaceAll(block("{table}", "limit: 2"), "\n", "\n  "), "Line 3: A live block cannot be inside a list or a quote."},
		"axis":               {block("{chart}", "metric: a", "x: day"), "Line 3: Enter step, time or relative."},
		"smoothing":          {block("{chart}", "metric: a", "smoothing: nan"), "Line 3: Enter a smoothing from 0 to 0.95."},
		"anchors":            {block("{table}", "view: &a x", "where: *a"), "The option view must be a string"},
		"options of a story": {block("{table}", "where: "+strings.Repeat("x", 5000)), "The options of a block have at most 4096 bytes."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := document.Parse(c.text)
			require.NoError(t, err)
			require.NotEmpty(t, d.Problems)
			var all []string
			for _, p := range d.Problems {
				all = append(all, p.String())
			}
			require.Contains(t, strings.Join(all, "\n"), c.problem)
			require.Empty(t, d.Blocks())
		})
	}
}

func TestTooManyBlocksAreRefused(t *testing.T) {
	t.Parallel()
	d, err := document.Parse(strings.Repeat(block("{table}")+"\n", document.MaxBlocks+1))
	require.NoError(t, err)
	require.Len(t, d.Blocks(), document.MaxBlocks)
	require.Len(t, d.Problems, 1)
	require.Contains(t, d.Problems[0].Message, "at most 40 live blocks")
}

func FuzzParse(f *testing.F) {
	f.Add("# a\n\n" + block("{table}", "view: &a [*a, *a]", "where: |", "  x"))
	f.Add(block("{chart}", "? [a]", ": b", "metric: !!binary x"))
	f.Fuzz(func(t *testing.T, text string) {
		d, err := document.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range d.Parts {
			if strings.Contains(strings.ToLower(p.HTML), "<script") {
				t.Fatalf("a script: %q", p.HTML)
			}
		}
	})
}
