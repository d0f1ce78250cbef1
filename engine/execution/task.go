package execution

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// scopeOf returns the attempt of the caller.
func scopeOf(ctx context.Context) (auth.TaskScope, error) {
	subject, err := auth.Authorize(ctx, auth.TaskReport)
	if err != nil {
		return auth.TaskScope{}, err
	}
	if subject.Task == nil {
		return auth.TaskScope{}, apperr.New(apperr.Forbidden, "This call requires a task token.")
	}
	return *subject.Task, nil
}

// attemptEnded is the error for the token of an attempt that has ended.
func attemptEnded() error {
	return apperr.New(apperr.Unauthenticated, "The attempt has ended, so its token is no longer valid.")
}

// Alive returns Unauthenticated for a calling task whose attempt has ended, or never began.
func (s *Supervisor) Alive(ctx context.Context) error {
	scope, err := scopeOf(ctx)
	if err != nil {
		return err
	}
	alive, err := s.aliveOf(ctx, []auth.TaskScope{scope})
	if err != nil {
		return err
	}
	if !alive[0] {
		return attemptEnded()
	}
	return nil
}

func (s *Supervisor) aliveOf(ctx context.Context, scopes []auth.TaskScope) ([]bool, error) {
	rows, err := s.queries.AliveAttempts(ctx, scopeKeys(scopes))
	if err != nil {
		return nil, fmt.Errorf("find attempts: %w", err)
	}
	alive := make(map[attemptID]bool, len(rows))
	for _, r := range rows {
		alive[attemptID{r.ExecutionID, attemptKey{int(r.NodeIndex), int(r.Attempt)}}] = true
	}
	out := make([]bool, len(scopes))
	for i, t := range scopes {
		out[i] = alive[attemptID{t.ExecutionID, attemptKey{t.NodeIndex, t.Attempt}}]
	}
	return out, nil
}

// TaskService serves running tasks: checkpoints, outputs, progress, input files and the exchange of
// addresses.
type TaskService struct {
	*core

	supervisor *Supervisor
	streams    *StreamService
	snapshots  *snapshots
	inputs     inputSets
}

// UpdateStatus stores the progress that the calling task reports. A percent below 0 leaves
// the progress unchanged. It returns Unauthenticated when the attempt has ended.
func (s *TaskService) UpdateStatus(ctx context.Context, p query.Progress) error {
	scope, err := scopeOf(ctx)
	if err != nil {
		return err
	}
	params := db.SetProgressParams{
		ExecutionID: scope.ExecutionID, NodeIndex: int32(scope.NodeIndex), Attempt: int32(scope.Attempt), //nolint:gosec // signed by us
		Message: clean(p.Message, maxMessage), Status: clean(p.Status, maxNameLength),
	}
	if p.Percent >= 0 {
		params.Progress = new(int32(min(p.Percent, 100)))
	}
	n, err := s.queries.SetProgress(ctx, params)
	if err != nil {
		return fmt.Errorf("set progress: %w", err)
	}
	if n == 0 {
		return attemptEnded()
	}
	s.changed(scope.ExecutionID)
	return nil
}

// SetOutput stores a value of one of the calling task's declared outputs. It returns Invalid
// for an unknown output or a value of another type, and Unauthenticated when the attempt has
// ended.
func (s *TaskService) SetOutput(ctx context.Context, name, value string) error {
	scope, err := scopeOf(ctx)
	if err != nil {
		return err
	}
	row, _, err := s.snapshots.taskVersion(ctx, scope)
	if err != nil {
		return err
	}
	_, op, err := s.rows.NodeAt(ctx, row, scope.NodeIndex)
	if err != nil {
		return err
	}
	declared, ok := op.Output(name)
	if !ok && op.KeepsAll() && undeclaredName.MatchString(name) {
		declared, ok = workflow.OperatorOutput{Name: name, Type: typeregistry.Plainly(typeregistry.KindJSON)}, true
	}
	if !ok {
		return apperr.New(apperr.Invalid, "The operator %s has no output called %q.", op.Name, name)
	}
	if len(value) > maxOutputBytes {
		return apperr.New(apperr.Invalid, "The value of %s is larger than %d MiB; write it to a file.", name, maxOutputBytes>>20)
	}
	decoded, err := stored.Value(value)
	if err != nil {
		return apperr.Wrap(apperr.Invalid, err, fmt.Sprintf("The value of %s cannot be read.", name))
	}
	if problems := declared.Type.Check(decoded, typeregistry.Env{Produced: true}); len(problems) > 0 {
		return apperr.New(apperr.Invalid, "The value of %s is not valid: %s", name, problemError(problems))
	}
	n, err := s.queries.SetAttemptOutput(ctx, db.SetAttemptOutputParams{
		ExecutionID: scope.ExecutionID, NodeIndex: int32(scope.NodeIndex), Attempt: int32(scope.Attempt), //nolint:gosec // signed by us
		Name: name, Value: mustJSON(decoded),
	})
	if err != nil {
		return fmt.Errorf("set output: %w", err)
	}
	if n == 0 {
		return attemptEnded()
	}
	return nil
}

// Checkpoint is data that a task saved to continue from.
type Checkpoint struct {
	Data    json.RawMessage
	SavedAt time.Time
}

// SaveCheckpoint stores data (JSON) for this and later attempts of the calling task's node.
// It returns Unauthenticated when the attempt has ended.
func (s *TaskService) SaveCheckpoint(ctx context.Context, data string) error {
	scope, err := scopeOf(ctx)
	if err != nil {
		return err
	}
	if len(data) > maxDataBytes {
		return apperr.New(apperr.Invalid, "A checkpoint is limited to %d MiB. Write larger data to files in FLOWFORGE_CHECKPOINTS.", maxDataBytes>>20)
	}
	decoded, err := stored.Value(data)
	if err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The checkpoint cannot be read.")
	}
	n, err := s.queries.SaveCheckpoint(ctx, db.SaveCheckpointParams{
		ExecutionID: scope.ExecutionID, NodeIndex: int32(scope.NodeIndex), Attempt: int32(scope.Attempt), //nolint:gosec // signed by us
		Data: mustJSON(decoded), SavedAt: s.now(),
	})
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	if n == 0 {
		return attemptEnded()
	}
	return nil
}

// GetCheckpoint returns the latest checkpoint of this or an earlier attempt of the calling
// task's node; false when there is none.
func (s *TaskService) GetCheckpoint(ctx context.Context) (Checkpoint, bool, error) {
	scope, err := scopeOf(ctx)
	if err != nil {
		return Checkpoint{}, false, err
	}
	row, err := s.queries.GetCheckpoint(ctx, scope.ExecutionID, int32(scope.NodeIndex)) //nolint:gosec // signed by us
	if db.IsNoRows(err) {
		return Checkpoint{}, false, nil
	}
	if err != nil {
		return Checkpoint{}, false, fmt.Errorf("get checkpoint: %w", err)
	}
	return Checkpoint{Data: row.Data, SavedAt: row.SavedAt}, true, nil
}
