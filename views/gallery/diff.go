package gallery

import (
	"github.com/flowforge/flowforge/static"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/dagview"
)

// versionDiff has every kind of change.
func versionDiff(f views.Page) views.VersionDiff {
	names := []string{"load", "train", "report", "export"}
	states := []dagview.NodeState{{Sub: "same"}, {State: "CHANGED", Sub: "changed"}, {State: "ADDED", Sub: "added"}, {State: "REMOVED", Sub: "removed"}}
	drawing := dagview.Layout([]dagview.Item{
		{Name: "load"}, {Name: "train", Level: 1, Dependencies: []int{0}}, {Name: "report", Level: 2, Dependencies: []int{1}}, {Name: "export", Level: 2, Dependencies: []int{1}},
	}, dagview.Right)
	graph := dagview.Painter{ID: "diff", Drawing: drawing, Names: names, States: states, Selected: -1, Fit: true}.Picture("Operators of 1.2.0 and 2.0.0")
	inner := dagview.Painter{ID: "diff-1", Drawing: drawing, Names: names, States: states, Selected: -1, Fit: true}.Picture("Operators of the graph evaluate in 1.2.0 and 2.0.0")
	line := func(kind, before, after, text string) views.DiffLine {
		return views.DiffLine{Kind: kind, Before: before, After: after, Parts: []views.SourcePart{{Text: text}}}
	}
	return views.VersionDiff{
		Page: frame(f, "Changes", views.SectionWorkflows, views.Crumb{Name: "Workflows", URL: "/workflows"}, views.Crumb{Name: "digits.train", URL: "#"}),
		Name: "digits.train", URL: "#", Action: "#", From: "1.2.0", To: "2.0.0", SwapURL: "#", Versions: []string{"2.0.0", "1.2.0", "1.1.0"},
		Breaks: []string{`Every launch must set "dataset".`}, Notes: []string{"Only the first 128 MiB of the code package of 2.0.0 are compared."}, Graph: &graph,
		Graphs: []views.DiffGraph{{ID: "h-diff-graph-1", Name: "evaluate", State: "CHANGED", Picture: inner}},
		Sections: []views.DiffSection{
			{ID: "h-inputs", Title: "Inputs", Rows: []views.DiffRow{
				{Name: "dataset", State: "ADDED", Breaks: "x", Details: []views.DiffDetail{{Path: "type", After: "Dataset"}, {Path: "required", After: "yes"}}},
				{Name: "epochs", State: "CHANGED", Details: []views.DiffDetail{{Path: "default", Before: "10", After: "20"}}},
			}},
			{ID: "h-operators", Title: "Operators", Rows: []views.DiffRow{
				{Name: "export", State: "REMOVED"},
				{Name: "train", State: "CHANGED", Details: []views.DiffDetail{{Path: "code.script", Lines: []views.DiffLine{
					{Header: "@@ -1,2 +1,2 @@"}, line("", "1", "1", "set -e"), line("del", "2", "", "python train.py"), line("add", "", "2", "python train.py --fast"),
				}}}},
			}},
		},
		Files: []views.DiffFile{
			{ID: "file-1", Name: "train.py", State: "CHANGED", Added: "+1", Removed: "−1", Open: true, Lines: []views.DiffLine{
				{Header: "@@ -8,3 +8,3 @@"}, line("", "8", "8", "def train(rate):"), line("del", "9", "", "    return rate"), line("add", "", "9", "    return rate * 2"),
			}},
			{ID: "file-2", Name: "weights.bin", State: "ADDED", Note: "Not compared line by line: the file is not text, or larger than 128 KiB."},
		},
	}
}

// artifactCompare has two images and a joined table.
func artifactCompare(f views.Page) views.ArtifactCompare {
	rows := artifactRows()
	image := views.Preview{Kind: "image", Image: static.URL("icons/icon.svg"), Alt: "mistakes"}
	return views.ArtifactCompare{
		Page: frame(f, "Compare artifacts", views.SectionArtifacts, views.Crumb{Name: "Artifacts", URL: "/artifacts"}),
		Name: "mistakes", Same: "#7k2f00 and #91ab00 have the same bytes.", Images: true,
		Items: []views.ComparedArtifact{{Row: rows[0], Preview: image, First: true}, {Row: rows[1], Preview: image}},
		Table: &views.JoinedTable{
			Key: "digit", Columns: []string{"recall"}, Names: []string{"#7k2f00", "#91ab00"}, Note: "1 row differs of 2",
			Rows: []views.JoinedRow{{Key: "0", Cells: []views.CompareCell{{Text: "0.98"}, {Text: "0.99", Changed: true, Delta: "+0.01"}}}, {Key: "1", Cells: []views.CompareCell{{Text: "1"}, {Missing: true, Changed: true}}}},
		},
	}
}
