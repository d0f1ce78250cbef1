package execution

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// Fit reports whether a version can ever run in a project.
type Fit struct {
	OK      bool // false: never
	Now     bool // its first nodes would start immediately
	Message string
}

// Fits makes the check of resources that Launch makes.
func (s *ForecastService) Fits(ctx context.Context, versionID uuid.UUID) (Fit, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return Fit{}, err
	}
	version, err := s.workflows.VersionByID(ctx, versionID)
	if err != nil {
		return Fit{}, err
	}
	if fields := s.tooLarge(version, subject.ProjectID, new(uuid.UUID)); len(fields) > 0 {
		return Fit{Message: fields[0].Message}, nil
	}
	var first []fair.Request
	for _, i := range version.Plan.Entry {
		if op := &version.Definition.Operators[i]; op.Runs() && op.Pool == "" {
			r := s.requestOf(op, subject.ProjectID)
			r.Key, r.Since = fair.Key{Node: i}, s.now()
			first = append(first, r)
		}
	}
	if len(first) == 0 {
		return Fit{OK: true, Now: true}, nil
	}
	f := s.quota.Forecast(first)
	return Fit{OK: f.Verdict != fair.NeverFits, Now: f.Verdict == fair.FitsNow, Message: f.Message}, nil
}

// tooLarge reports the operators that can never run in project: within the limits of its
// levels and on this machine. It sets beyond to the first level whose limit is too small, if
// any.
func (s *ForecastService) tooLarge(v workflow.Version, project uuid.UUID, beyond *uuid.UUID) []apperr.Field {
	var fields []apperr.Field
	add := func(f apperr.Field) {
		if !slices.Contains(fields, f) { // the first graph of an Argo document may run itself, too
			fields = append(fields, f)
		}
	}
	refuse := func(op *workflow.Operator, what, format string, args ...any) {
		add(apperr.Field{
			Path:    documentPath(op, what),
			Message: fmt.Sprintf("Operator %s ", op.Name) + fmt.Sprintf(format, args...),
		})
	}
	for _, op := range v.Definition.EveryOperator() {
		if !op.Runs() || op.Pool != "" { // the workers of a pool are no machines of the installation
			continue
		}
		if r := s.quota.NeverFits(s.requestOf(op, project)); r != nil {
			if r.Level != nil && *beyond == uuid.Nil {
				*beyond = r.Level.ID
			}
			field, _, _ := strings.Cut(string(r.Resource), ":")
			add(apperr.Field{
				Path: documentPath(op, "resources."+field), Message: fmt.Sprintf("Operator %s: %s", op.Name, r.Message),
			})
		}
		if s.config.Cluster {
			continue
		}
		if op.Resources.Pods > 1 {
			refuse(op, "resources.pods", "runs as %d pods together, but this server runs tasks as local processes.", op.Resources.Pods)
		}
		if n := op.Resources.StorageMiB; n > 0 && s.config.DataDir != "" {
			if free, err := quota.FreeDiskMiB(s.config.DataDir); err == nil && n > free {
				refuse(op, "resources.storage", "requests %d MiB of storage; the disk of this machine has %d MiB left.", n, free)
			}
		}
		if (op.Code.Image != "" || len(op.Members) > 0) && !s.config.HostImages {
			refuse(op, "code.image", "runs in the image %s, but this server runs tasks as local processes. With FLOWFORGE_LOCAL_IMAGES=host their commands run on this machine.", op.Code.Image)
			continue
		}
		for _, f := range op.Host.Refused {
			add(f)
		}
		if len(imageCommands(op)) > 0 {
			refuse(op, "code.command", "%s", withoutCommand(op))
		}
	}
	return fields
}

// documentPath is the path of a field of an operator in its document; in a foreign format
// the path of its container there.
func documentPath(op *workflow.Operator, what string) string {
	switch first, rest, _ := strings.Cut(what, "."); {
	case op.CodeAt == "":
		return fmt.Sprintf("operators.%s.%s", op.Name, what)
	case len(op.Members) > 0:
		return op.CodeAt
	case first == "code":
		return op.CodeAt + "." + rest
	}
	return op.CodeAt + ".resources"
}

// withoutCommand explains that the operator's program is unknown on this machine, and where
// to define it.
func withoutCommand(op *workflow.Operator) string {
	where, missing := "its code", "no command"
	if op.Tags != nil {
		where = "the template " + op.Tags.Template
	}
	var silent []string
	for _, m := range op.Members {
		if m.Code.OfImage() {
			silent = append(silent, m.Name)
		}
	}
	if len(silent) > 0 {
		missing += " in the container " + strings.Join(silent, ", ")
	}
	return fmt.Sprintf("has %s. The default command of an image is only known in a cluster. Add command to %s.", missing, where)
}

// BeyondLimitError is the cause of a refused launch that requests more than the limit of a
// level of the tenancy tree.
type BeyondLimitError struct{ Level uuid.UUID }

// Error implements error.
func (e *BeyondLimitError) Error() string {
	return fmt.Sprintf("more than the limit of %s", e.Level)
}
