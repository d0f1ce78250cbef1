package execution

import (
	"context"
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/workflow"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// addHost adds the settings that an operator needs on a machine without pods.
func (as *attemptSpecs) addHost(ctx context.Context, spec launcher.Attempt, i int, op *workflow.Operator) error {
	config := as.loop.driver.config
	for _, s := range op.Host.Secrets {
		if s.Optional && config.Secrets != nil {
			has, err := config.Secrets.Has(auth.AsSystem(ctx), as.loop.row.ProjectID, s.Secret)
			if err != nil {
				return unlessRefused(fmt.Errorf("variable %s: %w", s.Name, err))
			}
			if !has {
				continue
			}
		}
		grant := &flowforgev1.SecretGrant{Name: s.Secret, Mac: config.Signer.Grant(as.scope(i), s.Secret)}
		spec.Secrets = append(spec.Secrets, &flowforgev1.InputSecret{Grant: grant, Variable: s.Name})
	}
	for _, s := range op.Host.Scratch {
		spec.Scratch = append(spec.Scratch, &flowforgev1.Scratch{Name: s.Name, Path: s.Path})
	}
	return nil
}

// missingVariables returns the variables whose secrets the project does not have. Names with
// tags are unknown until their task begins, and fail it then.
func (s *LaunchService) missingVariables(ctx context.Context, v workflow.Version) ([]apperr.Field, error) {
	if s.config.Cluster || !s.config.HostImages {
		return nil, nil
	}
	var fields []apperr.Field
	for _, op := range v.Definition.EveryOperator() {
		for _, variable := range op.Host.Secrets {
			if variable.Optional || strings.Contains(variable.Secret, "{{") {
				continue
			}
			exists, err := s.secretExists(ctx, variable.Secret)
			if err != nil {
				return nil, fmt.Errorf("find secret %s: %w", variable.Secret, err)
			}
			if exists {
				continue
			}
			fields = append(fields, apperr.Field{Path: variable.At, Message: fmt.Sprintf(
				"Without a cluster, the variable %s gets its value from the FlowForge secret %q, which does not exist in this project. Create it under Secrets.", variable.Name, variable.Secret)})
		}
	}
	return fields, nil
}
