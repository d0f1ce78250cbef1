package execution

import (
	"context"

	"github.com/flowforge/flowforge/engine/dag"
)

// settleOperator computes the settings of node i that depend on its inputs: the node then
// has its own operator.
func (l *loop) settleOperator(ctx context.Context, i int) error {
	n := &l.nodes[i]
	if !n.op.Tags.Settles(n.op.Foreach != nil, n.index >= 0) {
		return nil
	}
	values, err := l.values.boundInputs(ctx, i)
	if err != nil {
		return err
	}
	p := l.values.within(ctx, i, values)
	now, err := n.op.Tags.Settle(p.render)
	if err != nil {
		return err
	}
	own := *n.op
	own.Timeout, own.Retry, own.Locks = now.Timeout, now.Retry, now.Locks
	n.op = &own
	return nil
}

// boundInputs returns the values of the inputs of node i that have one.
func (vs *nodeValues) boundInputs(ctx context.Context, i int) (map[string]any, error) {
	values := map[string]any{}
	for _, in := range vs.loop.nodes[i].op.Inputs {
		v, err := vs.typedWith(ctx, i, in, values)
		if err != nil {
			return nil, err
		}
		if v != nil {
			values[in.Name] = v
		}
	}
	return values, nil
}

// settleOperators computes the settings of nodes that another process let begin.
func (l *loop) settleOperators(ctx context.Context) error {
	for i := range l.nodes {
		if state := l.progress.State(i); state == dag.Pending || state == dag.Skipped {
			continue
		}
		// These settings were computed before, so only unreadable outputs can fail now.
		if err := l.settleOperator(ctx, i); isUnreadable(err) {
			return err
		}
	}
	return nil
}
