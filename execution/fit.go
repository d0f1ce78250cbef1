package execution

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/auth"
	quota "github.com/flowforge/flowforge/quota/local"
	"github.com/flowforge/flowforge/workflow"
)

// Fit says whether a version can ever run on this machine.
type Fit struct {
	OK      bool
	Message string
}

// Fits makes the check of resources that Launch makes.
func (s *Service) Fits(ctx context.Context, versionID uuid.UUID) (Fit, error) {
	if _, err := auth.Authorize(ctx, auth.ExecutionRead); err != nil {
		return Fit{}, err
	}
	version, err := s.workflows.VersionByID(ctx, versionID)
	if err != nil {
		return Fit{}, err
	}
	if fields := s.tooLarge(version); len(fields) > 0 {
		return Fit{Message: fields[0].Message}, nil
	}
	return Fit{OK: true}, nil
}

// tooLarge names the operators that can never run on this machine.
func (s *Service) tooLarge(v workflow.Version) []apperr.Field {
	var fields []apperr.Field
	refuse := func(op *workflow.Operator, what, format string, args ...any) {
		fields = append(fields, apperr.Field{
			Path:    fmt.Sprintf("operators.%s.%s", op.Name, what),
			Message: fmt.Sprintf("Operator %s ", op.Name) + fmt.Sprintf(format, args...),
		})
	}
	for i := range v.Definition.Operators {
		op := &v.Definition.Operators[i]
		if op.Type == workflow.TypeNoop {
			continue
		}
		if r := s.quota.NeverFits(amountOf(op)); r != nil {
			refuse(op, "resources."+r.Resource, "asks for %d%s of %s, this machine has %d%s.", r.Asked, r.Unit, r.Resource, r.Capacity, r.Unit)
		}
		if n := op.Resources.GPUs; n > 0 {
			refuse(op, "resources.gpu", "asks for %d GPU, this machine has none to share out.", n)
		}
		if n := op.Resources.StorageMiB; n > 0 && s.config.DataDir != "" {
			if free, err := quota.FreeDiskMiB(s.config.DataDir); err == nil && n > free {
				refuse(op, "resources.storage", "asks for %dMiB of storage, the disk of this machine has %dMiB left.", n, free)
			}
		}
		if op.Code.Image != "" {
			refuse(op, "code.image", "runs in the image %s, but this server runs tasks as local processes.", op.Code.Image)
		}
	}
	return fields
}
