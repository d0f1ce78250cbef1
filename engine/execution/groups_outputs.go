package execution

import (
	"context"
	"fmt"

	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// scopeOutputs collects the outputs of a graph, or of the workflow, from the nodes of its
// scope. Nodes that did not run have none.
func (vs *nodeValues) scopeOutputs(ctx context.Context, scope int, outputs []workflow.Output) (map[string]any, error) {
	values := map[string]any{}
	for _, o := range outputs {
		if o.Source.Kind == workflow.SourceTags {
			v, ok, err := vs.inScope(ctx, scope).tagged(o.Source.Tagged)
			if err != nil {
				return nil, fmt.Errorf("output %s: %w", o.Name, err)
			}
			if ok {
				values[o.Name] = v
			}
			continue
		}
		if o.Source.Kind == workflow.SourceFormula {
			v, err := vs.computedOutput(ctx, scope, o)
			if err != nil {
				return nil, err
			}
			if v != nil {
				values[o.Name] = v
			}
			continue
		}
		i, ok := vs.loop.progress.Sibling(scope, o.From.Operator)
		if !ok {
			return nil, fmt.Errorf("output %s comes from %q, which is not in the plan", o.Name, o.From.Operator)
		}
		if err := vs.loadOutputs(ctx, []int{i}); err != nil {
			return nil, err
		}
		if v, ok := vs.outputs[i][o.From.Output]; ok {
			values[o.Name] = v
		}
	}
	return values, nil
}

// computedOutput returns the value of an output that is an expression; nil when it has none.
func (vs *nodeValues) computedOutput(ctx context.Context, scope int, o workflow.Output) (any, error) {
	first, _ := vs.loop.progress.Members(scope)
	env, err := vs.env(ctx, first, o.Source.Formula)
	if err != nil {
		return nil, err
	}
	value, err := o.Source.Formula.Value(env)
	if err != nil {
		return nil, fmt.Errorf("output %s: %w", o.Name, err)
	}
	if value == nil {
		if o.Type.Kind != typeregistry.KindOptional {
			return nil, fmt.Errorf("output %s has no value", o.Name)
		}
		return nil, nil //nolint:nilnil // an optional output may have no value
	}
	checked, problems := o.Type.CheckValue(value, typeregistry.Env{Produced: true})
	if len(problems) > 0 {
		return nil, fmt.Errorf("output %s: %w", o.Name, problemError(problems))
	}
	return checked, nil
}
