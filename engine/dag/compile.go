package dag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
)

// maxCycleNames bounds how much of a cycle a message spells out.
const maxCycleNames = 20

// Compile builds the plan of specs by Kahn's algorithm in O(V+E). It reports
// every duplicate name, every dependency on an unknown or on the same operator,
// and cycles by name, all together; then the plan is nil.
func Compile(specs []Spec) (*Plan, []apperr.Field) {
	byName, problems := indexNames(specs)
	specs = withRules(specs)
	edges, more := resolve(specs, byName)
	problems = append(problems, more...)

	plan := &Plan{Nodes: make([]Node, len(specs)), Edges: edges, byName: byName}
	for i, s := range specs {
		plan.Nodes[i] = Node{Name: s.Name, Index: i, Traits: s.Traits}
	}
	plan.link()
	plan.bind(specs)
	if !plan.level() {
		for _, cycle := range plan.cycles() {
			problems = append(problems, apperr.Field{
				Path:    pathOf(specs, cycle[0]),
				Message: "Operators depend on each other: " + plan.nameCycle(cycle) + ".",
			})
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return plan, nil
}

// withRules adds the operators that rules name to the dependencies.
func withRules(specs []Spec) []Spec {
	all := slices.Clone(specs)
	for i := range all {
		s := &all[i]
		if s.Rule == nil {
			continue
		}
		s.Dependencies = slices.Clone(s.Dependencies)
		for _, name := range s.Rule.Names() {
			named := func(d Dependency) bool { return d.Name == name }
			if !slices.ContainsFunc(s.Dependencies, named) {
				s.Dependencies = append(s.Dependencies, Dependency{Name: name, Path: pathOf(specs, i) + ".depends"})
			}
		}
	}
	return all
}

// bind gives nodes their rules, and marks the nodes whose failure a rule handles.
func (p *Plan) bind(specs []Spec) {
	for i := range specs {
		rule := specs[i].Rule
		if rule == nil {
			continue
		}
		n := &p.Nodes[i]
		n.Depends, n.rule = rule.text, rule.root.bind(p.byName)
		for _, d := range n.Dependencies {
			if !slices.Contains(rule.names, p.Nodes[d].Name) {
				n.rule = &term{op: '&', left: n.rule, right: &term{op: 'a', node: d, status: HasSucceeded}}
			}
		}
		n.rule.each(func(t *term) {
			if !n.Watches {
				p.Nodes[t.node].handled |= t.status.ofFailure()
			}
		})
	}
}

func indexNames(specs []Spec) (map[string]int, []apperr.Field) {
	var problems []apperr.Field
	byName := make(map[string]int, len(specs))
	for i, s := range specs {
		if first, taken := byName[s.Name]; taken {
			problems = append(problems, apperr.Field{
				Path:    pathOf(specs, i) + ".name",
				Message: fmt.Sprintf("The name %q is already used by %s.", s.Name, pathOf(specs, first)),
			})
			continue
		}
		byName[s.Name] = i
	}
	return byName, problems
}

// resolve turns names into edges, merges those between the same two nodes and
// leaves out the ones it reports.
func resolve(specs []Spec, byName map[string]int) ([]Edge, []apperr.Field) {
	var problems []apperr.Field
	var edges []Edge
	for i, s := range specs {
		first := len(edges)
		for j, d := range s.Dependencies {
			path := d.Path
			if path == "" {
				path = fmt.Sprintf("%s.depends_on[%d]", pathOf(specs, i), j)
			}
			from, ok := byName[d.Name]
			switch {
			case !ok:
				problems = append(problems, apperr.Field{Path: path, Message: fmt.Sprintf("There is no operator called %q.", d.Name)})
			case from == i:
				problems = append(problems, apperr.Field{Path: path, Message: fmt.Sprintf("Operator %q depends on itself.", d.Name)})
			default:
				edges = append(edges, Edge{From: from, To: i, Label: d.Label, Streams: d.Streams && specs[from].streamed() && s.streams()})
			}
		}
		own := edges[first:]
		slices.SortStableFunc(own, func(a, b Edge) int { return cmp.Compare(a.From, b.From) })
		edges = append(edges[:first], mergeEdges(own)...)
	}
	return edges, problems
}

// streams reports whether the node may begin while its dependencies run: it has an
// attempt of its own, and no rule. Rules see only nodes that have ended.
func (s *Spec) streams() bool {
	return s.Rule == nil && !s.Final && !s.Expands && !s.Waits && !s.Serves
}

// streamed reports whether another node may read the output of the node's attempt while
// it runs.
func (s *Spec) streamed() bool { return !s.Expands && !s.Waits && !s.Serves }

// mergeEdges joins neighbours with the same ends, in place.
func mergeEdges(sorted []Edge) []Edge {
	merged := sorted[:0]
	for _, e := range sorted {
		last := len(merged) - 1
		if last < 0 || merged[last].From != e.From {
			merged = append(merged, e)
			continue
		}
		merged[last].Label = joinLabels(merged[last].Label, e.Label)
		merged[last].Streams = merged[last].Streams && e.Streams // one dependency on the end is enough
	}
	return merged
}

func joinLabels(a, b string) string {
	if a == "" || b == "" || a == b {
		return cmp.Or(a, b)
	}
	if slices.Contains(strings.Split(a, ", "), b) {
		return a
	}
	return a + ", " + b
}

// link fills Dependencies and Dependents from Edges, out of two allocations.
// Edges are ordered by To and From, so both come out ascending.
func (p *Plan) link() {
	in, out := make([]int, len(p.Nodes)), make([]int, len(p.Nodes))
	for _, e := range p.Edges {
		in[e.To]++
		out[e.From]++
	}
	ins, outs := make([]int, 0, len(p.Edges)), make([]int, 0, len(p.Edges))
	for i := range p.Nodes {
		ins, p.Nodes[i].Dependencies = carve(ins, in[i])
		outs, p.Nodes[i].Dependents = carve(outs, out[i])
	}
	for _, e := range p.Edges {
		p.Nodes[e.To].Dependencies = append(p.Nodes[e.To].Dependencies, e.From)
		p.Nodes[e.From].Dependents = append(p.Nodes[e.From].Dependents, e.To)
		if e.Streams {
			p.Nodes[e.To].Reads = append(p.Nodes[e.To].Reads, e.From)
			p.Nodes[e.From].Readers = append(p.Nodes[e.From].Readers, e.To)
		}
	}
}

// carve cuts an empty slice of capacity n from the unused capacity of block.
func carve(block []int, n int) (rest, part []int) {
	return block[n:n:cap(block)], block[0:0:n]
}

// level runs Kahn's algorithm and fills Level, Levels, Entry and Exit. It returns false
// when a cycle blocks nodes; their Level is then -1.
func (p *Plan) level() bool {
	waiting := make([]int, len(p.Nodes))
	var current []int
	for i := range p.Nodes {
		p.Nodes[i].Level = -1
		waiting[i] = len(p.Nodes[i].Dependencies)
		if waiting[i] == 0 {
			current = append(current, i)
			p.Entry = append(p.Entry, i)
		}
		if len(p.Nodes[i].Dependents) == 0 {
			p.Exit = append(p.Exit, i)
		}
		if !slices.ContainsFunc(p.Nodes[i].Dependents, func(d int) bool { return !p.Nodes[d].Watches }) {
			p.ends = append(p.ends, i)
		}
	}
	done := 0
	for len(current) > 0 {
		var next []int
		for _, i := range current {
			p.Nodes[i].Level = len(p.Levels)
			for _, d := range p.Nodes[i].Dependents {
				if waiting[d]--; waiting[d] == 0 {
					next = append(next, d)
				}
			}
		}
		done += len(current)
		p.Levels = append(p.Levels, current)
		slices.Sort(next)
		current = next
	}
	return done == len(p.Nodes)
}

// cycles returns node-disjoint cycles among the nodes that level left without a level.
// Each such node has a dependency without a level, so walking backwards from any of
// them ends in a cycle or in a node that an earlier walk has seen.
func (p *Plan) cycles() [][]int {
	var cycles [][]int
	walk := make([]int, len(p.Nodes)) // which walk saw the node, 0: none yet
	for start := range p.Nodes {
		if p.Nodes[start].Level >= 0 || walk[start] != 0 {
			continue
		}
		var trail []int
		i := start
		for walk[i] == 0 {
			walk[i] = start + 1
			trail = append(trail, i)
			i = p.heldDependency(i)
		}
		if walk[i] == start+1 {
			cycle := trail[slices.Index(trail, i):]
			slices.Reverse(cycle)
			cycles = append(cycles, rotateToSmallest(cycle))
		}
	}
	return cycles
}

func (p *Plan) heldDependency(i int) int {
	deps := p.Nodes[i].Dependencies
	return deps[slices.IndexFunc(deps, func(d int) bool { return p.Nodes[d].Level < 0 })]
}

func rotateToSmallest(cycle []int) []int {
	at := slices.Index(cycle, slices.Min(cycle))
	return append(slices.Clone(cycle[at:]), cycle[:at]...)
}

// nameCycle writes "a → b → a", in the direction of the data flow.
func (p *Plan) nameCycle(cycle []int) string {
	var b strings.Builder
	for k, i := range cycle {
		if k == maxCycleNames {
			fmt.Fprintf(&b, "… (%d more) → ", len(cycle)-k)
			break
		}
		b.WriteString(p.Nodes[i].Name + " → ")
	}
	return b.String() + p.Nodes[cycle[0]].Name
}

func pathOf(specs []Spec, i int) string {
	if specs[i].Path != "" {
		return specs[i].Path
	}
	return fmt.Sprintf("operators[%d]", i)
}
