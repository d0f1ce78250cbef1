package execution

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// openLogKept is how long a runner may send lines of an attempt that has ended: a runner
// that was offline may come back.
const openLogKept = 7 * 24 * time.Hour

// scopeKeys returns the keys of attempts as queries read them.
func scopeKeys(scopes []auth.TaskScope) json.RawMessage {
	type key struct {
		Execution uuid.UUID `json:"execution_id"`
		attemptKey
	}
	keys := make([]key, len(scopes))
	for i, t := range scopes {
		keys[i] = key{t.ExecutionID, attemptKey{t.NodeIndex, t.Attempt}}
	}
	return mustJSON(keys)
}

// Reporting reports for each scope, which the caller has verified, whether its attempt may
// send telemetry: it has not ended, or its log is still arriving. It is for the engine.
func (s *Supervisor) Reporting(ctx context.Context, scopes []auth.TaskScope) ([]bool, error) {
	if _, err := auth.Authorize(ctx, auth.TaskReport); err != nil {
		return nil, err
	}
	return s.reporting(ctx, scopes)
}

func (s *Supervisor) reporting(ctx context.Context, scopes []auth.TaskScope) ([]bool, error) {
	rows, err := s.queries.ReportingAttempts(ctx, scopeKeys(scopes))
	if err != nil {
		return nil, fmt.Errorf("find attempts: %w", err)
	}
	found := make(map[attemptID]bool, len(rows))
	for _, r := range rows {
		found[attemptID{r.ExecutionID, attemptKey{int(r.NodeIndex), int(r.Attempt)}}] = true
	}
	out := make([]bool, len(scopes))
	for i, t := range scopes {
		out[i] = found[attemptID{t.ExecutionID, attemptKey{t.NodeIndex, t.Attempt}}]
	}
	return out, nil
}

// noteLogs records which reports announce a log that follows, before their attempts end, and
// which complete one.
func (s *Supervisor) noteLogs(ctx context.Context, reports []*flowforgev1.AttemptReport, scopes []auth.TaskScope, results []*flowforgev1.ReportResult, now time.Time) error {
	var opened, closed []auth.TaskScope
	for i, r := range reports {
		switch {
		case !results[i].Accepted:
		case r.GetFinished().GetLogFollows():
			opened = append(opened, scopes[i])
		case r.GetTelemetry().GetLast():
			closed = append(closed, scopes[i])
		}
	}
	if len(opened) > 0 {
		if err := s.queries.OpenLogs(ctx, now, scopeKeys(opened), now.Add(-openLogKept)); err != nil {
			return fmt.Errorf("record open logs: %w", err)
		}
	}
	if len(closed) == 0 {
		return nil
	}
	if err := s.queries.CloseLogs(ctx, scopeKeys(closed)); err != nil {
		return fmt.Errorf("close logs: %w", err)
	}
	for _, scope := range closed {
		s.changed(scope.ExecutionID)
	}
	return nil
}
