package options

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// Limits of runs that list options.
const (
	MaxRunning   = 5                // at once in a project
	maxKeptRuns  = 500              // results of a project
	retryFailed  = 10 * time.Second // after a failure, until the next run
	retryStale   = time.Minute      // the same while older options are shown
	keepAfterRun = time.Hour        // executions that succeeded
	keepFailed   = 24 * time.Hour   // executions that failed
	slotPoll     = 250 * time.Millisecond
)

var (
	errLate    = errors.New("the run did not end in time")
	errClaimed = errors.New("another request has started the run")
	errBusy    = apperr.New(apperr.Unavailable, "%d executions in this project are already listing options. Try again when one of them has ended.", MaxRunning)
)

// runs starts workflows that list options and keeps their outputs.
type runs struct {
	queries   *db.Queries
	workflows *workflow.Service
	engine    *execution.Service
	now       func() time.Time
}

// RunWith lets workflows list options. Without it, their options are unavailable.
func (s *Service) RunWith(queries *db.Queries, workflows *workflow.Service, engine *execution.Service) {
	s.runs = &runs{queries: queries, workflows: workflows, engine: engine, now: s.config.Now}
}

// nested marks the context of the launch of a run.
type nested struct{}

// listing is a request for the outputs of a workflow.
type listing struct {
	source  typeregistry.Resolved
	input   string // whose options it lists
	version workflow.Version
	project uuid.UUID
	key     []byte
}

// answered returns the options that a workflow lists. Outputs older than the source allows are
// returned as stale, and a run that refreshes them starts.
func (s *Service) answered(ctx context.Context, source typeregistry.Resolved, input string, t *typeregistry.Type) (list, error) {
	if s.runs == nil {
		return list{}, apperr.New(apperr.Unavailable, "This server cannot run the workflow that lists the options.")
	}
	if ctx.Value(nested{}) != nil {
		return list{}, apperr.New(apperr.Unavailable, "A workflow that lists options cannot itself have options from a workflow.")
	}
	l, err := s.runs.listing(ctx, source, input)
	if err != nil {
		return list{}, err
	}
	limited, cancel := context.WithTimeout(ctx, source.Limit())
	defer cancel()
	row, stale, err := s.runs.outputs(ctx, limited, l)
	if errors.Is(err, errLate) {
		return list{}, late(l, row)
	}
	if err != nil {
		return list{}, err
	}
	out, err := readOutputs(row.Outputs, source, t)
	out.at, out.stale = *row.AnsweredAt, stale
	if row.Failure != "" {
		out.note, out.unrefreshed, out.failedRun = joinNotes("The last refresh failed. "+row.Failure, out.note), true, row.ExecutionID
	}
	return out, err
}

// RunError is the error of options that an execution should have listed. It is Unavailable; its message
// names the execution.
type RunError struct {
	Execution uuid.UUID
	Text      string // sentences that do not name the execution

	err *apperr.Error
}

func (e *RunError) Error() string { return e.err.Error() }

// Unwrap returns the error for users.
func (e *RunError) Unwrap() error { return e.err }

func failedRun(id uuid.UUID, text string) error {
	return &RunError{id, text, apperr.New(apperr.Unavailable, "%s Execution: %s.", text, id)}
}

func joinNotes(a, b string) string {
	if b == "" {
		return a
	}
	return a + " " + b
}

func late(l listing, row db.OptionRun) error {
	return failedRun(row.ExecutionID, fmt.Sprintf("The run of %s that lists the options did not end within %s. Try again later.", l.source.Workflow, units.Duration(l.source.Limit())))
}

// listing finds the workflow of a source in the project of the caller.
func (r *runs) listing(ctx context.Context, source typeregistry.Resolved, input string) (listing, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionLaunch)
	if err != nil {
		return listing{}, err
	}
	version, err := r.workflows.Version(ctx, source.Workflow, "")
	switch {
	case apperr.Is(err, apperr.NotFound), err == nil && version.ProjectID != subject.ProjectID:
		return listing{}, apperr.New(apperr.Unavailable, "The project has no workflow %q to list the options.", source.Workflow)
	case err != nil:
		return listing{}, err
	}
	inputs, err := json.Marshal(source.Run)
	if err != nil {
		return listing{}, fmt.Errorf("encode inputs: %w", err)
	}
	hash := sha256.Sum256(append(version.ID[:], inputs...))
	return listing{source: source, input: input, version: version, project: subject.ProjectID, key: hash[:]}, nil
}

// outputs returns a row with outputs. It starts a run if there are none, or only old ones. limited ends
// the wait for a run and nothing else, so that a short timeout does not prevent the run.
func (r *runs) outputs(ctx, limited context.Context, l listing) (row db.OptionRun, stale bool, err error) {
	if refreshes(ctx) {
		if err := r.renewed(ctx, limited, l); err != nil {
			return db.OptionRun{}, false, err
		}
	}
	for {
		row, err = r.settled(ctx, l)
		switch {
		case err != nil && !db.IsNoRows(err):
			return row, false, err
		case row.AnsweredAt != nil && r.age(row) < l.source.Fresh():
			return row, !row.Ended, nil
		case row.AnsweredAt != nil && r.age(row) < l.source.Fresh()+maxAge:
			return row, true, r.refresh(ctx, l, row)
		case row.Failure != "" && r.now().Sub(*row.FailedAt) < retryFailed:
			return row, false, failedRun(row.ExecutionID, row.Failure)
		}
		if db.IsNoRows(err) || row.Ended {
			err = r.start(ctx, l, row)
			if errors.Is(err, errBusy) {
				err = awaitSlot(limited)
			}
		} else {
			err = r.await(ctx, limited, row.ExecutionID)
		}
		if err != nil && !errors.Is(err, errClaimed) {
			return row, false, err
		}
	}
}

// renewed starts a run whatever the age of the outputs, unless one is running, and waits until it ends
// or limited does. Then the outputs of earlier runs count again.
func (r *runs) renewed(ctx, limited context.Context, l listing) error {
	for started := false; ; {
		row, err := r.settled(ctx, l)
		if err != nil && !db.IsNoRows(err) {
			return err
		}
		if started || err == nil && !row.Ended {
			if err = r.await(ctx, limited, row.ExecutionID); errors.Is(err, errLate) {
				return nil
			}
			return err
		}
		err = r.start(ctx, l, row)
		started = err == nil || errors.Is(err, errClaimed)
		if errors.Is(err, errBusy) {
			if awaitSlot(limited) != nil {
				return nil //nolint:nilerr // the outputs of earlier runs count again
			}
			err = nil
		}
		if err != nil && !started {
			return err
		}
	}
}

func (r *runs) age(row db.OptionRun) time.Duration { return r.now().Sub(*row.AnsweredAt) }

// refresh starts a run for old outputs unless one is running or has just failed.
func (r *runs) refresh(ctx context.Context, l listing, row db.OptionRun) error {
	if !row.Ended || row.FailedAt != nil && r.now().Sub(*row.FailedAt) < retryStale {
		return nil
	}
	err := r.start(ctx, l, row)
	if errors.Is(err, errClaimed) || errors.Is(err, errBusy) {
		return nil // a later request refreshes them
	}
	return err
}

// start launches a run as the caller, and claims the key in the transaction of the launch.
func (r *runs) start(ctx context.Context, l listing, known db.OptionRun) error {
	request := execution.LaunchRequest{
		Workflow: l.source.Workflow, Version: l.version.Version, Inputs: l.source.Run, Priority: query.Declared, Name: execution.RunName("Options", l.input), Purpose: query.ListOptions,
		Within: func(ctx context.Context, q *db.Queries, id uuid.UUID) error { return r.claim(ctx, q, l, known, id) },
	}
	if l.version.Definition.TTL.IsZero() {
		request.TTL = workflow.TTL{Success: new(keepAfterRun), Failure: new(keepFailed)}
	}
	_, _, err := r.engine.Launches.Launch(context.WithValue(ctx, nested{}, true), request)
	switch {
	case err == nil, errors.Is(err, errClaimed), errors.Is(err, errBusy), ctx.Err() != nil:
		return err
	case apperr.Is(err, apperr.Invalid), apperr.Is(err, apperr.Conflict), apperr.Is(err, apperr.Forbidden), apperr.Is(err, apperr.NotFound):
		return apperr.New(apperr.Unavailable, "The workflow %s, which lists the options, cannot be launched. %s", l.source.Workflow, apperr.TextOf(err))
	}
	return fmt.Errorf("launch %s for options: %w", l.source.Workflow, err)
}

func (r *runs) claim(ctx context.Context, q *db.Queries, l listing, known db.OptionRun, id uuid.UUID) error {
	if err := q.LockOptionRuns(ctx, l.project.String()); err != nil {
		return fmt.Errorf("lock option runs: %w", err)
	}
	now := r.now()
	n, err := q.ClaimOptionRun(ctx, db.ClaimOptionRunParams{
		ProjectID: l.project, Key: l.key, ExecutionID: id, StartedAt: now, KeepUntil: now.Add(l.source.Fresh() + maxAge), Known: known.ExecutionID,
	})
	if err != nil {
		return fmt.Errorf("claim option run: %w", err)
	}
	if n == 0 {
		return errClaimed
	}
	running, err := q.CountOptionRuns(ctx, l.project)
	if err != nil {
		return fmt.Errorf("count option runs: %w", err)
	}
	if running > MaxRunning {
		return errBusy
	}
	if err := q.PruneOptionRuns(ctx, l.project, now, maxKeptRuns); err != nil {
		return fmt.Errorf("remove old option runs: %w", err)
	}
	return nil
}

// await returns after the end of an execution, or errLate when limited ends.
func (r *runs) await(ctx, limited context.Context, id uuid.UUID) error {
	ctx, cancel := context.WithCancel(auth.AsSystem(ctx))
	defer cancel()
	changes, err := r.engine.Watches.Watch(ctx, id)
	for err == nil {
		var e query.Execution
		if e, err = r.engine.Get(ctx, id); err != nil || e.FinishedAt != nil {
			break
		}
		select {
		case <-limited.Done():
			return errLate
		case <-changes:
		}
	}
	if apperr.Is(err, apperr.NotFound) {
		return nil
	}
	return err
}

// awaitSlot returns when another try may succeed.
func awaitSlot(limited context.Context) error {
	select {
	case <-limited.Done():
		return errBusy
	case <-time.After(slotPoll):
		return nil
	}
}

// settled returns the row of a key, after it has recorded the end of its run.
func (r *runs) settled(ctx context.Context, l listing) (db.OptionRun, error) {
	row, err := r.queries.GetOptionRun(ctx, l.project, l.key)
	if err != nil || row.Ended {
		return row, err //nolint:wrapcheck // no rows is a result
	}
	e, err := r.engine.Get(auth.AsSystem(ctx), row.ExecutionID)
	failure := ""
	switch {
	case apperr.Is(err, apperr.NotFound):
		failure = fmt.Sprintf("The run of %s that lists the options was deleted.", l.source.Workflow)
	case err != nil || e.FinishedAt == nil:
		return row, err //nolint:wrapcheck // shown to users as it is
	case e.Status != query.Succeeded:
		failure = failureOf(l, e)
	}
	if failure == "" {
		failure, err = r.answer(ctx, l, e)
		if err != nil {
			return row, err
		}
	}
	if failure != "" {
		err = r.queries.FailOptionRun(ctx, db.FailOptionRunParams{ProjectID: l.project, Key: l.key, ExecutionID: row.ExecutionID, Failure: failure, FailedAt: new(r.now())})
		if err != nil {
			return row, fmt.Errorf("record the failure of an option run: %w", err)
		}
	}
	return r.queries.GetOptionRun(ctx, l.project, l.key) //nolint:wrapcheck // no rows is a result
}

// answer records the outputs of a run. failure describes why they cannot be used.
func (r *runs) answer(ctx context.Context, l listing, e query.Execution) (failure string, err error) {
	outputs, err := json.Marshal(e.Outputs)
	if err != nil {
		return "", fmt.Errorf("encode outputs of execution %s: %w", e.ID, err)
	}
	if len(outputs) > maxAnswer {
		return fmt.Sprintf("The outputs of %s are larger than %s. Return fewer options.", l.source.Workflow, units.Bytes(maxAnswer)), nil
	}
	err = r.queries.AnswerOptionRun(ctx, db.AnswerOptionRunParams{ProjectID: l.project, Key: l.key, ExecutionID: e.ID, Outputs: outputs, AnsweredAt: e.FinishedAt})
	if err != nil {
		return "", fmt.Errorf("record the outputs of an option run: %w", err)
	}
	return "", nil
}

func failureOf(l listing, e query.Execution) string {
	if e.Status == query.Cancelled {
		return fmt.Sprintf("The run of %s that lists the options was cancelled.", l.source.Workflow)
	}
	text := fmt.Sprintf("The run of %s that lists the options failed.", l.source.Workflow)
	if e.Error != nil && e.Error.Message != "" {
		text += " " + e.Error.Message
	}
	return text
}

// readOutputs reads the options in the outputs of a workflow. The only output needs no path.
func readOutputs(raw []byte, source typeregistry.Resolved, t *typeregistry.Type) (list, error) {
	decoded, err := typeregistry.DecodeJSON(raw)
	if err != nil {
		return list{}, fmt.Errorf("decode outputs: %w", err)
	}
	outputs, _ := decoded.(map[string]any)
	if source.Items == "" {
		if len(outputs) != 1 {
			return list{}, apperr.New(apperr.Unavailable, "The workflow %s has %s. Set items to the path of the output that lists the options.", source.Workflow, units.Plural(len(outputs), "output", "outputs"))
		}
		for _, v := range outputs {
			decoded = v
		}
	}
	return readOptions(decoded, source, t)
}
