package execution

import (
	"context"
	"fmt"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/workflow"
)

// missingPools reports the operators whose pool does not exist.
func (s *LaunchService) missingPools(ctx context.Context, v workflow.Version) ([]apperr.Field, error) {
	var fields []apperr.Field
	known := map[string]bool{}
	for _, op := range v.Definition.EveryOperator() {
		if op.Pool == "" {
			continue
		}
		exists, checked := known[op.Pool]
		if !checked && s.config.PoolExists != nil {
			var err error
			if exists, err = s.config.PoolExists(ctx, op.Pool); err != nil {
				return nil, err
			}
		}
		known[op.Pool] = exists
		if !exists {
			fields = append(fields, apperr.Field{Path: documentPath(op, "pool"), Message: fmt.Sprintf(
				"Operator %s: there is no pool %q. An administrator creates it with \"flowforge pool create %s\".", op.Name, op.Pool, op.Pool)})
		}
	}
	return fields, nil
}
