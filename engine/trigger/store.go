package trigger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// List returns the triggers of the current project by name.
func (s *Service) List(ctx context.Context) ([]Trigger, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.ListTriggers(ctx, subject.ProjectID, MaxTriggers)
	if err != nil {
		return nil, fmt.Errorf("list triggers: %w", err)
	}
	list := make([]Trigger, 0, len(rows))
	for _, row := range rows {
		t, err := triggerOf(row)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// Get returns a trigger of the current project, or apperr.NotFound.
func (s *Service) Get(ctx context.Context, name string) (Trigger, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return Trigger{}, err
	}
	row, err := s.find(ctx, subject.ProjectID, name)
	if err != nil {
		return Trigger{}, err
	}
	return triggerOf(row)
}

func (s *Service) find(ctx context.Context, project uuid.UUID, name string) (db.Trigger, error) {
	row, err := s.queries.FindTrigger(ctx, project, name)
	if db.IsNoRows(err) {
		return row, absent(name)
	}
	if err != nil {
		return row, fmt.Errorf("get trigger %s: %w", name, err)
	}
	return row, nil
}

// Put stores a trigger in the current project. former is the name of the trigger that it replaces;
// "" for a new one. The caller becomes its owner, so that an edit cannot launch with the permissions of
// another user. Errors: Invalid with fields, NotFound for former, Forbidden for the trigger of another
// user, and Conflict for a name that exists.
func (s *Service) Put(ctx context.Context, former string, sp Spec) (Trigger, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionLaunch)
	if err != nil {
		return Trigger{}, err
	}
	if former != "" {
		if _, err := s.changeable(ctx, s.queries, subject, former); err != nil {
			return Trigger{}, err
		}
	}
	c, err := s.check(ctx, subject, sp)
	if err != nil {
		return Trigger{}, err
	}
	now := s.now()
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if former == "" {
			return insert(ctx, q, subject, c, now)
		}
		row, err := s.changeable(ctx, q, subject, former)
		if err != nil {
			return err
		}
		return s.update(ctx, q, subject, c, row, now)
	})
	if err != nil {
		return Trigger{}, fmt.Errorf("store trigger %s: %w", c.Name, err)
	}
	signal(s.due)
	return s.Get(ctx, c.Name)
}

// update changes a trigger, and restarts its polls or joins if their settings changed.
func (s *Service) update(ctx context.Context, q *db.Queries, subject auth.Subject, c checked, row db.Trigger, now time.Time) error {
	was, err := triggerOf(row)
	if err != nil {
		return err
	}
	before := factsOf(row)
	turnedOn := c.Enabled && !row.Enabled
	if turnedOn {
		row.EnabledAt = now
	}
	c.apply(&row)
	row.OwnerID, row.OwnerName, row.UpdatedAt, row.Paused = subject.ID, subject.Name, now, ""
	if err := q.UpdateTrigger(ctx, updateOf(row)); err != nil {
		return taken(err, row.Name)
	}
	switch {
	case was.Join.collects() != c.Join.collects():
		err = q.DropJoins(ctx, row.ID)
	case turnedOn:
		err = q.DropOpenJoins(ctx, row.ID)
	}
	if err != nil {
		return fmt.Errorf("drop the joins of trigger %s: %w", row.ID, err)
	}
	if err := changePolls(ctx, q, row.ID, &was.Spec, &c.Spec, turnedOn, now); err != nil {
		return err
	}
	return audit.Record(ctx, q, entry("trigger.update", row, before, factsOf(row)))
}

// changePolls makes the conditions of a trigger poll from the beginning that poll something else than
// before, and all conditions if the trigger was turned on. The others poll again now.
func changePolls(ctx context.Context, q *db.Queries, trigger uuid.UUID, was, is *Spec, turnedOn bool, now time.Time) error {
	if err := q.InterruptPolls(ctx, now, trigger); err != nil {
		return fmt.Errorf("interrupt the polls of trigger %s: %w", trigger, err)
	}
	polling := []string{}
	for _, c := range is.Conditions() {
		if !c.Kind.Polls() {
			continue
		}
		polling = append(polling, c.Name)
		former, _ := was.condition(c.Name)
		changed := former.polled() != c.polled()
		if !changed && !turnedOn {
			continue
		}
		// Existing objects and responses cause no events, unless the condition is new and requests it.
		baseline := !changed || !c.existing()
		if err := q.RestartPolls(ctx, db.RestartPollsParams{TriggerID: trigger, Condition: c.Name, Epoch: uuid.Must(uuid.NewV7()), Baseline: baseline, DueAt: now}); err != nil {
			return fmt.Errorf("restart the polls of trigger %s: %w", trigger, err)
		}
	}
	if err := q.KeepPolls(ctx, trigger, polling); err != nil {
		return fmt.Errorf("remove polls of trigger %s: %w", trigger, err)
	}
	return nil
}

// changeable returns a trigger that the subject may change: its owner, and users who may cancel
// other users' executions. In a transaction, the row is locked.
func (s *Service) changeable(ctx context.Context, q *db.Queries, subject auth.Subject, name string) (db.Trigger, error) {
	row, err := q.LockTrigger(ctx, subject.ProjectID, name)
	if db.IsNoRows(err) {
		return row, absent(name)
	}
	if err != nil {
		return row, fmt.Errorf("lock trigger %s: %w", name, err)
	}
	_, err = auth.AuthorizeOwner(ctx, auth.ExecutionLaunch, auth.ExecutionCancelAny, row.ProjectID, row.OwnerID, absent(name))
	return row, err
}

// Switch turns a trigger of the current project on or off. A trigger ignores events while it is
// off.
func (s *Service) Switch(ctx context.Context, name string, on bool) error {
	return s.change(ctx, name, func(ctx context.Context, q *db.Queries, row db.Trigger) error {
		if row.Enabled == on {
			return nil
		}
		t, err := triggerOf(row)
		if err != nil {
			return err
		}
		before, now := factsOf(row), s.now()
		row.Enabled, row.Paused, row.UpdatedAt = on, "", now
		if on {
			row.EnabledAt = now
		}
		if on {
			if err := q.DropOpenJoins(ctx, row.ID); err != nil {
				return fmt.Errorf("drop the joins of trigger %s: %w", name, err)
			}
		}
		if err := changePolls(ctx, q, row.ID, &t.Spec, &t.Spec, on, now); err != nil {
			return err
		}
		if err := q.UpdateTrigger(ctx, updateOf(row)); err != nil {
			return fmt.Errorf("switch trigger %s: %w", name, err)
		}
		return audit.Record(ctx, q, entry("trigger.update", row, before, factsOf(row)))
	})
}

// Delete removes a trigger of the current project with its deliveries. Executions that it launched are kept.
func (s *Service) Delete(ctx context.Context, name string) error {
	return s.change(ctx, name, func(ctx context.Context, q *db.Queries, row db.Trigger) error {
		if err := q.DeleteTrigger(ctx, row.ID); err != nil {
			return fmt.Errorf("delete trigger %s: %w", name, err)
		}
		return audit.Record(ctx, q, entry("trigger.delete", row, factsOf(row), nil))
	})
}

func (s *Service) change(ctx context.Context, name string, do func(context.Context, *db.Queries, db.Trigger) error) error {
	subject, err := auth.Authorize(ctx, auth.ExecutionLaunch)
	if err != nil {
		return err
	}
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := s.changeable(ctx, q, subject, name)
		if err != nil {
			return err
		}
		return do(ctx, q, row)
	})
}

func insert(ctx context.Context, q *db.Queries, subject auth.Subject, c checked, now time.Time) error {
	if _, err := q.LockActiveProject(ctx, subject.ProjectID); db.IsNoRows(err) {
		return apperr.New(apperr.Conflict, "The project is archived, so triggers cannot be created in it.")
	} else if err != nil {
		return fmt.Errorf("lock project: %w", err)
	}
	n, err := q.CountTriggers(ctx, subject.ProjectID)
	if err != nil {
		return fmt.Errorf("count triggers: %w", err)
	}
	if n >= MaxTriggers {
		return apperr.New(apperr.Conflict, "The project has %d triggers, the maximum. Delete unused triggers.", n)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make trigger id: %w", err)
	}
	row := db.Trigger{
		ID: id, TenantID: subject.TenantID, ProjectID: subject.ProjectID, EnabledAt: now,
		OwnerID: subject.ID, OwnerName: subject.Name, CreatedAt: now, UpdatedAt: now,
	}
	c.apply(&row)
	if err := q.InsertTrigger(ctx, db.InsertTriggerParams(row)); err != nil {
		return taken(err, c.Name)
	}
	if err := changePolls(ctx, q, row.ID, &Spec{}, &c.Spec, true, now); err != nil {
		return err
	}
	return audit.Record(ctx, q, entry("trigger.create", row, nil, factsOf(row)))
}

func taken(err error, name string) error {
	if db.Constraint(err) != "triggers_name_key" {
		return err
	}
	return &apperr.Error{Code: apperr.Conflict, Message: fmt.Sprintf("A trigger called %q already exists.", name),
		Fields: []apperr.Field{{Path: "name", Message: "This name already exists. Choose another name, or edit that trigger."}}}
}

// apply sets the columns that users edit.
func (c checked) apply(row *db.Trigger) {
	row.Name, row.Kind, row.Sources, row.States, row.Stages = c.Name, string(c.Kind), c.Sources, c.States, c.Stages
	row.Signature, row.Secret, row.Filter, row.Settings = string(c.Signature), c.Secret, c.Filter, c.settings
	row.WorkflowID, row.WorkflowName, row.Version, row.Inputs, row.Enabled = c.workflowID, c.workflowName, c.Version, c.inputs, c.Enabled
	row.Priority = nil
	if c.Priority != nil {
		row.Priority = new(int32(*c.Priority)) //nolint:gosec // 0 to 100
	}
}

func updateOf(row db.Trigger) db.UpdateTriggerParams {
	return db.UpdateTriggerParams{
		ID: row.ID, Name: row.Name, Kind: row.Kind, Sources: row.Sources, States: row.States, Stages: row.Stages, Signature: row.Signature, Secret: row.Secret, Filter: row.Filter,
		WorkflowID: row.WorkflowID, WorkflowName: row.WorkflowName, Version: row.Version, Inputs: row.Inputs, Priority: row.Priority,
		Enabled: row.Enabled, EnabledAt: row.EnabledAt, OwnerID: row.OwnerID, OwnerName: row.OwnerName, UpdatedAt: row.UpdatedAt, Settings: row.Settings, Paused: row.Paused,
	}
}

// facts are the fields for the audit log.
type facts struct {
	Kind      string   `json:"kind"`
	Sources   []string `json:"sources,omitempty"`
	States    []string `json:"states,omitempty"`
	Stages    []string `json:"stages,omitempty"`
	Signature string   `json:"signature,omitempty"`
	Secret    string   `json:"secret,omitempty"`
	Filter    string   `json:"filter,omitempty"`
	Workflow  string   `json:"workflow"`
	Version   string   `json:"version,omitempty"`
	Priority  *int32   `json:"priority,omitempty"`
	Enabled   bool     `json:"enabled"`
	Owner     string   `json:"owner"`

	Inputs   json.RawMessage `json:"inputs"`
	Settings json.RawMessage `json:"settings,omitempty"`
	Paused   string          `json:"paused,omitempty"`
}

func factsOf(row db.Trigger) facts {
	return facts{
		Kind: row.Kind, Sources: row.Sources, States: row.States, Stages: row.Stages, Signature: row.Signature, Secret: row.Secret, Filter: row.Filter,
		Workflow: row.WorkflowName, Version: row.Version, Priority: row.Priority, Inputs: row.Inputs, Enabled: row.Enabled, Owner: row.OwnerName, Settings: row.Settings, Paused: row.Paused,
	}
}

func entry(action string, row db.Trigger, before, after any) audit.Entry {
	return audit.Entry{Action: action, Kind: "trigger", ID: row.ID.String(), Name: row.Name, TenantID: row.TenantID, ProjectID: row.ProjectID, Old: before, New: after}
}
