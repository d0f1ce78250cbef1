package preset

import (
	"cmp"
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
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// Edit is a preset to save. Of a change, nil fields stay as they are.
type Edit struct {
	Name        *string
	Description *string
	Sharing     *Sharing // of a new preset, nil is Private
	Version     string   // that the inputs are for; "" is the latest
	Inputs      map[string]any
	Env         typeregistry.Env // checks the inputs
	// Based is UpdatedAt of the preset that a change is based on; nil to change any state of it.
	Based *time.Time
}

// Save stores a new preset of the workflow that ref, a name or an ID, identifies. It returns
// Invalid with fields ("name", "inputs.<path>"), and Conflict for a name that exists. A preset can
// leave out any input.
func (s *Service) Save(ctx context.Context, ref string, e Edit) (Preset, error) {
	subject, w, err := s.launchable(ctx, ref)
	if err != nil {
		return Preset{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Preset{}, fmt.Errorf("make preset id: %w", err)
	}
	row := db.LaunchPreset{ID: id, WorkflowID: w.ID, Sharing: string(Private), Inputs: json.RawMessage("{}"), OwnerID: subject.ID, OwnerName: subject.Name}
	if e.Inputs == nil {
		e.Inputs = map[string]any{}
	}
	inputs, err := s.checkInputs(ctx, w, e)
	if err != nil {
		return Preset{}, err
	}
	if err := apply(ctx, s.queries, subject, w, e, inputs, &row); err != nil {
		return Preset{}, err
	}
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := q.LockPresetsOfWorkflow(ctx, w.ID); err != nil {
			return err
		}
		n, err := q.CountPresets(ctx, w.ID, subject.ID)
		if err != nil {
			return err
		}
		if n >= MaxPerPerson {
			return apperr.New(apperr.Conflict, "You have reached the maximum of %d presets for this workflow. Delete unused presets.", n)
		}
		err = q.InsertPreset(ctx, db.InsertPresetParams{
			ID: id, WorkflowID: w.ID, Name: row.Name, Description: row.Description, Sharing: row.Sharing, Version: row.Version,
			Inputs: row.Inputs, OwnerID: subject.ID, OwnerName: subject.Name, Now: s.now(),
		})
		if err != nil {
			return taken(err, row.Name)
		}
		return audit.Record(ctx, q, entry("preset.create", subject, w, row, nil, factsOf(row)))
	})
	if err != nil {
		return Preset{}, fmt.Errorf("save preset: %w", err)
	}
	return s.Get(ctx, w.ID.String(), id.String())
}

// Change changes the preset that name, a name or an ID, identifies. Errors are those of Save,
// Forbidden for a preset of another person, and Conflict if it is not in the state that e is based on.
func (s *Service) Change(ctx context.Context, ref, name string, e Edit) (Preset, error) {
	subject, w, p, err := s.changeable(ctx, ref, name)
	if err != nil {
		return Preset{}, err
	}
	inputs, err := s.checkInputs(ctx, w, e)
	if err != nil {
		return Preset{}, err
	}
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := lock(ctx, q, subject, p, name)
		if err != nil {
			return err
		}
		if e.Based != nil && !e.Based.Equal(row.UpdatedAt) {
			return apperr.New(apperr.Conflict, "%s changed the preset in the meantime. Reload it and try again.", row.UpdatedBy)
		}
		before := factsOf(row)
		if err := apply(ctx, q, subject, w, e, inputs, &row); err != nil {
			return err
		}
		err = q.UpdatePreset(ctx, db.UpdatePresetParams{
			ID: p.ID, Name: row.Name, Description: row.Description, Sharing: row.Sharing, Version: row.Version, Inputs: row.Inputs,
			Now: s.now(), Actor: subject.Name,
		})
		if err != nil {
			return taken(err, row.Name)
		}
		if err := q.UnsetUnseenPresetDefaults(ctx, p.ID, row.Sharing, row.WorkflowID, row.OwnerID); err != nil {
			return err
		}
		return audit.Record(ctx, q, entry("preset.update", subject, w, row, before, factsOf(row)))
	})
	if err != nil {
		return Preset{}, fmt.Errorf("change preset %s: %w", p.ID, err)
	}
	return s.Get(ctx, w.ID.String(), p.ID.String())
}

// Delete removes a preset. Executions keep the inputs that they took from it.
func (s *Service) Delete(ctx context.Context, ref, name string) error {
	subject, w, p, err := s.changeable(ctx, ref, name)
	if err != nil {
		return err
	}
	return db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := lock(ctx, q, subject, p, name)
		if err != nil {
			return err
		}
		if err := q.DeletePreset(ctx, p.ID); err != nil {
			return fmt.Errorf("delete preset %s: %w", p.ID, err)
		}
		return audit.Record(ctx, q, entry("preset.delete", subject, w, row, factsOf(row), nil))
	})
}

// SetDefault makes a preset the default of the caller or of the project, or ends that. The default
// of a project must be shared, and needs the right to register versions.
func (s *Service) SetDefault(ctx context.Context, ref, name string, whose Whose, on bool) (Preset, error) {
	subject, w, err := s.launchable(ctx, ref)
	if err != nil {
		return Preset{}, err
	}
	p, err := s.find(ctx, ref, name)
	if err != nil {
		return Preset{}, err
	}
	if whose != Mine && whose != OfProjects {
		return Preset{}, apperr.InvalidFields("The default cannot be changed.", []apperr.Field{{Path: "for", Message: "Choose me or project."}})
	}
	user := subject.ID
	if whose == OfProjects {
		if !subject.May(auth.WorkflowWrite, w.ProjectID) {
			return Preset{}, apperr.New(apperr.Forbidden, "Only users who can register versions of the workflow can set the project's default.")
		}
		if on && p.Sharing == Private {
			return Preset{}, notShared()
		}
		user = uuid.Nil
	}
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockPreset(ctx, p.ID)
		if db.IsNoRows(err) || err == nil && !visible(subject, w, row) {
			return absent(name)
		}
		if err == nil && on && whose == OfProjects && row.Sharing == string(Private) {
			err = notShared()
		}
		if err != nil {
			return err
		}
		action := "preset.default"
		if on {
			err = q.SetPresetDefault(ctx, w.ID, user, p.ID)
		} else {
			action = "preset.default_end"
			_, err = q.UnsetPresetDefault(ctx, w.ID, user, p.ID)
		}
		if err != nil {
			return err
		}
		return audit.Record(ctx, q, entry(action, subject, w, row, nil, map[string]any{"for": whose}))
	})
	if err != nil {
		return Preset{}, fmt.Errorf("default preset %s: %w", p.ID, err)
	}
	return s.Get(ctx, ref, p.ID.String())
}

// Used counts a launch with a preset. A preset that was deleted in the meantime is not counted.
func (s *Service) Used(ctx context.Context, ref, name string) error {
	p, err := s.find(ctx, ref, name) // authorizes
	if apperr.Is(err, apperr.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	at := s.now()
	if err := s.queries.NotePresetUse(ctx, &at, p.ID); err != nil {
		return fmt.Errorf("note the use of preset %s: %w", p.ID, err)
	}
	return nil
}

// launchable returns the workflow if the caller may launch it.
func (s *Service) launchable(ctx context.Context, ref string) (auth.Subject, workflow.Workflow, error) {
	w, err := s.workflows.Get(ctx, ref)
	if err != nil {
		return auth.Subject{}, workflow.Workflow{}, err
	}
	subject, err := auth.AuthorizeIn(ctx, auth.ExecutionLaunch, w.ProjectID, apperr.New(apperr.NotFound, "There is no workflow %q.", w.Name))
	if err != nil {
		return auth.Subject{}, workflow.Workflow{}, err
	}
	place, err := s.queries.TeamOfProject(ctx, w.ProjectID)
	if err != nil {
		return auth.Subject{}, workflow.Workflow{}, fmt.Errorf("team of project %s: %w", w.ProjectID, err)
	}
	subject.ProjectID = w.ProjectID
	if place.TenantID != nil {
		subject.TenantID = *place.TenantID
	}
	return subject, w, nil
}

func (s *Service) changeable(ctx context.Context, ref, name string) (auth.Subject, workflow.Workflow, Preset, error) {
	subject, w, err := s.launchable(ctx, ref)
	if err != nil {
		return subject, w, Preset{}, err
	}
	p, err := s.find(ctx, ref, name)
	if err == nil && p.Origin != "" {
		err = apperr.New(apperr.Conflict, "The preset belongs to the project %s. Edit it there.", p.Origin)
	}
	if err == nil && !p.MayChange {
		err = notYours(p.OwnerName)
	}
	return subject, w, p, err
}

func notYours(owner string) error {
	return apperr.New(apperr.Forbidden, "Only %s or a team administrator can change this preset.", owner)
}

func notShared() error {
	return apperr.New(apperr.Conflict, "Share the preset with the project first. Only you can see it now.")
}

// visible reports whether subject sees a locked preset from a workflow. Only presets of the team are
// those of other workflows.
func visible(subject auth.Subject, w workflow.Workflow, row db.LaunchPreset) bool {
	if row.WorkflowID != w.ID {
		return row.Sharing == string(Team)
	}
	return row.Sharing != string(Private) || row.OwnerID == subject.ID
}

// lock locks a preset that subject could change when it was read, and checks that again.
func lock(ctx context.Context, q *db.Queries, subject auth.Subject, p Preset, name string) (db.LaunchPreset, error) {
	row, err := q.LockPreset(ctx, p.ID)
	switch {
	case db.IsNoRows(err), err == nil && row.Sharing == string(Private) && row.OwnerID != subject.ID:
		return row, absent(name)
	case err == nil && !mayChange(subject, row.OwnerID, Sharing(row.Sharing), p.ProjectID):
		return row, notYours(row.OwnerName)
	}
	return row, err
}

// Audience names the project and the team that a preset of a workflow can be shared with, and
// whether the caller may share with the team.
func (s *Service) Audience(ctx context.Context, w workflow.Workflow) (project, team string, mayTeam bool, err error) {
	subject, err := auth.AuthorizeIn(ctx, auth.WorkflowRead, w.ProjectID, absent(w.Name))
	if err != nil {
		return "", "", false, err
	}
	row, err := s.queries.TeamOfProject(ctx, w.ProjectID)
	if err != nil {
		return "", "", false, fmt.Errorf("team of project %s: %w", w.ProjectID, err)
	}
	return row.ProjectName, row.Name, subject.May(auth.ExecutionLaunch, row.ID), nil
}

// taken turns a violation of the unique names into a conflict.
func taken(err error, name string) error {
	switch db.Constraint(err) {
	case "launch_presets_shared_key", "launch_presets_private_key":
		return &apperr.Error{Code: apperr.Conflict, Message: fmt.Sprintf("A preset called %q already exists.", name),
			Fields: []apperr.Field{{Path: "name", Message: "This name is already in use. Update the existing preset, or choose another name."}}}
	}
	return err
}

func entry(action string, subject auth.Subject, w workflow.Workflow, row db.LaunchPreset, before, after any) audit.Entry {
	return audit.Entry{
		Action: action, Kind: "preset", ID: row.ID.String(), Name: w.Name + ": " + cmp.Or(row.Name, row.ID.String()),
		TenantID: subject.TenantID, ProjectID: w.ProjectID, Old: before, New: after,
	}
}
