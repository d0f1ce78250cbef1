package preset

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// List returns the presets of a workflow, a name or an ID, that the caller may use, by name. Inputs
// of more than 4 KiB are left out; Get returns them.
func (s *Service) List(ctx context.Context, ref string) ([]Preset, error) {
	subject, err := auth.SignedIn(ctx)
	if err != nil {
		return nil, err
	}
	w, err := s.workflows.Get(ctx, ref) // authorizes
	if err != nil {
		return nil, err
	}
	return s.list(ctx, subject, w)
}

func (s *Service) list(ctx context.Context, subject auth.Subject, w workflow.Workflow) ([]Preset, error) {
	rows, err := s.queries.ListPresets(ctx, db.ListPresetsParams{
		WorkflowID: w.ID, UserID: subject.ID, WorkflowName: w.Name, ProjectID: w.ProjectID, Few: fewInputs,
	})
	if err != nil {
		return nil, fmt.Errorf("list presets of workflow %s: %w", w.ID, err)
	}
	defaults, err := s.queries.PresetDefaults(ctx, w.ID, subject.ID)
	if err != nil {
		return nil, fmt.Errorf("default presets of workflow %s: %w", w.ID, err)
	}
	list := make([]Preset, 0, len(rows))
	for _, row := range rows {
		p, err := fromRow(row, subject, w.ProjectID, defaults)
		if err != nil {
			return nil, fmt.Errorf("inputs of preset %s: %w", row.ID, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// Get returns the preset of a workflow that name, a name or an ID, identifies, or NotFound. Of
// several presets with one name, the caller's own comes first, then that of the project.
func (s *Service) Get(ctx context.Context, ref, name string) (Preset, error) {
	found, err := s.find(ctx, ref, name) // authorizes
	if err != nil || found.Inputs != nil {
		return found, err
	}
	raw, err := s.queries.PresetInputs(ctx, found.ID)
	if db.IsNoRows(err) {
		return Preset{}, absent(name)
	}
	if err != nil {
		return Preset{}, fmt.Errorf("inputs of preset %s: %w", found.ID, err)
	}
	if found.Inputs, err = decode(raw); err != nil {
		return Preset{}, fmt.Errorf("inputs of preset %s: %w", found.ID, err)
	}
	return found, nil
}

// find is Get without the inputs if they are large.
func (s *Service) find(ctx context.Context, ref, name string) (Preset, error) {
	list, err := s.List(ctx, ref) // authorizes
	if err != nil {
		return Preset{}, err
	}
	found, ok := choose(list, name)
	if !ok {
		return Preset{}, absent(name)
	}
	return found, nil
}

func absent(name string) error {
	return apperr.New(apperr.NotFound, "There is no preset %q that you can use.", clip(name))
}

// clip shortens a name in a message.
func clip(name string) string {
	if letters := []rune(name); len(letters) > MaxName {
		return string(letters[:MaxName]) + "…"
	}
	return name
}

func choose(list []Preset, name string) (Preset, bool) {
	var best Preset
	rank := 0
	id, _ := uuid.Parse(name)
	for _, p := range list {
		r := 0
		switch {
		case p.ID == id:
			return p, true
		case !strings.EqualFold(p.Name, strings.TrimSpace(name)):
		case p.Sharing == Private:
			r = 3
		case p.Origin == "":
			r = 2
		default:
			r = 1
		}
		if r > rank {
			best, rank = p, r
		}
	}
	return best, rank > 0
}

// Default returns the preset that fills in an empty form of the caller: their own default, else
// that of the project, else nil.
func Default(list []Preset) *Preset {
	var found *Preset
	for i := range list {
		switch p := &list[i]; {
		case p.MyDefault:
			return p
		case p.OurDefault:
			found = p
		}
	}
	return found
}

// For returns the inputs of a preset for a version of the workflow, with what does not fit. The
// env is that of a check of inputs.
func (s *Service) For(ctx context.Context, p Preset, v workflow.Version, env typeregistry.Env) (Fitted, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return Fitted{}, err
	}
	out := Fit(v.Definition.Inputs, p.Inputs, env)
	if p.Version == v.Version || p.WorkflowID != v.WorkflowID {
		return out, nil
	}
	before, err := s.workflows.Version(ctx, p.WorkflowID.String(), p.Version)
	if apperr.Is(err, apperr.NotFound) {
		return out, nil // a development version that was removed
	}
	if err != nil {
		return Fitted{}, err
	}
	out.Added = addedSince(before.Definition.Inputs, v.Definition.Inputs)
	return out, nil
}
