package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/protect"
)

// Breaker is the circuit breaker of an operator of a workflow, for the code that it runs now
// or ran in an earlier version.
type Breaker struct {
	protect.Breaker

	ID            uuid.UUID
	ProjectID     uuid.UUID
	WorkflowID    uuid.UUID
	Workflow      string
	Operator      string // "graph/operator" inside a graph
	Version       string // the latest version that reported an outcome
	Rule          protect.BreakerRule
	TrialOf       *uuid.UUID // the execution of the trial attempt
	LastError     string
	LastExecution *uuid.UUID
	LastNode      string
	Waiting       int // nodes that it withholds
	ChangedAt     time.Time
}

// maxBreakers limits a list of breakers: a project has one for each operator with a breaker
// that failed recently.
const maxBreakers = 500

// ProtectionService shows and changes circuit breakers and retry budgets.
type ProtectionService struct{ *core }

// Breakers returns the circuit breakers of the caller's project that track failures, open
// ones first.
func (s *ProtectionService) Breakers(ctx context.Context) ([]Breaker, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.ListBreakers(ctx, subject.ProjectID, maxBreakers)
	if err != nil {
		return nil, fmt.Errorf("list breakers: %w", err)
	}
	list := make([]Breaker, len(rows))
	for k, r := range rows {
		list[k] = breakerFromRow(r.CircuitBreaker)
		list[k].Waiting = int(r.Waiting)
	}
	return list, nil
}

func breakerFromRow(r db.CircuitBreaker) Breaker {
	return Breaker{
		Breaker: breakerState(r), ID: r.ID, ProjectID: r.ProjectID, WorkflowID: r.WorkflowID, Workflow: r.WorkflowName, Operator: r.Operator,
		Version: r.Version, Rule: breakerRule(&r), TrialOf: r.TrialExecution, LastError: r.LastError, LastExecution: r.LastExecution,
		LastNode: r.LastNode, ChangedAt: r.ChangedAt.UTC(),
	}
}

// ResetBreaker closes a breaker, so that the nodes that it withholds start. It requires the
// permission to launch in its project. Resetting a closed breaker clears its failure count.
func (s *ProtectionService) ResetBreaker(ctx context.Context, id uuid.UUID, reason string) (Breaker, error) {
	absent := apperr.New(apperr.NotFound, "There is no circuit breaker %s.", id)
	if _, err := auth.SignedIn(ctx); err != nil {
		return Breaker{}, err
	}
	row, err := s.queries.GetBreaker(ctx, id)
	if db.IsNoRows(err) {
		return Breaker{}, absent
	} else if err != nil {
		return Breaker{}, fmt.Errorf("read breaker %s: %w", id, err)
	}
	if _, err := auth.AuthorizeIn(ctx, auth.ExecutionLaunch, row.ProjectID, hidden(ctx, auth.ExecutionRead, row.ProjectID, absent)); err != nil {
		return Breaker{}, err
	}
	var waiting []uuid.UUID
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		if row, err = q.LockBreaker(ctx, id); err != nil {
			return fmt.Errorf("lock breaker: %w", err)
		}
		before := row.State
		next := breakerState(row).Reset()
		if err := q.SaveBreaker(ctx, saveBreaker(&row, next, breakerRule(&row), row.Version, s.now())); err != nil {
			return fmt.Errorf("save breaker: %w", err)
		}
		if waiting, err = q.LiveOfWorkflow(ctx, row.WorkflowID); err != nil {
			return fmt.Errorf("list what waits: %w", err)
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "breaker.reset", Kind: "breaker", ID: id.String(), Name: row.WorkflowName + " " + row.Operator,
			TenantID: row.TenantID, ProjectID: row.ProjectID,
			Old: map[string]any{"state": before, "failures": len(row.Failures)}, New: map[string]any{"state": protect.Closed, "failures": 0},
			Reason: clean(reason, maxMessage),
		})
	})
	if err != nil {
		return Breaker{}, fmt.Errorf("reset breaker %s: %w", id, err)
	}
	s.wakeAll(waiting)
	row, err = s.queries.GetBreaker(ctx, id)
	if err != nil {
		return Breaker{}, fmt.Errorf("read breaker %s: %w", id, err)
	}
	return breakerFromRow(row), nil
}

// hidden returns absent for a caller who may not read at place, and otherwise that the
// caller's role is insufficient.
func hidden(ctx context.Context, reading auth.Action, place uuid.UUID, absent error) error {
	if subject, ok := auth.SubjectOf(ctx); ok && subject.May(reading, place) {
		return apperr.New(apperr.Forbidden, "Your role does not allow this (%s).", auth.ExecutionLaunch)
	}
	return absent
}

// wakeAll makes executions check again what they wait for.
func (s *core) wakeAll(ids []uuid.UUID) {
	for _, id := range ids {
		s.wake(id)
	}
}

// TenantBudget is the retry budget of a tenant. Without a rule its retries are unlimited,
// and Version is 0.
type TenantBudget struct {
	TenantID  uuid.UUID
	Rule      protect.BucketRule
	Left      int   // retries that are available immediately
	Delayed   int64 // retries that have had to wait
	ChangedAt time.Time
	ChangedBy string
	Version   int64
}

// WorkflowBudget is the retry budget of a workflow, as its definition sets it, and its use.
type WorkflowBudget struct {
	WorkflowID uuid.UUID
	Workflow   string
	Rule       protect.WindowRule
	Left       int
	Delayed    int64
	NextAt     time.Time // when the next retry is available; zero while some are left
	ChangedAt  time.Time
}

// RetryBudgets returns the budget of the caller's tenant and the budgets of the workflows of
// their project.
func (s *ProtectionService) RetryBudgets(ctx context.Context) (TenantBudget, []WorkflowBudget, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return TenantBudget{}, nil, err
	}
	budget, err := s.tenantBudget(ctx, subject.TenantID)
	if err != nil {
		return TenantBudget{}, nil, err
	}
	rows, err := s.queries.ListWindows(ctx, subject.ProjectID, maxBreakers)
	if err != nil {
		return TenantBudget{}, nil, fmt.Errorf("list retry budgets: %w", err)
	}
	list, now := make([]WorkflowBudget, len(rows)), s.now()
	for k, r := range rows {
		rule, window := protect.WindowRule{Retries: int(r.Retries), Window: seconds(r.Span)}, protect.Window(r.Made)
		list[k] = WorkflowBudget{
			WorkflowID: r.WorkflowID, Workflow: r.WorkflowName, Rule: rule, Left: window.Left(rule, now), Delayed: r.Delayed, ChangedAt: r.ChangedAt.UTC(),
		}
		if list[k].Left == 0 {
			list[k].NextAt = window.Next(rule, now, 1).UTC()
		}
	}
	return budget, list, nil
}

func (s *ProtectionService) tenantBudget(ctx context.Context, tenant uuid.UUID) (TenantBudget, error) {
	row, err := s.queries.GetBucket(ctx, tenant)
	if db.IsNoRows(err) {
		return TenantBudget{TenantID: tenant}, nil
	}
	if err != nil {
		return TenantBudget{}, fmt.Errorf("read retry budget of %s: %w", tenant, err)
	}
	return TenantBudget{
		TenantID: tenant, Rule: bucketRule(row), Left: bucketState(row).Left(bucketRule(row), s.now()), Delayed: row.Delayed,
		ChangedAt: row.ChangedAt.UTC(), ChangedBy: row.ChangedBy, Version: row.Version,
	}, nil
}

// Limits of the budget of a tenant.
const (
	maxTenantRetries = 1_000_000
	maxRetryPeriod   = 30 * 24 * time.Hour
)

// SetTenantBudget changes the retry budget of the caller's tenant; the zero rule removes it.
// version is the version that the caller read. It requires quota.write at the tenant, and
// returns Invalid with fields, or Conflict when another user saved a change in the meantime.
func (s *ProtectionService) SetTenantBudget(ctx context.Context, rule protect.BucketRule, version int64, reason string) (TenantBudget, error) {
	subject, err := auth.SignedIn(ctx)
	if err != nil {
		return TenantBudget{}, err
	}
	tenant := subject.TenantID
	if _, err := auth.AuthorizeIn(ctx, auth.QuotaWrite, tenant, apperr.New(apperr.Forbidden, "Your role does not allow this (%s).", auth.QuotaWrite)); err != nil {
		return TenantBudget{}, err
	}
	if err := checkBucket(rule); err != nil {
		return TenantBudget{}, err
	}
	var waiting []uuid.UUID
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		before, err := s.putBucket(ctx, q, tenant, rule, version, subject.Name)
		if err != nil {
			return err
		}
		if waiting, err = q.RetryingOfTenant(ctx, tenant); err != nil {
			return fmt.Errorf("list what waits: %w", err)
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "retry_budget.update", Kind: "retry_budget", ID: tenant.String(), Name: "retry budget of the tenant", TenantID: tenant,
			Old: bucketValues(before), New: bucketValues(rule), Reason: clean(reason, maxMessage),
		})
	})
	if err != nil {
		return TenantBudget{}, err
	}
	s.wakeAll(waiting)
	return s.tenantBudget(ctx, tenant)
}

func bucketValues(r protect.BucketRule) any {
	if !r.On() {
		return nil
	}
	return map[string]any{"retries": r.Retries, "per": r.Per.String(), "burst": r.Burst}
}

func checkBucket(r protect.BucketRule) error {
	if r == (protect.BucketRule{}) {
		return nil
	}
	var fields []apperr.Field
	if r.Retries < 1 || r.Retries > maxTenantRetries {
		fields = append(fields, apperr.Field{Path: "retries", Message: fmt.Sprintf("Enter a number from 1 to %d.", maxTenantRetries)})
	}
	if r.Per < time.Second || r.Per > maxRetryPeriod {
		fields = append(fields, apperr.Field{Path: "per", Message: "Enter a duration from 1s to 720h."})
	}
	if r.Burst < 1 || r.Burst > maxTenantRetries {
		fields = append(fields, apperr.Field{Path: "burst", Message: fmt.Sprintf("Enter a number from 1 to %d.", maxTenantRetries)})
	}
	return apperr.InvalidFields("The retry budget is not valid.", fields)
}

// putBucket writes the budget of a tenant and returns the previous rule. Retries that were
// left remain, up to the new burst.
func (s *ProtectionService) putBucket(ctx context.Context, q *db.Queries, tenant uuid.UUID, rule protect.BucketRule, version int64, by string) (before protect.BucketRule, err error) {
	conflict := apperr.New(apperr.Conflict, "Another user changed the budget in the meantime. Reload it and try again.")
	row, err := q.LockBucket(ctx, tenant)
	switch {
	case db.IsNoRows(err):
		if version != 0 {
			return before, conflict
		}
		if !rule.On() {
			return before, nil
		}
		n, err := q.InsertBucket(ctx, db.InsertBucketParams{
			TenantID: tenant, Retries: int32(rule.Retries), Period: rule.Per.Seconds(), Burst: int32(rule.Burst), ChangedAt: s.now(), ChangedBy: by, //nolint:gosec // checked
		})
		if err == nil && n == 0 {
			return before, conflict
		}
		return before, err
	case err != nil:
		return before, fmt.Errorf("lock retry budget: %w", err)
	case row.Version != version:
		return before, conflict
	}
	before = bucketRule(row)
	if !rule.On() {
		_, err := q.DeleteBucket(ctx, tenant, version)
		return before, err
	}
	state, _ := bucketState(row).Take(before, s.now(), 0)
	return before, q.UpdateBucket(ctx, db.UpdateBucketParams{
		TenantID: tenant, Retries: int32(rule.Retries), Period: rule.Per.Seconds(), Burst: int32(rule.Burst), //nolint:gosec // checked
		Tokens: min(state.Tokens, float64(rule.Burst)), RefilledAt: &state.At, ChangedAt: s.now(), ChangedBy: by,
	})
}
