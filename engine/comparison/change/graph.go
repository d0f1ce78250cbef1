package change

import (
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/workflow"
)

// Node is an operator of either version.
type Node struct {
	Name         string
	Kind         Kind  // "" for one that did not change
	Level        int   // the length of the longest path to it
	Dependencies []int // indexes, of both versions
	Final        bool  // it runs on exit
}

// Union returns the operators of the workflow itself in both versions: those of the later one in
// its order, then the removed ones. A dependency of the earlier version that would close a cycle is
// left out.
func Union(before, after workflow.Version, changes []Change) []Node {
	return unite(before.Plan, after.Plan, "", changes)
}

// GraphUnion returns the operators of a named graph in both versions, as Union does. The graph may
// be missing in one of them.
func GraphUnion(before, after workflow.Version, graph string, changes []Change) []Node {
	return unite(before.Plans[graph], after.Plans[graph], graph+"/", changes)
}

// ChangedGraphs returns the names of the graphs with operators that changed, in order.
func ChangedGraphs(changes []Change) []string {
	var list []string
	for _, c := range changes {
		name, _, inside := strings.Cut(c.Name, "/")
		if c.Section == Operators && inside && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

func unite(before, after *dag.Plan, prefix string, changes []Change) []Node {
	if before == nil {
		before = &dag.Plan{}
	}
	if after == nil {
		after = &dag.Plan{}
	}
	kinds := map[string]Kind{}
	for _, c := range changes {
		if name, ours := strings.CutPrefix(c.Name, prefix); ours && c.Section == Operators {
			kinds[name] = c.Kind
		}
	}
	u := union{index: map[string]int{}}
	for i := range after.Nodes {
		u.add(&after.Nodes[i], kinds, 2*after.Nodes[i].Level)
	}
	for _, level := range before.Levels { // dependencies first
		for _, i := range level {
			n := &before.Nodes[i]
			rank := 1
			for _, d := range n.Dependencies {
				if at, ok := u.index[before.Nodes[d].Name]; ok {
					rank = max(rank, u.ranks[at]+1)
				}
			}
			u.add(n, kinds, rank)
		}
	}
	u.join(after)
	u.join(before)
	known := make([]bool, len(u.nodes))
	for i := range u.nodes {
		level(u.nodes, known, i)
	}
	return u.nodes
}

// union collects nodes. Every dependency leads from a lower rank to a higher one, so there are no
// cycles.
type union struct {
	nodes []Node
	ranks []int
	index map[string]int
}

func (u *union) add(n *dag.Node, kinds map[string]Kind, rank int) {
	if _, ok := u.index[n.Name]; !ok {
		u.index[n.Name] = len(u.nodes)
		u.nodes = append(u.nodes, Node{Name: n.Name, Kind: kinds[n.Name], Final: n.Final})
		u.ranks = append(u.ranks, rank)
	}
}

func (u *union) join(plan *dag.Plan) {
	for i := range plan.Nodes {
		at := u.index[plan.Nodes[i].Name]
		for _, d := range plan.Nodes[i].Dependencies {
			from := u.index[plan.Nodes[d].Name]
			if u.ranks[from] < u.ranks[at] && !slices.Contains(u.nodes[at].Dependencies, from) {
				u.nodes[at].Dependencies = append(u.nodes[at].Dependencies, from)
			}
		}
	}
}

// level sets and returns the level of node i.
func level(nodes []Node, known []bool, i int) int {
	if known[i] {
		return nodes[i].Level
	}
	known[i] = true
	deepest := -1
	for _, d := range nodes[i].Dependencies {
		deepest = max(deepest, level(nodes, known, d))
	}
	nodes[i].Level = deepest + 1
	return nodes[i].Level
}
