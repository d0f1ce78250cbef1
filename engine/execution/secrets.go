package execution

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/workflow"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// mayNameSecrets reports whether the value of an operator's input may name secrets: when its
// type allows it, and in parameters, which only a definition sets. Values that tasks write
// never may.
func mayNameSecrets(op *workflow.Operator, name string) bool {
	for _, input := range op.Inputs {
		if input.Name == name {
			return input.Type.HoldsSecret()
		}
	}
	_, isParameter := op.Parameters[name]
	return isParameter
}

// SecretService reveals secrets to tasks, and their values to what masks them.
type SecretService struct{ *core }

// OfAttempt returns the values that the calling attempt was granted, in the order of grants. Values
// of secret stores are read now, so an attempt gets those that were rotated before it started.
// It returns Forbidden for a grant of another attempt, Conflict when the attempt has ended,
// NotFound for a secret that was deleted in the meantime, Unavailable while a secret store does not
// respond, and Conflict when a store has no value.
func (s *SecretService) OfAttempt(ctx context.Context, grants []*flowforgev1.SecretGrant) ([]string, error) {
	scope, err := scopeOf(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(grants))
	for i, g := range grants {
		if !s.config.Signer.Granted(scope, g.GetName(), g.GetMac()) {
			return nil, apperr.New(apperr.Forbidden, "The attempt has no right to the secret %q.", g.GetName())
		}
		names[i] = g.GetName()
	}
	alive, err := s.queries.AttemptAlive(ctx, scope.ExecutionID, int32(scope.NodeIndex), int32(scope.Attempt)) //nolint:gosec // signed by us
	if err != nil {
		return nil, fmt.Errorf("find the attempt: %w", err)
	}
	if !alive {
		return nil, attemptEnded()
	}
	system := auth.AsSystem(ctx)
	values := make([]string, len(names))
	for i, name := range names {
		if values[i], err = s.reveal(system, scope.ProjectID, name, (*secret.Service).RevealNow); err != nil {
			return nil, err
		}
	}
	// The use of a connection is recorded when it is resolved.
	secrets := slices.DeleteFunc(names, func(name string) bool { _, _, is := connectionField(name); return is })
	if len(secrets) == 0 {
		return values, nil
	}
	return values, s.noteSecrets(system, scope, secrets)
}

// noteSecrets records which secrets a workflow received.
func (s *SecretService) noteSecrets(ctx context.Context, scope auth.TaskScope, names []string) error {
	row, err := s.queries.GetExecution(ctx, scope.ExecutionID)
	if err != nil {
		return fmt.Errorf("load execution: %w", err)
	}
	slices.Sort(names)
	return s.config.Secrets.NoteUse(ctx, scope.ProjectID, row.WorkflowName, scope.ExecutionID, slices.Compact(names))
}

// Names returns the names of the secrets, and of secret fields of connections, in the inputs
// of an execution and in the definition of its workflow. It is for the engine.
func (s *SecretService) Names(ctx context.Context, id uuid.UUID) ([]string, error) {
	if _, err := auth.Authorize(ctx, auth.TaskReport); err != nil {
		return nil, err
	}
	if s.config.Secrets == nil && s.config.Connections == nil {
		return nil, nil
	}
	e, err := s.reader.Get(auth.AsSystem(ctx), id)
	if err != nil {
		return nil, err
	}
	version, err := s.workflows.VersionByID(auth.AsSystem(ctx), e.VersionID)
	if err != nil {
		return nil, err
	}
	names, connections := map[string]bool{}, map[string]bool{}
	gatherMarks(names, "$secret", e.Inputs)
	gatherMarks(connections, "$connection", e.Inputs)
	for _, op := range version.Definition.EveryOperator() {
		gatherMarks(names, "$secret", op.Parameters)
		gatherMarks(connections, "$connection", op.Parameters)
		for _, input := range op.Inputs {
			gatherMarks(names, "$secret", input.Source.Value)
			gatherMarks(connections, "$connection", input.Source.Value)
		}
		gatherPlaces(names, op)
	}
	if err := s.gatherFields(ctx, names, e.ProjectID, connections); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// Values returns the values of the project's secrets with these names; it leaves out
// deleted ones, and those that this server never read and cannot read from their store. It is for masking, on behalf of the engine.
func (s *SecretService) Values(ctx context.Context, project uuid.UUID, names []string) ([]string, error) {
	values := make([]string, 0, len(names))
	for _, name := range names {
		value, err := s.reveal(ctx, project, name, (*secret.Service).RevealForMasking) // checks the permission
		if apperr.Is(err, apperr.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// gatherMarks adds the names in value that an object has under mark.
func gatherMarks(names map[string]bool, mark string, value any) {
	switch v := value.(type) {
	case map[string]any:
		if name, ok := v[mark].(string); ok {
			names[name] = true
		}
		for _, item := range v {
			gatherMarks(names, mark, item)
		}
	case []any:
		for _, item := range v {
			gatherMarks(names, mark, item)
		}
	}
}
