package workflow

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/typeregistry"
)

// Graph is a set of operators with its own inputs and outputs, which an operator of
// type graph runs. The workflow itself is a graph without a name.
type Graph struct {
	Name        string
	Description string
	Inputs      typeregistry.Schema
	Outputs     []Output
	Operators   []Operator
	Parallelism int // how many of its operators may be active at once; 0: no limit

	path string // in the document
}

// Main is the workflow as a graph. It shares its operators with d.
func (d *Definition) Main() *Graph {
	return &Graph{Inputs: d.Inputs, Outputs: d.Outputs, Operators: d.Operators}
}

// Graph returns the graph called name; "" is the workflow itself.
func (d *Definition) Graph(name string) (*Graph, bool) {
	if name == "" {
		return d.Main(), true
	}
	i := slices.IndexFunc(d.Graphs, func(g Graph) bool { return g.Name == name })
	if i < 0 {
		return nil, false
	}
	return &d.Graphs[i], true
}

// all returns the workflow and its graphs.
func (d *Definition) all() []*Graph {
	graphs := []*Graph{d.Main()}
	for i := range d.Graphs {
		graphs = append(graphs, &d.Graphs[i])
	}
	return graphs
}

// at returns the path of something in g.
func (g *Graph) at(format string, args ...any) string {
	return g.path + fmt.Sprintf(format, args...)
}

// operatorPath is the path of operator i in the document.
func (g *Graph) operatorPath(i int) string {
	if at := g.Operators[i].At; at != "" {
		return at
	}
	if !g.Operators[i].Final {
		return g.at("operators[%d]", i)
	}
	first := slices.IndexFunc(g.Operators, func(o Operator) bool { return o.Final })
	return g.at("on_exit[%d]", i-first)
}

// compile builds the plan of g; node i is operator i.
func (g *Graph) compile() (*dag.Plan, []apperr.Field) {
	specs := make([]dag.Spec, len(g.Operators))
	all := g.writers()
	for i := range g.Operators {
		specs[i] = g.Operators[i].spec(all, g.operatorPath(i))
	}
	return dag.Compile(specs)
}

// EveryOperator iterates over the operators of the workflow and of its graphs, with
// their paths in the document.
func (d *Definition) EveryOperator() iter.Seq2[string, *Operator] {
	return func(yield func(string, *Operator) bool) {
		for _, g := range d.all() {
			for i := range g.Operators {
				if !yield(g.operatorPath(i), &g.Operators[i]) {
					return
				}
			}
		}
	}
}

// Foreach makes an operator run once for each item of a list.
type Foreach struct {
	Items       Source // a list
	Limit       int    // maximum number of items
	Parallelism int    // how many may be active at once; 0: no limit
	Partial     bool   // failed items leave gaps, unless all fail
}

// Limits on fan-outs.
const (
	DefaultItems = 10_000
	MaxItems     = 100_000
)

// DefaultDepth is the default nesting limit of graphs, recursion included.
const DefaultDepth = 50

// Depth is the nesting limit of graphs.
func (d *Definition) Depth() int { return cmp.Or(d.MaxDepth, DefaultDepth) }

// HasExitHandlers reports whether operators of d run after a cancellation.
func (d *Definition) HasExitHandlers() bool {
	handles := func(o Operator) bool { return o.Final || o.Exit }
	return slices.ContainsFunc(d.Operators, handles) || slices.ContainsFunc(d.Graphs, func(g Graph) bool {
		return slices.ContainsFunc(g.Operators, handles)
	})
}

// The names of the values that an operator reads of its fan-out.
const (
	LoopItem  = "item"
	LoopIndex = "index"
)

// traits returns the properties of o for the plan; item selects those of one item of a
// fan-out instead of the whole operator.
func (o *Operator) traits(item bool) dag.Traits {
	t := dag.Traits{Final: o.Final && !item, MayFail: o.allowed(), OnFailure: dag.Continue, Watches: o.Watches && !item, Undrained: o.Late && !item, Outlasts: o.Exit && !item}
	if o.Retry.FailFast && !o.Final {
		t.OnFailure = dag.Stop
	} else if o.Drain {
		t.OnFailure = dag.Drain
	}
	fanned := o.Foreach != nil && !item
	t.Conditional = o.When != "" && (o.Foreach == nil || o.whenOfItem == item) || o.Tags.conditional(o.Foreach != nil, item) ||
		o.Tags.Settles(o.Foreach != nil, item)
	t.Expands = fanned || o.runsGraph()
	t.Shares = fanned && o.Tags != nil // as in Argo, parallelism counts the items of its loops
	t.Waits = !fanned && (o.Type == TypeApproval || o.Awaits())
	t.Serves = o.Serves && !fanned
	if item && o.Foreach.Partial {
		t.OnFailure = dag.Continue
	}
	return t
}

// allowed returns the failures of o that do not fail the execution.
func (o *Operator) allowed() dag.Failures {
	switch {
	case o.AllowFailure:
		return dag.AnyFailure
	case o.Tags != nil:
		return o.Tags.Allows
	}
	return dag.NoFailure
}

// runsGraph reports whether o expands into the operators of a graph.
func (o *Operator) runsGraph() bool { return o.Type == TypeGraph || o.Type == TypeWorkflow }

// ItemTraits returns the properties of each item of o's fan-out for the plan.
func (o *Operator) ItemTraits() dag.Traits { return o.traits(true) }

// Produces returns the output called name as other operators see it: for a fan-out, the
// list of its items' outputs, with null for failed items where those are allowed.
func (o *Operator) Produces(name string) (OperatorOutput, bool) {
	out, ok := o.Output(name)
	if !ok || o.Foreach == nil || out.Type == nil {
		return out, ok
	}
	of := out.Type
	if o.allowsMissingItems() && of.Kind != typeregistry.KindOptional {
		of = typeregistry.OptionalOf(of)
	}
	out.Type = typeregistry.ListOf(of)
	return out, true
}

// allowsMissingItems reports whether items of o's fan-out may leave no output.
func (o *Operator) allowsMissingItems() bool {
	return o.Foreach.Partial || o.When != "" && o.whenOfItem || o.Tags.conditional(true, true)
}

// Waits returns how long a user may take to answer; 0: no limit.
func (o *Operator) Waits() time.Duration { return o.Timeout }
