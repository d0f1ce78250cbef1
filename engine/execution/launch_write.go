package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
)

// insert writes all rows of the launches, with one statement for each table. Launches that are
// refused before they write anything get an error; a later error fails the transaction.
func (s *LaunchService) insert(ctx context.Context, tx pgx.Tx, q *db.Queries, list []*launch, claim Claim) error {
	list, err := s.accepted(ctx, q, list, claim)
	if err != nil || len(list) == 0 {
		return err
	}
	if err := insertExecutions(ctx, q, list); err != nil {
		return err
	}
	entries := make([]audit.Entry, len(list))
	for i, l := range list {
		ctx := auth.WithSubject(ctx, l.subject)
		if err := s.insertExtras(ctx, q, l); err != nil {
			return err
		}
		if err := holdNamed(ctx, q, l); err != nil {
			return err
		}
		if err := insertEntryUses(ctx, q, l); err != nil {
			return err
		}
		entries[i] = l.entry()
	}
	if err := audit.RecordAll(ctx, q, entries); err != nil {
		return err
	}
	for _, l := range list {
		if l.request.Within == nil {
			continue
		}
		if err := l.request.Within(auth.WithSubject(ctx, l.subject), q, l.id); err != nil {
			return err
		}
	}
	if err := s.enqueueDrives(ctx, tx, list); err != nil {
		return err
	}
	s.config.Crash("launch.written")
	return nil
}

// accepted returns the launches that create an execution. It claims their idempotency keys, and locks
// their projects and versions.
func (s *LaunchService) accepted(ctx context.Context, q *db.Queries, list []*launch, claim Claim) ([]*launch, error) {
	fresh := make([]*launch, 0, len(list))
	for _, l := range list {
		l.id, l.err = l.request.identity.id, nil
		first, err := s.claimKey(ctx, q, l)
		if err != nil {
			return nil, err
		}
		if first {
			fresh = append(fresh, l)
		}
	}
	fresh, err := holdProjects(ctx, q, fresh)
	if err != nil {
		return nil, err
	}
	held := map[uuid.UUID]bool{}
	for _, l := range fresh {
		if !held[l.version.ID] {
			if err := workflow.HoldVersion(ctx, q, l.version); err != nil {
				return nil, err
			}
			held[l.version.ID] = true
		}
	}
	if claim == nil || len(fresh) == 0 {
		return fresh, nil
	}
	ids := make(map[int]uuid.UUID, len(fresh))
	for _, l := range fresh {
		ids[l.position] = l.id
	}
	refused, err := claim(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	return without(fresh, func(l *launch) error { return refused[l.position] })
}

// without returns the launches that are not refused, and sets the errors of the others. The row of an
// idempotency key must not stay without its execution, so a launch that has one fails the transaction.
func without(list []*launch, refusal func(*launch) error) ([]*launch, error) {
	rest := make([]*launch, 0, len(list))
	for _, l := range list {
		err := refusal(l)
		switch {
		case err == nil:
			rest = append(rest, l)
		case l.request.IdempotencyKey != "":
			return nil, err
		default:
			l.err = err
		}
	}
	return rest, nil
}

// holdProjects locks the projects until the transaction ends, so that they cannot be archived
// between the launch and its commit. It rejects launches in archived projects.
func holdProjects(ctx context.Context, q *db.Queries, list []*launch) ([]*launch, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var projects []uuid.UUID
	for _, l := range list {
		if !slices.Contains(projects, l.subject.ProjectID) {
			projects = append(projects, l.subject.ProjectID)
		}
	}
	active, err := q.LockActiveProjects(ctx, projects)
	if err != nil {
		return nil, fmt.Errorf("lock projects: %w", err)
	}
	return without(list, func(l *launch) error {
		if slices.Contains(active, l.subject.ProjectID) {
			return nil
		}
		return apperr.New(apperr.Conflict, "The project is archived, so workflows cannot be launched in it.")
	})
}

// launchRow is an execution as InsertExecutions reads it.
type launchRow struct {
	ID              uuid.UUID       `json:"id"`
	TenantID        uuid.UUID       `json:"tenant_id"`
	ProjectID       uuid.UUID       `json:"project_id"`
	WorkflowID      uuid.UUID       `json:"workflow_id"`
	VersionID       uuid.UUID       `json:"version_id"`
	WorkflowName    string          `json:"workflow_name"`
	Version         string          `json:"version"`
	Name            string          `json:"name"`
	Priority        int             `json:"priority"`
	Inputs          json.RawMessage `json:"inputs"`
	SubmittedBy     uuid.UUID       `json:"submitted_by"`
	SubmittedByName string          `json:"submitted_by_name"`
	RelaunchOf      *uuid.UUID      `json:"relaunch_of"`
	CreatedAt       time.Time       `json:"created_at"`
	Total           int             `json:"total"`
	Pending         int             `json:"pending"`
	Ready           int             `json:"ready"`
	Levels          int             `json:"levels"`
	Traceparent     string          `json:"traceparent"`
	ScheduledAt     *time.Time      `json:"scheduled_at"`
	Purpose         query.Purpose   `json:"purpose"`
	SweepID         *uuid.UUID      `json:"sweep_id"`
	Message         string          `json:"message"` // of the first event
}

// insertExecutions writes new executions with their first events and their nodes.
func insertExecutions(ctx context.Context, q *db.Queries, list []*launch) error {
	rows, nodes := make([]launchRow, len(list)), []db.InsertNodesParams{}
	for i, l := range list {
		nodes = append(nodes, nodeRowsOf(l)...)
		plan := l.version.Plan
		rows[i] = launchRow{
			ID: l.id, TenantID: l.subject.TenantID, ProjectID: l.subject.ProjectID,
			WorkflowID: l.version.WorkflowID, VersionID: l.version.ID, WorkflowName: l.version.Name, Version: l.version.Version,
			Name: clean(l.request.Name, maxNameLength*utf8.UTFMax), Priority: int(l.request.Priority), Inputs: l.inputs,
			SubmittedBy: l.subject.ID, SubmittedByName: l.subject.Name, RelaunchOf: l.request.RelaunchOf, CreatedAt: l.now, ScheduledAt: l.request.ScheduledAt,
			Total: len(plan.Nodes), Pending: len(plan.Nodes) - int(l.ready), Ready: int(l.ready), Levels: len(plan.Levels),
			Traceparent: l.traceparent, Purpose: cmp.Or(l.request.Purpose, query.Work), SweepID: l.request.SweepID, Message: l.launchMessage(),
		}
	}
	if err := q.InsertExecutions(ctx, recordSet(rows)); err != nil {
		return fmt.Errorf("insert %d executions: %w", len(rows), err)
	}
	if _, err := q.InsertNodes(ctx, nodes); err != nil {
		return fmt.Errorf("insert nodes: %w", err)
	}
	return nil
}
