package execution

import "context"

// settleOperator computes the settings of node i that depend on its inputs: the node then
// has its own operator.
func (vs *nodeValues) settleOperator(ctx context.Context, i int) error {
	n := &vs.loop.nodes[i]
	if !n.op.Tags.Settles(n.op.Foreach != nil, n.index >= 0) {
		return nil
	}
	values, err := vs.boundInputs(ctx, i)
	if err != nil {
		return err
	}
	p := vs.within(ctx, i, values)
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
