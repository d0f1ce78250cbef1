package gallery

import (
	"fmt"
	"time"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

// groupItems is a running fan-out of 1,000 items with some failures.
func groupItems(f views.Page) views.Group {
	bar := ui.NewBar("items", []ui.Count{{State: "SUCCEEDED", N: 802, URL: "#"}, {State: "RUNNING", N: 8, URL: "#"}, {State: "FAILED", N: 10, URL: "#"}, {State: "PENDING", N: 180, URL: "#"}})
	m := views.Group{
		Page: frame(f, "Running: tile", views.SectionExecutions, views.Crumb{Name: "Executions", URL: "/executions"}, views.Crumb{Name: "satellite.map #7k2f00", URL: "#"}),
		Head: views.GroupHead{
			NodeHead: views.NodeHead{Name: "tile", State: "RUNNING", GraphURL: "#"}, Bar: &bar, Progress: "812 of 1,000 items ended", Percent: bar.Percent,
		},
		Failures: views.Failures{Rows: []views.FailureRow{
			{Message: "tile 7 has no band B08 (exit code 3)", Code: "exit", Count: "8 items", URL: "#", FirstName: "tile[7]", FirstURL: "#", LogURL: "#"},
			{Message: "Out of memory (exit code 137)", Code: "out_of_memory", Count: "2 items", URL: "#", FirstName: "tile[13]", FirstURL: "#", LogURL: "#"},
		}},
		Children: views.Children{
			Noun: "items", Action: "#", States: []ui.Option{{Name: "Any state", Selected: true}, {Value: "FAILED", Name: "Failed"}}, Items: true, Attempts: true,
			Pager: ui.Pager{Text: "1 to 10 of 1,000", Older: "#", InOrder: true},
		},
		Facts:     []ui.Fact{{Name: "Fan-out", Value: "1,000 items"}, {Name: "Running for", Value: "2 min 4 s"}},
		Fan:       []ui.Fact{{Name: "For each of", Value: "list.tiles", Mono: true}, {Name: "Parallelism", Value: "8 items"}, {Name: "Failed items", Value: "allowed (null)"}, {Name: "Limit", Value: "10,000"}},
		Resources: []ui.Fact{{Name: "CPU", Value: "1"}, {Name: "Memory", Value: "512 MiB"}}, Code: views.NodeCode{Text: "python3 tile.py", Kind: "file of the package"},
		Inputs: []views.Value{{Name: "tile", Type: "Struct", Missing: "the value of each item"}}, Outputs: []views.Value{{Name: "mask", Type: "List", Missing: "when it succeeds"}},
		Place: views.NodePath{Before: []views.Tag{{Name: "list", URL: "#"}}, After: []views.Tag{{Name: "merge", URL: "#"}}, Condition: "inputs.full", Rule: "list.Succeeded || cache.Succeeded"},
	}
	for i, state := range []string{"SUCCEEDED", "SUCCEEDED", "RUNNING", "RETRYING", "SUCCEEDED", "SKIPPED", "READY", "FAILED", "OMITTED", "PENDING"} {
		row := views.ChildRow{
			Index: i, Label: fmt.Sprintf("tile[%d]", i), Name: fmt.Sprintf("tile[%d]", i), URL: "#", State: state, LogURL: "#",
			Item: fmt.Sprintf(`{ "x": %d, "y": 4, "zoom": 12 }`, i), Attempt: "1 of 2", Took: "4.2 s",
		}
		switch state {
		case "FAILED":
			row.Sub = "tile 7 has no band B08 (exit code 3)"
		case "PENDING":
			row.Sub, row.Took, row.Attempt = "tile runs 8 items in parallel.", "", ""
		case "SKIPPED":
			row.Sub, row.Took, row.Attempt = "Condition not met: item.zoom > 12", "", ""
		case "RUNNING":
			row.Since = ago(4 * time.Second).Format(time.RFC3339)
		}
		m.Children.Rows = append(m.Children.Rows, row)
	}
	return m
}

// groupGraph is a graph inside a fan-out, with an exit node and a failure branch.
func groupGraph(f views.Page) views.Group {
	items := []dagview.Item{
		{Name: "prepare"}, {Name: "cell", Level: 1, Dependencies: []int{0}, Expands: true}, {Name: "close", Level: 2, Dependencies: []int{1}},
		{Name: "rescue", Level: 2, Dependencies: []int{1}, Links: []dagview.Link{{On: 1, Text: "rescue starts on cell.Failed", Failure: true}}},
		{Name: "tell", Level: 3, Final: true},
	}
	states := []dagview.NodeState{
		{State: "SUCCEEDED", Sub: "1.2 s"},
		{State: "RUNNING", Sub: "5 of 12 ended", Times: "× 12", Note: "4 running, 1 failed", Children: []ui.Count{{State: "SUCCEEDED", N: 4}, {State: "RUNNING", N: 4}, {State: "FAILED", N: 1}, {State: "PENDING", N: 3}}},
		{State: "PENDING", Sub: "after 1 node"}, {State: "OMITTED", Sub: "cell did not fail"}, {State: "PENDING"},
	}
	picture := paint(items, dagview.Down, states, -1)
	m := groupItems(f)
	bar := ui.NewBar("nodes", []ui.Count{{State: "SUCCEEDED", N: 1, URL: "#"}, {State: "RUNNING", N: 1, URL: "#"}, {State: "PENDING", N: 2, URL: "#"}, {State: "SKIPPED", N: 1, URL: "#"}})
	m.Head.Name, m.Head.Bar, m.Head.Progress, m.Head.Percent = "region[1]", &bar, "2 of 5 nodes ended", bar.Percent
	m.Graph, m.GraphText, m.Failures, m.Code, m.Resources = &picture, "row: 5 nodes", views.Failures{}, views.NodeCode{}, nil
	m.Fan = []ui.Fact{{Name: "Graph", Value: "row", Mono: true}}
	m.Children.Items, m.Children.Attempts, m.Children.Noun = false, false, "nodes"
	m.Children.Rows = m.Children.Rows[:3]
	for i, name := range []string{"prepare", "cell", "close"} {
		m.Children.Rows[i].Label, m.Children.Rows[i].Name = name, name
	}
	m.Children.Pager = ui.Pager{Text: "1 to 3 of 3", InOrder: true}
	m.Place = views.NodePath{Parent: &views.Tag{Name: "region", URL: "#"}, Item: "index 1 of 3 items", Value: "{\n  \"code\": \"uk\"\n}", Previous: &views.Tag{Name: "region[0]", URL: "#"}, Next: &views.Tag{Name: "region[2]", URL: "#"}}
	return m
}
