package execution

import (
	"context"
	"fmt"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/workflow"
)

// unusablePools reports the operators whose pool does not exist or is restricted to other projects.
func (s *LaunchService) unusablePools(ctx context.Context, v workflow.Version) ([]apperr.Field, error) {
	var fields []apperr.Field
	checked := map[string]string{} // what is wrong with each pool; "": nothing
	for _, op := range v.Definition.EveryOperator() {
		if op.Pool == "" {
			continue
		}
		problem, known := checked[op.Pool]
		if !known {
			var err error
			if problem, err = s.poolProblem(ctx, op.Pool, v); err != nil {
				return nil, err
			}
			checked[op.Pool] = problem
		}
		if problem != "" {
			fields = append(fields, apperr.Field{Path: documentPath(op, "pool"), Message: fmt.Sprintf("Operator %s: %s", op.Name, problem)})
		}
	}
	return fields, nil
}

// poolProblem says why a workflow cannot use a pool; "": it can.
func (s *LaunchService) poolProblem(ctx context.Context, pool string, v workflow.Version) (string, error) {
	var err error = apperr.New(apperr.NotFound, "There are no pools.")
	if s.config.UsePool != nil {
		err = s.config.UsePool(ctx, pool, v.ProjectID)
	}
	if err == nil {
		return "", nil
	}
	switch apperr.CodeOf(err) { //nolint:exhaustive // the others are failures
	case apperr.NotFound:
		return fmt.Sprintf("there is no pool %q. An administrator creates it with \"flowforge pool create %s\".", pool, pool), nil
	case apperr.Forbidden:
		return fmt.Sprintf("the pool %q is restricted to other projects. An administrator can allow this project on the page of the pool.", pool), nil
	}
	return "", err
}
