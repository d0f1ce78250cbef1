package gallery

import (
	"fmt"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/dagview"
)

// digits is the plan of the digits example with a side branch, so that lines cross levels.
func digits() []dagview.Item {
	return []dagview.Item{
		{Name: "load"},
		{Name: "check_schema", Level: 1, Dependencies: []int{0}},
		{Name: "warm_start", Level: 1, Dependencies: []int{0}},
		{Name: "split", Level: 2, Dependencies: []int{1}},
		{Name: "train", Level: 3, Dependencies: []int{3, 2}},
		{Name: "evaluate", Level: 4, Dependencies: []int{4, 3}},
		{Name: "misread_images", Level: 4, Dependencies: []int{4}},
		{Name: "report", Level: 5, Dependencies: []int{5, 6, 0}},
	}
}

// fanOut is 10,000 similar nodes between a few others.
func fanOut() []dagview.Item {
	items := []dagview.Item{{Name: "list_images"}, {Name: "fit_normaliser", Level: 1, Dependencies: []int{0}}}
	collect := dagview.Item{Name: "collect", Level: 2, Dependencies: []int{1}}
	for i := range 10000 {
		collect.Dependencies = append(collect.Dependencies, len(items))
		items = append(items, dagview.Item{Name: fmt.Sprintf("detect_%05d", i), Level: 1, Dependencies: []int{0}})
	}
	items = append(items, collect)
	return append(items, dagview.Item{Name: "report", Level: 3, Dependencies: []int{len(items) - 1}})
}

func paint(items []dagview.Item, direction dagview.Direction, states []dagview.NodeState, selected int) dagview.Picture {
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = it.Name
	}
	p := dagview.Painter{
		ID: views.GraphID(), Drawing: dagview.Layout(items, direction), States: states, Names: names, Selected: selected, Fit: direction == dagview.Right,
		Links: dagview.Links{
			Node:  func(i int) string { return views.ExecutionNodeURL(someID, names[i]) },
			Group: func(b dagview.Box) string { return views.GroupURL(someID, b.FromLevel, b.ToLevel, b.Stem) },
		},
	}
	return p.Picture(fmt.Sprintf("Graph of %d nodes", len(items)))
}

func digitStates() []dagview.NodeState {
	return []dagview.NodeState{
		{State: "SUCCEEDED", Sub: "0.8 s"}, {State: "SUCCEEDED", Sub: "0.2 s"}, {State: "SKIPPED", Sub: "no earlier model"},
		{State: "SUCCEEDED", Sub: "0.4 s"}, {State: "RUNNING", Sub: "epoch 12 of 30", Progress: 40}, {State: "PENDING", Sub: "after 2 nodes"},
		{State: "READY", Sub: "4 CPU requested"}, {State: "PENDING", Sub: "after 3 nodes"},
	}
}

func fanOutStates(n int) []dagview.NodeState {
	states := make([]dagview.NodeState, n)
	for i := range states {
		switch {
		case i < 6415:
			states[i] = dagview.NodeState{State: "SUCCEEDED"}
		case i < 6636:
			states[i] = dagview.NodeState{State: "RUNNING"}
		case i < 6645:
			states[i] = dagview.NodeState{State: "RETRYING"}
		case i < 6648:
			states[i] = dagview.NodeState{State: "FAILED"}
		case i < n-2:
			states[i] = dagview.NodeState{State: "READY"}
		default:
			states[i] = dagview.NodeState{State: "PENDING", Sub: "after 10,001 nodes"}
		}
	}
	states[0].Sub, states[1].Sub = "1.2 s", "2 min 04 s"
	return states
}
