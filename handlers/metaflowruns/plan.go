package metaflowruns

import (
	"context"
	"slices"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/data/metaflow/datastore"
)

// plan is the graph of a run: that of its flow, or the order of its steps by time.
type plan struct {
	order   []metaflow.StepOrder
	known   bool            // from the datastore
	wide    map[string]bool // steps in a foreach
	problem string          // why the graph cannot be read
	tried   time.Time       // when the graph was read last
	ordered time.Time       // when the steps were ordered by time
}

// again is the interval after which a stream tries again to read the graph, or orders the same
// steps again.
const again = 30 * time.Second

// graphArtifact is the artifact with the graph of a flow.
const graphArtifact = "_graph_info"

// arrange sets the plan of a run. The graph of a run does not change, so a stream reads it once.
func (h *Pages) arrange(ctx context.Context, x *runView) error {
	if x.plan.known {
		return nil
	}
	i := slices.IndexFunc(x.settings, func(a metaflow.Artifact) bool { return a.Name == graphArtifact })
	now := h.Now()
	switch {
	case i < 0:
		x.plan.problem = "The run has not registered its graph."
	case now.Sub(x.plan.tried) >= again:
		x.plan.tried = now
		steps, err := h.readGraph(ctx, x, x.settings[i].SHA)
		if err == nil {
			x.plan = planOf(steps)
			return nil
		}
		if apperr.Is(err, apperr.Internal) {
			return err
		}
		x.plan.problem = apperr.MessageOf(err)
	}
	if x.plan.orders(x.Steps) && x.Run.EndedEpoch == 0 && now.Sub(x.plan.ordered) < again {
		return nil
	}
	var err error
	x.plan.ordered = now
	x.plan.order, err = h.Records.Order(ctx, x.Overview)
	return err
}

// readGraph reads the graph of a run from the datastore.
func (h *Pages) readGraph(ctx context.Context, x *runView, sha string) ([]datastore.Step, error) {
	limited, cancel := x.limit(ctx)
	defer cancel()
	store, err := h.Datastores.Open(limited)
	var steps []datastore.Step
	if err == nil {
		steps, err = datastore.Graph(limited, store, x.flow, sha)
	}
	return steps, inTime(ctx, limited, err)
}

// orders reports whether the plan contains exactly the steps.
func (p *plan) orders(steps []metaflow.StepSummary) bool {
	known := map[string]bool{}
	for _, o := range p.order {
		known[o.Name] = true
	}
	return len(p.order) == len(steps) && !slices.ContainsFunc(steps, func(s metaflow.StepSummary) bool { return !known[s.Name] })
}

// planOf arranges the steps of a graph. A step is wide if a foreach leads to it, until the join.
func planOf(steps []datastore.Step) plan {
	names, index := make([]string, len(steps)), map[string]int{}
	for i, s := range steps {
		names[i], index[s.Name] = s.Name, i
	}
	p := plan{known: true, wide: map[string]bool{}}
	next := make([][]int, len(steps))
	for i, s := range steps {
		for _, name := range s.Next {
			next[i] = append(next[i], index[name])
			p.wide[name] = p.wide[name] || s.Foreach != ""
		}
	}
	p.order = metaflow.GraphOrder(names, next)
	return p
}

// shape is the part of a plan that determines the drawing, without the states of steps.
func (x *runView) shape() any {
	steps := x.byName()
	type node struct {
		metaflow.StepOrder

		Wide bool
		Link string
	}
	nodes := make([]node, len(x.plan.order))
	for i, o := range x.plan.order {
		s := steps[o.Name]
		nodes[i] = node{StepOrder: o, Wide: s.Total() > 1 || x.plan.wide[o.Name]}
		if s.Only != nil {
			nodes[i].Link = s.Only.ID.String()
		}
	}
	return nodes
}
