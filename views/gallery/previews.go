package gallery

import (
	"fmt"
	"math"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

// previewEntries are the pages of artifacts by the kind of their file.
func previewEntries() []Entry {
	page := func(name, title string, kind int, p func() views.Preview) Entry {
		return Entry{"artifact-" + name, "Artifact: " + title, func(f views.Page) templ.Component { return views.ArtifactPage(artifact(f, kind, p())) }}
	}
	return []Entry{
		page("json", "JSON", 1, previewJSON),
		page("json-search", "JSON, damaged, with a search", 1, previewJSONSearch),
		page("json-lines", "JSON Lines", 3, previewLines),
		page("array", "array", 0, previewArray),
		page("model", "model", 0, previewModel),
		page("pickle", "pickle that can run commands", 0, previewPickle),
		page("notebook", "notebook", 0, previewNotebook),
		page("archive", "archive", 0, previewArchive),
	}
}

func jsonFixture() *views.JSONNode {
	leaf := func(key, kind, value string) *views.JSONNode {
		return &views.JSONNode{Key: key, Path: "$." + key, Kind: kind, Value: value}
	}
	layers := &views.JSONNode{Key: "layers", Path: "$.layers", Kind: "array", Summary: "[1,024]", MoreURL: "#", More: "Show all 1,024", Children: []*views.JSONNode{
		{Key: "0", Path: "$.layers[0]", Kind: "object", Summary: "{2}", Children: []*views.JSONNode{leaf("in", "number", "16"), leaf("frozen", "boolean", "true")}},
		{Key: "1", Path: "$.layers[1]", Kind: "object", Summary: "{2}", MoreURL: "#"},
	}}
	return &views.JSONNode{Path: "$", Kind: "object", Summary: "{4}", Open: true, Children: []*views.JSONNode{
		leaf("name", "string", `"resnet <b>50</b>"`), layers, leaf("parent", "null", "null"), {Key: "notes", Path: "$.notes", Kind: "string", Summary: `"A long text…`, MoreURL: "#"},
	}}
}

func previewJSON() views.Preview {
	return views.Preview{Kind: "json", Truncated: "11.5 KiB", Tree: &views.JSONTree{
		Steps: []views.Crumb{{Name: "$"}}, Root: jsonFixture(), Search: views.JSONSearch{PreviewForm: views.PreviewForm{URL: "#"}},
		Pager: ui.Pager{InOrder: true, Text: "Elements 1 to 100 of 1,024", Older: "#"},
	}}
}

func previewJSONSearch() views.Preview {
	p := previewJSON()
	p.Where, p.DownloadURL = []views.Crumb{{Name: "bundle", URL: "#"}, {Name: "data/config.json"}}, "#"
	p.Tree.Steps = []views.Crumb{{Name: "$", URL: "#"}, {Name: "model", URL: "#"}, {Name: "layers"}}
	p.Tree.Root, p.Tree.Missing = nil, "The part of the document that was read has no value at $.model.layers."
	p.Tree.Problem, p.Tree.Pager = "The document is larger than 32 MiB. Only its beginning is shown.", ui.Pager{}
	p.Tree.Search.Text, p.Tree.Search.Found, p.Tree.Search.ClearURL = "conv", "More than 100 results", "#"
	for i := range 4 {
		p.Tree.Search.Hits = append(p.Tree.Search.Hits, views.JSONHit{Path: fmt.Sprintf("$.model.layers[%d].name", i), URL: "#", Value: fmt.Sprintf("conv%d", i)})
	}
	return p
}

func previewLines() views.Preview {
	l := &views.JSONLines{Search: views.JSONSearch{PreviewForm: views.PreviewForm{URL: "#"}}, Pager: ui.Pager{InOrder: true, Text: "Lines 1 to 4", Older: "#"}}
	for i := range 3 {
		l.Rows = append(l.Rows, views.JSONLine{Number: fmt.Sprint(i + 1), Digest: fmt.Sprintf(`{step: %d, loss: 0.25, layers: […]}`, i), Root: jsonFixture()})
	}
	l.Rows = append(l.Rows, views.JSONLine{Number: "4", Digest: "Traceback (most recent call last)", Problem: "This line is not JSON."})
	return views.Preview{Kind: "json_lines", Truncated: "88.8 KiB", Lines: l}
}

func previewArray() views.Preview {
	cells := make([][]float64, 24)
	for y := range cells {
		for x := range 40 {
			cells[y] = append(cells[y], math.Sin(float64(x)/6)*math.Cos(float64(y)/5))
		}
	}
	cells[3][4] = math.NaN()
	heat := chart.NewHeat(cells, 24, 40, -1, 1)
	heat.Caption = "24 × 40, one cell per value"
	a := &views.ArrayView{
		Members: []views.ArrayChoice{{Name: "weights", DType: "float32", Shape: "8 × 24 × 40", URL: "#", Current: true}, {Name: "bias", DType: "float16", Shape: "64", URL: "#"}},
		Facts:   []ui.Fact{{Name: "Type", Value: "float32", Mono: true}, {Name: "Shape", Value: "8 × 24 × 40", Mono: true}, {Name: "Size", Value: "30 KiB"}, {Name: "Order", Value: "C: the last axis is contiguous"}},
		Form:    views.PreviewForm{URL: "#"}, Axes: []views.ArrayAxis{{Name: "0", Label: "Axis 0", Value: "0", Last: "7", NextURL: "#"}}, Slice: "weights[0, :, :]", Heat: &heat, Numbers: true,
		Stats:  []ui.Fact{{Name: "Minimum", Value: "-1", Mono: true}, {Name: "Mean", Value: "0.0065", Mono: true}, {Name: "Maximum", Value: "1", Mono: true}, {Name: "NaN or infinite", Value: "1 value"}},
		Across: ui.Pager{InOrder: true, Text: "Columns 0 to 4 of 40", Older: "#"}, Down: ui.Pager{InOrder: true, Text: "Rows 0 to 2 of 24", Older: "#"},
	}
	for c := range 5 {
		a.Columns = append(a.Columns, fmt.Sprint(c))
	}
	for r := range 3 {
		row := views.ArrayRow{Name: fmt.Sprint(r)}
		for c := range 5 {
			row.Values = append(row.Values, fmt.Sprintf("%.5f", cells[r][c]))
		}
		a.Rows = append(a.Rows, row)
	}
	return views.Preview{Kind: "array", Array: a}
}

func previewArchive() views.Preview {
	return views.Preview{Kind: "archive", Truncated: "10,000 entries", List: &views.FileList{
		Search: views.PreviewForm{URL: "#"}, Packed: true, Dates: true, Problem: "The archive has more than 10,000 entries. Only the first 10,000 are listed.",
		Pager: ui.Pager{InOrder: true, Text: "Files 1 to 4 of 10,000", Older: "#"},
		Rows: []views.FileRow{
			{Path: "data", Icon: "fold", HasDate: true, Modified: clock().Moment(now())},
			{Path: "data/rows.csv", URL: "#", Icon: "table", Size: "4.8 KiB", Packed: "2.4 KiB", Ratio: "2.0 ×", HasDate: true, Modified: clock().Moment(now())},
			{Path: "latest", Icon: "file", Link: "data/rows.csv", Size: "0 B", Packed: "0 B", Ratio: "–"},
			{Path: "../../etc/passwd", URL: "#", Icon: "file", Size: "4 B", Packed: "6 B", Ratio: "0.7 ×", Warning: "This path leads out of the folder that the archive is unpacked to. FlowForge unpacks nothing to disk; tar and unzip may."},
		},
	}}
}
