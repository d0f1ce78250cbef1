package sweep

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
)

// errRunNotWaiting means that a run has an execution, or that the sweep does not launch now.
var errRunNotWaiting = errors.New("the run is not waiting for its launch")

// proposedRun is a run that has values and no execution.
type proposedRun struct {
	number  int32
	request execution.LaunchRequest
	err     error // why it is not launched
}

// launchProposed launches the runs that have values, as a group. The transaction that launches
// executions links them to their runs, so a run is launched once, whatever stops between.
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
	runs, err := s.proposedRuns(ctx, sw, rows)
	if err != nil {
		return s.refusedAll(ctx, sw.ID, err)
	}
	s.launchRuns(ctx, sw.ID, runs, int(row.Refused))
	return s.settleLaunches(ctx, sw.ID, runs, int(row.Refused))
}

// proposedRuns returns runs with their requests.
func (s advancer) proposedRuns(ctx context.Context, sw Sweep, rows []db.ProposedSweepRunsRow) ([]*proposedRun, error) {
	version, err := s.config.Workflows.Version(ctx, sw.WorkflowID.String(), sw.Version)
	if err != nil {
		return nil, err //nolint:wrapcheck // shown to users as it is
	}
	labels, problem := s.config.Index.AtLaunch(ctx, index.Labels{Tags: sw.Tags, Note: sw.Note})
	runs := make([]*proposedRun, len(rows))
	for i, r := range rows {
		inputs, values, err := requestInputs(sw.Inputs, r.Chosen)
		runs[i] = &proposedRun{number: r.Number, err: cmp.Or(err, problem)}
		if runs[i].err != nil {
			continue
		}
		varied := make([]string, 0, len(values))
		for path := range values {
			name, _, _ := strings.Cut(path, ".")
			varied = append(varied, name)
		}
		runs[i].request = execution.LaunchRequest{
			Workflow: sw.WorkflowID.String(), Version: sw.Version, Inputs: inputsAt(version.Definition.Inputs, inputs, varied, s.now()), Priority: sw.Priority,
			Name: execution.RunName(sw.Name, fmt.Sprintf("run %d", r.Number+1)), SweepID: &sw.ID, Within: labels,
		}
	}
	return runs, nil
}

// launchRuns launches runs, and sets their errors. It launches none after the one whose refusal pauses
// the sweep.
func (s advancer) launchRuns(ctx context.Context, id uuid.UUID, runs []*proposedRun, refused int) {
	series := s.config.Executions.Launches.Series()
	defer series.Close()
	var valid []*proposedRun
	var requests []execution.LaunchRequest
	for _, r := range runs {
		if r.err == nil {
			valid, requests = append(valid, r), append(requests, r.request)
		}
	}
	checked := series.Check(ctx, requests)
	for i, r := range valid {
		r.err = checked.Err(i)
	}
	n := 0
	for _, r := range runs[:untilPaused(runs, refused)] {
		if n < len(valid) && r == valid[n] {
			n++
		}
	}
	s.config.Crash("launch.begin")
	outcomes := series.Write(ctx, checked.First(n), func(ctx context.Context, q *db.Queries, ids map[int]uuid.UUID) (map[int]error, error) {
		return s.linkRuns(ctx, q, id, valid, ids)
	})
	s.config.Crash("launch.done")
	for i, outcome := range outcomes {
		valid[i].err = outcome.Err
	}
}

// untilPaused returns how many of the runs are launched or refused before the sweep is paused. refused
// is how many were refused in a row before.
func untilPaused(runs []*proposedRun, refused int) int {
	for i, r := range runs {
		switch {
		case r.err == nil:
			refused = 0
			continue
		case apperr.Is(r.err, apperr.Invalid):
			refused++
		default:
			return i + 1
		}
		if refused >= maxRefused {
			return i + 1
		}
	}
	return len(runs)
}

// linkRuns makes executions those of their runs. Runs that do not wait are not launched. A pause waits
// until they are committed.
func (s advancer) linkRuns(ctx context.Context, q *db.Queries, id uuid.UUID, runs []*proposedRun, ids map[int]uuid.UUID) (map[int]error, error) {
	type link struct {
		Number      int32     `json:"number"`
		ExecutionID uuid.UUID `json:"execution_id"`
	}
	var links []link
	for _, i := range slices.Sorted(maps.Keys(ids)) {
		links = append(links, link{runs[i].number, ids[i]})
	}
	encoded, err := json.Marshal(links)
	if err != nil {
		return nil, fmt.Errorf("encode runs of sweep %s: %w", id, err)
	}
	if err := q.ShareInputSweep(ctx, id); err != nil {
		return nil, fmt.Errorf("lock sweep %s: %w", id, err)
	}
	linked, err := q.LinkSweepRuns(ctx, id, encoded)
	if err != nil {
		return nil, fmt.Errorf("link runs of sweep %s: %w", id, err)
	}
	refused := map[int]error{}
	for i := range ids {
		if !slices.Contains(linked, runs[i].number) {
			refused[i] = errRunNotWaiting
		}
	}
	s.config.Crash("launch.linked")
	return refused, nil
}

// settleLaunches records the outcomes of launches: it counts runs that were refused in a row, and pauses
// the sweep after too many of them.
func (s advancer) settleLaunches(ctx context.Context, id uuid.UUID, runs []*proposedRun, refused int) error {
	for _, r := range runs {
		switch {
		case r.err == nil:
			if refused > 0 {
				refused = 0
				if err := s.queries.CountRefused(ctx, 0, id); err != nil {
					return fmt.Errorf("count refused launches: %w", err)
				}
			}
		case errors.Is(r.err, errRunNotWaiting):
			return nil // a command came between
		case apperr.Is(r.err, apperr.Invalid):
			refused++
			if stop, err := s.refuse(ctx, id, int(r.number), refused, r.err); err != nil || stop {
				return err
			}
		default:
			return s.refusedAll(ctx, id, r.err)
		}
	}
	return nil
}
