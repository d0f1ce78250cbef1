package execution

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// Supervisor receives what launchers and runners report about attempts.
type Supervisor struct {
	*core

	ends *observedEnds
}

// Deliver takes the begins, the heartbeats and the ends of attempts; each report carries the
// token of its attempt. An accepted end is durable when Deliver returns, and applied at most
// once. A report that is not accepted is stale, unknown or forbidden, and there is no need
// to send it again. Deliver returns an error when it cannot write; then the caller may send
// everything again. The caller has stored telemetry before; Deliver only marks it as
// accepted.
func (s *Supervisor) Deliver(ctx context.Context, reports []*flowforgev1.AttemptReport) ([]*flowforgev1.ReportResult, error) {
	if _, err := auth.Authorize(ctx, auth.TaskReport); err != nil {
		return nil, err
	}
	results := make([]*flowforgev1.ReportResult, len(reports))
	scopes := make([]auth.TaskScope, len(reports))
	var signs []heartbeat
	now := s.now()
	for i, r := range reports {
		scope, err := s.config.Signer.Verify(r.GetToken(), s.config.Now())
		if err == nil && query.TaskID(scope.ExecutionID, scope.NodeIndex, scope.Attempt) != r.GetTaskId() {
			err = errForeignToken
		}
		if err != nil {
			results[i] = &flowforgev1.ReportResult{Reason: "the token is not valid for this attempt", Refused: true}
			continue
		}
		scopes[i] = scope
		results[i] = &flowforgev1.ReportResult{Accepted: true}
		if r.GetHeartbeat() != nil || r.GetStarted() != nil {
			signs = append(signs, heartbeat{i, scope})
		}
	}
	if err := s.recordHeartbeats(ctx, signs, results, now); err != nil {
		return nil, err
	}
	if err := s.keepPlaced(ctx, reports, scopes, results); err != nil {
		return nil, err
	}
	if err := s.noteLogs(ctx, reports, scopes, results, now); err != nil {
		return nil, err
	}
	if err := s.takeBegins(ctx, reports, scopes, results, now); err != nil {
		return nil, err
	}
	return results, s.takeEnds(ctx, reports, scopes, results, now)
}

var errForeignToken = errors.New("the token belongs to another attempt")

// heartbeat is the heartbeat in the report at index.
type heartbeat struct {
	index int
	scope auth.TaskScope
}

// recordHeartbeats extends the expiry of live attempts, and returns which of them are to stop.
func (s *Supervisor) recordHeartbeats(ctx context.Context, signs []heartbeat, results []*flowforgev1.ReportResult, now time.Time) error {
	if len(signs) == 0 {
		return nil
	}
	type key struct {
		Execution uuid.UUID `json:"execution_id"`
		attemptKey
	}
	keys := make([]key, len(signs))
	for k, sg := range signs {
		keys[k] = key{sg.scope.ExecutionID, attemptKey{sg.scope.NodeIndex, sg.scope.Attempt}}
	}
	rows, err := s.queries.TouchReservations(ctx, now.Add(s.config.Timing.HeartbeatGrace), mustJSON(keys))
	if err != nil {
		return fmt.Errorf("touch reservations: %w", err)
	}
	stopping, preempted := make(map[key]bool, len(rows)), make(map[key]bool)
	for _, r := range rows {
		k := key{r.ExecutionID, attemptKey{int(r.NodeIndex), int(r.Attempt)}}
		stopping[k], preempted[k] = r.Stopping, r.Preempted
	}
	for k, sg := range signs {
		stop, known := stopping[keys[k]]
		if !known {
			*results[sg.index] = flowforgev1.ReportResult{Reason: "the attempt is not running", Cancel: true}
		}
		results[sg.index].Cancel = stop || !known
		results[sg.index].Preempt = preempted[keys[k]] && !stop
	}
	return nil
}

// takeBegins forwards the begins of attempts. They need not be durable: the end of the
// attempt repeats them. They are durable where other nodes begin because of them.
func (s *Supervisor) takeBegins(ctx context.Context, reports []*flowforgev1.AttemptReport, scopes []auth.TaskScope, results []*flowforgev1.ReportResult, now time.Time) error {
	for i, r := range reports {
		started := r.GetStarted()
		if started == nil || !results[i].Accepted {
			continue
		}
		at := now
		if ms := started.GetTimestamp(); ms > 0 {
			at = earlier(time.UnixMilli(ms).UTC(), now)
		}
		row := &startedRow{At: at, Host: clean(started.GetHost(), maxMessage)}
		if pid := int(started.GetPid()); pid > 0 {
			row.PID = &pid
		}
		scope := scopes[i]
		begun := message{node: scope.NodeIndex, attempt: scope.Attempt, begun: row}
		if !started.GetAwaited() && s.live.post(scope.ExecutionID, begun) {
			continue
		}
		var pid *int32
		if row.PID != nil {
			pid = new(started.GetPid())
		}
		_, err := s.queries.MarkAttemptStarted(ctx, db.MarkAttemptStartedParams{
			ExecutionID: scope.ExecutionID, NodeIndex: int32(scope.NodeIndex), Attempt: int32(scope.Attempt), //nolint:gosec // signed by us
			StartedAt: at, Host: row.Host, Pid: pid,
		})
		if err != nil {
			return fmt.Errorf("mark %s started: %w", r.GetTaskId(), err)
		}
		// A loop that takes this message may end before it applies it; the next one reads the
		// row. A loop that started in the meantime may have read the rows before this write.
		if s.live.post(scope.ExecutionID, begun) {
			continue
		}
		s.wake(scope.ExecutionID)
		s.hints.add(scope.ExecutionID)
	}
	return nil
}

// takeEnds passes the ends of attempts to the live loops, waits until these have written
// them, and stores the others.
func (s *Supervisor) takeEnds(ctx context.Context, reports []*flowforgev1.AttemptReport, scopes []auth.TaskScope, results []*flowforgev1.ReportResult, now time.Time) error {
	answers := make(map[int]chan receipt)
	ends := make(map[int]ending)
	for i, r := range reports {
		finished := r.GetFinished()
		if finished == nil || !results[i].Accepted {
			continue
		}
		ends[i] = endingOf(finished, now)
		done := make(chan receipt, 1)
		end := ends[i]
		if s.live.post(scopes[i].ExecutionID, message{node: scopes[i].NodeIndex, attempt: scopes[i].Attempt, end: &end, done: done}) {
			s.config.Crash("deliver.posted")
			answers[i] = done
		}
	}
	for i := range reports {
		end, ok := ends[i]
		if !ok {
			continue
		}
		accepted, err := s.settleEnd(ctx, scopes[i], end, answers[i])
		if err != nil {
			return err
		}
		if !accepted {
			*results[i] = flowforgev1.ReportResult{Reason: "the attempt is not running"}
		}
	}
	s.config.Crash("deliver.answer")
	return nil
}

// settleEnd waits until the loop to which end was posted has written it. Without such a loop
// it stores end, unless a loop has started in the meantime.
func (s *Supervisor) settleEnd(ctx context.Context, scope auth.TaskScope, end ending, posted <-chan receipt) (accepted bool, err error) {
	for {
		if posted != nil {
			select {
			case <-ctx.Done():
				return false, ctx.Err()
			case v := <-posted:
				if v.durable {
					return v.accepted, nil
				}
			}
		}
		known, err := s.storeEnding(ctx, scope, end)
		if !errors.Is(err, errDriven) {
			return known, err
		}
		done := make(chan receipt, 1)
		posted = nil
		if s.live.post(scope.ExecutionID, message{node: scope.NodeIndex, attempt: scope.Attempt, end: &end, done: done}) {
			posted = done
		}
	}
}

// errDriven means that a loop of this process has started in the meantime.
var errDriven = errors.New("the execution is driven here")

// storeEnding stores the end of an attempt for the next loop and requests a drive. It
// reports false for an attempt that should not be alive, and returns errDriven when a loop
// of this process should get the end instead.
func (s *Supervisor) storeEnding(ctx context.Context, scope auth.TaskScope, end ending) (known bool, err error) {
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error {
		// The lock orders this before or after the start and the idle check of a loop, which
		// read reports under the same lock.
		if _, err := q.LockExecution(ctx, scope.ExecutionID); err != nil {
			if db.IsNoRows(err) {
				return nil
			}
			return err
		}
		if s.live.accepts(scope.ExecutionID) {
			return errDriven
		}
		rows, err := q.StoreReports(ctx, db.StoreReportsParams{
			ExecutionID: scope.ExecutionID, NodeIndex: int32(scope.NodeIndex), Attempt: int32(scope.Attempt), //nolint:gosec // signed by us
			Report: mustJSON(end), ReceivedAt: s.now(),
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		known = true
		return s.requestDrive(ctx, tx, q, scope.ExecutionID)
	})
	if errors.Is(err, errDriven) {
		return false, errDriven
	}
	if err != nil {
		return false, fmt.Errorf("store the report of %s: %w", query.TaskID(scope.ExecutionID, scope.NodeIndex, scope.Attempt), err)
	}
	if known {
		s.hints.add(scope.ExecutionID)
	}
	s.config.Crash("deliver.stored")
	return known, nil
}
