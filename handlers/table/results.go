package table

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// Ran is a command that Apply ran.
type Ran struct {
	Action  string
	Tags    []string
	IDs     []uuid.UUID
	Created []uuid.UUID // the executions that a resume launched
}

// Results returns the outcome of the executions of a command. It reads their present state, so an
// execution that the command could not change describes what prevents it now.
func (s *Service) Results(ctx context.Context, r Ran) ([]Outcome, error) {
	if len(r.IDs) == 0 || len(r.IDs) > MaxBulk || len(r.Created) > len(r.IDs) {
		return nil, apperr.New(apperr.Invalid, "Choose 1 to %d executions.", MaxBulk)
	}
	b := Bulk{Action: r.Action, IDs: r.IDs, DryRun: true}
	if r.Action == ActionTag {
		b.Change.Add = r.Tags
	}
	outcomes, err := s.Apply(ctx, b)
	if err != nil {
		return nil, err
	}
	done, err := s.done(ctx, r, outcomes)
	if err != nil {
		return nil, err
	}
	for i := range outcomes {
		o := &outcomes[i]
		switch found, ok := done[o.ID]; {
		case ok:
			o.Done, o.Message, o.Created = true, found.Message, found.Created
		case o.Done: // it could run now
			o.Done, o.Message = false, "The command did not change it."
		}
	}
	return outcomes, nil
}

// done are the executions that the command changed.
func (s *Service) done(ctx context.Context, r Ran, outcomes []Outcome) (map[uuid.UUID]Outcome, error) {
	found := map[uuid.UUID]Outcome{}
	switch r.Action {
	case ActionCancel:
		for _, o := range outcomes {
			if e := o.Execution; e.CancelRequestedAt != nil || e.Status == query.Cancelled {
				found[o.ID] = Outcome{Message: "Its running nodes are stopped, and no further nodes start."}
			}
		}
	case ActionDelete:
		marked, err := s.Retention.Deleted(ctx, r.IDs)
		if err != nil {
			return nil, err
		}
		for _, o := range outcomes {
			if o.Execution.ID == uuid.Nil {
				found[o.ID] = Outcome{Message: "It no longer exists."}
			} else if slices.Contains(marked, o.ID) {
				found[o.ID] = Outcome{Message: removal}
			}
		}
	case ActionResume:
		created, err := s.Executions.Named(ctx, r.Created)
		if err != nil {
			return nil, fmt.Errorf("read the executions that a command launched: %w", err)
		}
		for _, e := range created {
			if e.ResumeOf != nil {
				found[*e.ResumeOf] = Outcome{Message: "Runs again from its first failures, as a new execution.", Created: e.ID}
			}
		}
	case ActionTag:
		has := "It has the tag."
		if len(r.Tags) > 1 {
			has = "It has the tags."
		}
		labels, err := s.Index.Labels(ctx, r.IDs)
		if err != nil {
			return nil, fmt.Errorf("read the tags of a command: %w", err)
		}
		for id, l := range labels {
			if !slices.ContainsFunc(r.Tags, func(tag string) bool { return !slices.Contains(l.Tags, tag) }) {
				found[id] = Outcome{Message: has}
			}
		}
	}
	return found, nil
}
