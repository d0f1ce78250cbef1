package schedule

import (
	"bytes"
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/workflow"
)

// declared is a schedule of a definition.
type declared struct {
	as   string // its name in the definition, "" for the only one without a name
	path string // of its name
	plan *plan
	doc  document
}

// Declare implements workflow.Scheduler: it checks the schedules of a definition in the caller's
// project. write makes them the schedules of the workflow in the transaction that registers a version.
func (s *Service) Declare(ctx context.Context, d *workflow.Definition) (write workflow.WriteSchedules, problems []apperr.Field, err error) {
	subject, err := auth.Authorize(ctx, auth.WorkflowWrite)
	if err != nil {
		return nil, nil, err
	}
	if len(d.Schedules) > 0 {
		if subject, err = auth.Authorize(ctx, auth.ExecutionLaunch); err != nil {
			return nil, nil, err
		}
	}
	if len(d.Schedules) > MaxDeclared {
		return nil, []apperr.Field{{Path: "schedules", Message: fmt.Sprintf("A workflow declares at most %d schedules.", MaxDeclared)}}, nil
	}
	var list []declared
	names := map[string]bool{}
	for _, of := range d.Schedules {
		doc, fields := decode(of.Fields)
		sp, wrong := doc.spec(d.Name)
		fields = append(fields, wrong...)
		if names[doc.Name] {
			fields = append(fields, apperr.Field{Path: "name", Message: "Another schedule of the workflow has this name. Choose a name for each."})
		}
		names[doc.Name] = true
		if sp.Name = d.Name; doc.Name != "" {
			sp.Name += "/" + doc.Name
		}
		p := &plan{spec: sp, subject: subject}
		if len(fields) == 0 {
			if fields, err = s.complete(ctx, p, subject.ProjectID, d); err != nil {
				return nil, nil, err
			}
		}
		for _, f := range fields {
			problems = append(problems, apperr.Field{Path: of.PathOf(f.Path), Message: f.Message})
		}
		list = append(list, declared{as: doc.Name, path: of.PathOf("name"), plan: p, doc: doc})
	}
	return func(ctx context.Context, q *db.Queries, w db.Workflow) error {
		return s.writeDeclared(ctx, q, w, subject, list)
	}, problems, nil
}

// DeclareFor makes the schedules the ones of a workflow, without registering a version. It returns
// them, and Invalid with fields.
func (s *Service) DeclareFor(ctx context.Context, ref string, list []workflow.DeclaredSchedule) ([]Schedule, error) {
	version, err := s.config.Workflows.Version(ctx, ref, "")
	if err != nil {
		return nil, err
	}
	if _, err := auth.AuthorizeIn(ctx, auth.WorkflowWrite, version.ProjectID, apperr.New(apperr.NotFound, "There is no workflow %q.", ref)); err != nil {
		return nil, err
	}
	subject, err := auth.SignedIn(ctx)
	if err != nil {
		return nil, err
	}
	if subject.ProjectID != version.ProjectID {
		return nil, apperr.New(apperr.Conflict, "The workflow %s belongs to another project. Switch to that project first.", version.Name)
	}
	d := *version.Definition
	d.Name, d.Schedules = version.Name, list
	write, problems, err := s.Declare(ctx, &d)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, apperr.InvalidFields("The schedules cannot be saved with these values.", problems)
	}
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		w, err := q.WorkflowByID(ctx, version.WorkflowID)
		if err != nil {
			return fmt.Errorf("workflow %s: %w", version.WorkflowID, err)
		}
		return write(ctx, q, w)
	})
	if err != nil {
		return nil, fmt.Errorf("declare schedules of %s: %w", version.Name, err)
	}
	s.Wake()
	all, _, err := s.List(ctx, Filter{Workflow: version.WorkflowID.String(), Limit: maxRows})
	kept := all[:0]
	for _, sc := range all {
		if sc.Declared {
			kept = append(kept, sc)
		}
	}
	return kept, err
}

// writeDeclared creates, changes and removes the declared schedules of a workflow.
func (s *Service) writeDeclared(ctx context.Context, q *db.Queries, w db.Workflow, subject auth.Subject, list []declared) error {
	rows, err := q.DeclaredSchedules(ctx, w.ID)
	if err != nil {
		return fmt.Errorf("declared schedules of workflow %s: %w", w.ID, err)
	}
	before := make(map[string]db.Schedule, len(rows))
	for _, row := range rows {
		before[*row.DeclaredAs] = row
	}
	for _, d := range list {
		row, exists := before[d.as]
		delete(before, d.as)
		if exists {
			err = s.updateDeclared(ctx, q, row, d)
		} else {
			err = s.insertDeclared(ctx, q, w, subject, d)
		}
		if err != nil {
			return err
		}
	}
	for _, row := range rows {
		if _, gone := before[*row.DeclaredAs]; !gone {
			continue
		}
		if err := q.DeleteSchedule(ctx, row.ID); err != nil {
			return fmt.Errorf("delete schedule %s: %w", row.ID, err)
		}
		if err := audit.Record(ctx, q, entry("schedule.delete", row, factsOf(row), nil)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) insertDeclared(ctx context.Context, q *db.Queries, w db.Workflow, subject auth.Subject, d declared) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make schedule id: %w", err)
	}
	now := s.now()
	row := db.Schedule{
		ID: id, TenantID: subject.TenantID, ProjectID: w.ProjectID, WorkflowID: w.ID, WorkflowName: w.Name, CreatedAt: now, UpdatedAt: now, ResumedAt: now, DeclaredAs: &d.as,
	}
	if err := d.apply(&row); err != nil {
		return err
	}
	setNext(&row, d.plan.timing, now)
	err = insert(ctx, q, row, now)
	if apperr.Is(err, apperr.Conflict) && len(apperr.FieldsOf(err)) > 0 {
		return &apperr.Error{Code: apperr.Conflict, Message: fmt.Sprintf("A schedule called %q already exists in the project. Delete it, or rename the schedule of the definition.", row.Name),
			Fields: []apperr.Field{{Path: d.path, Message: "The project has another schedule with this name."}}}
	}
	return err
}

// updateDeclared changes a schedule if its declaration has changed. The user who registered the
// definition becomes its owner.
func (s *Service) updateDeclared(ctx context.Context, q *db.Queries, row db.Schedule, d declared) error {
	if d.doc.Anchor == nil && d.doc.Starts == nil {
		d.plan.spec.Anchor = row.Anchor.UTC()
		d.plan.timing, _ = d.plan.spec.read()
	}
	sc, _, _, err := s.read(ctx, q, row)
	if err != nil {
		return err
	}
	same, err := equal(sc.Spec, d.plan.spec)
	if err != nil {
		return err
	}
	before, was := factsOf(row), row
	if err := d.apply(&row); err != nil {
		return err
	}
	if same && row.Paused == was.Paused {
		return nil
	}
	now := s.now()
	if was.Paused && !row.Paused {
		row.ResumedAt = now
		resumeNext(&row, d.plan.timing, now)
	} else {
		keepNext(&row, d.plan.timing, now)
	}
	row.UpdatedAt = now
	if err := q.UpdateSchedule(ctx, update(row)); err != nil {
		return taken(err, row.Name)
	}
	return audit.Record(ctx, q, entry("schedule.update", row, before, factsOf(row)))
}

// apply writes a declared schedule to a row. A schedule that a user or a failure paused stays
// paused.
func (d declared) apply(row *db.Schedule) error {
	paused, reason, message := row.Paused, row.Reason, row.Message
	if err := d.plan.apply(row); err != nil {
		return err
	}
	switch {
	case paused && reason != PausedByWorkflow:
		row.Paused, row.Reason, row.Message = true, reason, message
	case d.plan.spec.Paused:
		row.Paused, row.Reason, row.Message = true, PausedByWorkflow, "The definition of the workflow declares the schedule as paused."
	default:
		row.Paused, row.Reason, row.Message = false, "", ""
	}
	return nil
}

// equal compares two specs, except for whether they are paused.
func equal(a, b Spec) (bool, error) {
	a.Paused, b.Paused = false, false
	first, err := encode(a)
	if err != nil {
		return false, err
	}
	second, err := encode(b)
	return bytes.Equal(first, second), err
}
