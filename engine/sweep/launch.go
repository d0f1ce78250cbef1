package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
)

// launchProposed launches the runs that have values. The transaction of each launch links the
// execution to its run, so a run is launched once, whatever stops between.
func (s advancer) launchProposed(ctx context.Context, row db.InputSweep, sw Sweep) error {
	rows, err := s.queries.ProposedSweepRuns(ctx, sw.ID)
	if err != nil || len(rows) == 0 {
		return err
	}
	subject, err := s.config.Acting(row.CreatedBy, row.CreatedByName, row.ProjectID)
	if err != nil {
		return s.refusedAll(ctx, sw.ID, err)
	}
	ctx = auth.WithSubject(ctx, subject)
	refused := int(row.Refused)
	for _, r := range rows {
		err := s.launchRun(ctx, sw, int(r.Number), r.Chosen)
		switch {
		case err == nil:
			if refused > 0 {
				refused = 0
				if err := s.queries.CountRefused(ctx, 0, sw.ID); err != nil {
					return fmt.Errorf("count refused launches: %w", err)
				}
			}
		case errors.Is(err, execution.ErrRunNotWaiting):
			return nil // a command came between
		case apperr.Is(err, apperr.Invalid):
			refused++
			if stop, err := s.refuse(ctx, sw.ID, int(r.Number), refused, err); err != nil || stop {
				return err
			}
		default:
			return s.refusedAll(ctx, sw.ID, err)
		}
		s.config.Crash("launch.done")
	}
	return nil
}

func (s advancer) launchRun(ctx context.Context, sw Sweep, number int, chosen json.RawMessage) error {
	inputs, values, err := requestInputs(sw.Inputs, chosen)
	if err != nil {
		return err
	}
	version, err := s.config.Workflows.Version(ctx, sw.WorkflowID.String(), sw.Version)
	if err != nil {
		return err //nolint:wrapcheck // shown to users as it is
	}
	varied := make([]string, 0, len(values))
	for path := range values {
		name, _, _ := strings.Cut(path, ".")
		varied = append(varied, name)
	}
	inputs = inputsAt(version.Definition.Inputs, inputs, varied, s.now())
	labels, err := s.config.Index.AtLaunch(ctx, index.Labels{Tags: sw.Tags, Note: sw.Note})
	if err != nil {
		return err //nolint:wrapcheck // shown to users as it is
	}
	s.config.Crash("launch.begin")
	_, _, err = s.config.Executions.Launches.Launch(ctx, execution.LaunchRequest{
		Workflow: sw.WorkflowID.String(), Version: sw.Version, Inputs: inputs, Priority: sw.Priority, Name: execution.RunName(sw.Name, fmt.Sprintf("run %d", number+1)),
		Sweep: &execution.SweepRun{ID: sw.ID, Number: number}, Within: labels,
	})
	return err //nolint:wrapcheck // shown to users as it is
}
