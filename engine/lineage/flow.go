package lineage

import (
	"slices"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/workflow"
)

// flow is what one node of a plan reads, according to its definition.
type flow struct {
	// outputs are the outputs that it reads of each dependency, with the inputs that they become. A
	// dependency without an entry only orders the nodes.
	outputs map[int]map[string]string
	inputs  map[string]string // the workflow's inputs that it reads, with its own inputs
	// all: it has formulas or texts with tags, which may read any dependency and any input.
	all bool
}

// flowsOf returns what the nodes of a version read. Graphs and fan-outs are one node of the plan.
func flowsOf(d *workflow.Definition, plan *dag.Plan) []flow {
	flows := make([]flow, len(plan.Nodes))
	for i := range plan.Nodes {
		flows[i] = flow{outputs: map[int]map[string]string{}, inputs: map[string]string{}}
		op, ok := d.Operator(plan.Nodes[i].Name)
		if !ok {
			flows[i].all = true
			continue
		}
		flows[i].all = op.Tags != nil
		for _, in := range op.Inputs {
			flows[i].read(plan, in.Source, in.Name)
		}
		if op.Foreach != nil {
			flows[i].read(plan, op.Foreach.Items, "items")
		}
	}
	return flows
}

func (f *flow) read(plan *dag.Plan, s workflow.Source, input string) {
	switch s.Kind {
	case workflow.SourceInput:
		f.inputs[s.Input] = input
	case workflow.SourceFuture:
		d, ok := plan.Lookup(s.Future.Operator)
		if !ok {
			f.all = true
			return
		}
		if f.outputs[d] == nil {
			f.outputs[d] = map[string]string{}
		}
		f.outputs[d][s.Future.Output] = input
	case workflow.SourceFormula, workflow.SourceTags:
		f.all = true
	case workflow.SourceLiteral, workflow.SourceItem, workflow.SourceIndex:
	}
}

// reads returns the input that an output of dependency d becomes; "" with true for one that may be
// read in another way.
func (f *flow) reads(d int, output string) (input string, ok bool) {
	if input, ok := f.outputs[d][output]; ok {
		return input, true
	}
	return "", f.all
}

// readsInput returns the input that an input of the workflow becomes, like reads.
func (f *flow) readsInput(name string) (input string, ok bool) {
	if input, ok := f.inputs[name]; ok {
		return input, true
	}
	return "", f.all
}

// shape is a version as lineage reads it.
type shape struct {
	plan  *dag.Plan
	flows []flow
}

// node returns the index of the node of the plan that a node is or lies in: that of "each[3]" and
// "go/work" are each and go.
func (s *shape) node(name string) (int, bool) {
	end := slices.IndexFunc([]byte(name), func(b byte) bool { return b == '[' || b == '/' })
	if end >= 0 {
		name = name[:end]
	}
	return s.plan.Lookup(name)
}
