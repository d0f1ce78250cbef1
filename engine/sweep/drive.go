package sweep

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/sweep/optuna"
	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/engine/workflow"
)

const (
	together   = 8   // sweeps that are driven at the same time
	maxBatch   = 100 // runs that are proposed at once
	leastGap   = 100 * time.Millisecond
	maxRefused = 5 // launches refused one after the other pause a sweep
)

// Run drives the sweeps until ctx ends. The leader calls it; a second driver would do no harm, since
// every step is a transaction that checks what it found. A slow sweep does not delay the others.
func (s *Service) Run(ctx context.Context) {
	ctx = auth.AsSystem(ctx)
	d := driver{s: s, slots: make(chan struct{}, together), busy: map[uuid.UUID]bool{}}
	defer d.all.Wait()
	for ctx.Err() == nil {
		turn, most := s.config.Watch.Turn(), db.Safety
		open, err := d.look(ctx)
		if err != nil && ctx.Err() == nil {
			s.config.Logger.Warn("sweeps could not be driven; the next attempt retries them", "error", err)
		}
		if err != nil || open > 0 { // their metrics are not in this database
			most = s.config.Every
		}
		if turn.Rest(ctx, s.wake, s.config.Every, most) {
			rest := time.NewTimer(leastGap) // many executions may end at once
			select {
			case <-ctx.Done():
			case <-rest.C:
			}
		}
	}
}

// driver advances sweeps concurrently, each in one goroutine at a time.
type driver struct {
	s     *Service
	slots chan struct{}
	all   sync.WaitGroup

	mu   sync.Mutex
	busy map[uuid.UUID]bool
}

// advancer takes the next steps of a sweep: it observes its runs, proposes and launches others, and
// ends it.
type advancer struct{ *Service }

// look advances the sweeps that have not ended, and returns how many there are.
func (d *driver) look(ctx context.Context) (int, error) {
	ids, err := d.s.queries.OpenInputSweeps(ctx)
	if err != nil {
		return 0, fmt.Errorf("list open sweeps: %w", err)
	}
	for _, id := range ids {
		d.mu.Lock()
		busy := d.busy[id]
		d.busy[id] = true
		d.mu.Unlock()
		if !busy {
			d.all.Go(func() { d.advance(ctx, id) })
		}
	}
	return len(ids), nil
}

func (d *driver) advance(ctx context.Context, id uuid.UUID) {
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.busy, id)
	}()
	select {
	case <-ctx.Done():
		return
	case d.slots <- struct{}{}:
	}
	defer func() { <-d.slots }()
	if err := (advancer{d.s}).guarded(ctx, id); err != nil && ctx.Err() == nil {
		d.s.config.Logger.Warn("a sweep could not be driven; the next attempt retries them", "sweep", id, "error", err)
	}
}

// advance does everything for one sweep that can be done now.
func (s advancer) advance(ctx context.Context, id uuid.UUID) error {
	row, err := s.queries.GetInputSweep(ctx, id)
	if db.IsNoRows(err) { // its workflow or project was deleted
		return nil
	}
	if err != nil {
		return fmt.Errorf("get sweep %s: %w", id, err)
	}
	sw, err := fromRow(row)
	if err != nil {
		return err
	}
	if err := s.observe(ctx, row, sw); err != nil {
		return err
	}
	if sw.State == Running {
		if err := s.propose(ctx, row, sw); err != nil {
			return s.giveUp(ctx, id, err)
		}
		if err := s.launchProposed(ctx, row, sw); err != nil {
			return err
		}
	}
	return s.finish(ctx, id)
}

// totals are the counts of one sweep.
type totals struct {
	counts  Counts
	hours   float64
	settled bool
}

func (s *Service) totals(ctx context.Context, q *db.Queries, id uuid.UUID) (totals, error) {
	rows, err := q.CountSweepRuns(ctx, []uuid.UUID{id})
	if err != nil {
		return totals{}, fmt.Errorf("count the runs of sweep %s: %w", id, err)
	}
	return totalsOf(rows, id), nil
}

func totalsOf(rows []db.CountSweepRunsRow, id uuid.UUID) totals {
	t := totals{settled: true}
	for _, r := range rows {
		if r.SweepID != id {
			continue
		}
		n := int(r.Runs)
		t.counts.Created += n
		t.hours += r.GpuHours
		t.settled = t.settled && r.Settled
		switch RunState(r.State) {
		case RunProposed:
			t.counts.Waiting = n
		case RunRunning:
			t.counts.Running, t.counts.Queued = n, int(r.Waiting)
		case RunSucceeded:
			t.counts.Succeeded = n
		case RunFailed:
			t.counts.Failed = n
		case RunCancelled:
			t.counts.Cancelled = n
		case RunStoppedEarly:
			t.counts.StoppedEarly = n
		case RunRefused:
			t.counts.Refused = n
		}
	}
	return t
}

// propose writes the values of the next runs, up to the number that may run concurrently. Runs
// that wait for quota count: they keep their position in the queue, and a sweep that launched
// more would fill the queue with runs that a change of its space, its budget or its results can
// no longer affect.
func (s advancer) propose(ctx context.Context, row db.InputSweep, sw Sweep) error {
	t, err := s.totals(ctx, s.queries, sw.ID)
	if err != nil {
		return err
	}
	left := sw.Planned - int(row.Created)
	if sw.GPUHours > 0 && t.hours >= sw.GPUHours && left+t.counts.Waiting > 0 {
		return s.halt(ctx, sw.ID, Stopping, ReasonBudget, fmt.Sprintf("The budget of %s GPU-hours is used up.", space.Text(sw.GPUHours)))
	}
	created := int(row.Created)
	n := min(sw.Parallelism-t.counts.Waiting-t.counts.Running, left, maxBatch)
	if n <= 0 {
		return nil
	}
	c, err := s.checked(ctx, sw)
	if err != nil {
		return err
	}
	values, err := s.next(ctx, sw, source{sw.Method, c, sw.Seed, int(row.SpaceFrom)}, created, n)
	var unavailable *optuna.UnavailableError
	if errors.As(err, &unavailable) && ctx.Err() == nil {
		return s.halt(ctx, sw.ID, Paused, ReasonSuggestions, unavailable.Error())
	}
	if err != nil {
		return err
	}
	if len(values) == 0 {
		return s.halt(ctx, sw.ID, Stopping, ReasonExhausted, "All combinations of the grid have been used.")
	}
	type proposal struct {
		Number int               `json:"number"`
		Chosen space.Combination `json:"chosen"`
	}
	rows := make([]proposal, len(values))
	for i, v := range values {
		rows[i] = proposal{created + i, v}
	}
	list, err := encode(rows)
	if err != nil {
		return fmt.Errorf("propose runs of sweep %s: %w", sw.ID, err)
	}
	s.config.Crash("propose.begin")
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		changed, err := q.AddCreatedRuns(ctx, int32(len(values)), sw.ID, row.Created, row.SpaceVersion) //nolint:gosec // at most maxBatch
		if err != nil || changed == 0 {                                                                 // a command came between
			return err
		}
		return q.InsertSweepRuns(ctx, sw.ID, row.SpaceVersion, s.now(), list)
	})
	s.config.Crash("propose.committed")
	if err != nil {
		return fmt.Errorf("propose runs of sweep %s: %w", sw.ID, err)
	}
	return nil
}

// refuse records that the inputs of a run were rejected. stop reports that too many were
// rejected in a row.
func (s advancer) refuse(ctx context.Context, id uuid.UUID, number, refused int, cause error) (stop bool, err error) {
	message := apperr.TextOf(cause)
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := q.RefuseSweepRun(ctx, message, new(s.now()), id, int32(number)); err != nil { //nolint:gosec // at most MaxRuns
			return err
		}
		return q.CountRefused(ctx, int32(refused), id) //nolint:gosec // small
	})
	if err != nil {
		return false, fmt.Errorf("refuse run %d of sweep %s: %w", number, id, err)
	}
	if refused < maxRefused {
		return false, nil
	}
	return true, s.halt(ctx, id, Paused, ReasonAllRefused, fmt.Sprintf("The last %d runs could not be launched. %s", refused, message))
}

// refusedAll pauses a sweep when none of its runs can be launched. Other errors are retried.
func (s advancer) refusedAll(ctx context.Context, id uuid.UUID, err error) error {
	switch apperr.CodeOf(err) { //nolint:exhaustive // the others pass
	case apperr.Forbidden, apperr.NotFound, apperr.Unauthenticated:
		return s.halt(ctx, id, Paused, ReasonAccess, "The user who created the sweep can no longer launch this workflow: "+apperr.MessageOf(err))
	case apperr.Conflict:
		return s.halt(ctx, id, Paused, ReasonAccess, "Runs cannot be launched: "+apperr.MessageOf(err))
	}
	return fmt.Errorf("launch runs of sweep %s: %w", id, err)
}

// halt pauses or stops a running sweep.
func (s advancer) halt(ctx context.Context, id uuid.UUID, to State, reason, message string) error {
	action := "sweep.pause"
	if to == Stopping {
		action = "sweep.stop"
	}
	return s.change(auth.AsSystem(ctx), id, action, func(q *db.Queries, row *db.InputSweep) (bool, error) {
		if State(row.State) != Running {
			return false, nil
		}
		row.State, row.Reason, row.Message = string(to), reason, message
		if to == Stopping {
			return true, q.CancelProposedRuns(ctx, message, new(s.now()), id)
		}
		return true, nil
	})
}

// finish ends a sweep whose runs have all ended.
func (s advancer) finish(ctx context.Context, id uuid.UUID) error {
	row, err := s.queries.GetInputSweep(ctx, id)
	if err != nil {
		return fmt.Errorf("get sweep %s: %w", id, err)
	}
	if State(row.State) == Paused || State(row.State) == Running && row.Created < row.Planned {
		return nil
	}
	t, err := s.totals(ctx, s.queries, id)
	if err != nil || !t.settled {
		return err
	}
	ttl, err := s.ttl(ctx, row)
	if err != nil {
		return err
	}
	return s.change(ctx, id, "sweep.end", func(q *db.Queries, row *db.InputSweep) (bool, error) {
		t, err := s.totals(ctx, q, id)
		if err != nil || !t.settled {
			return false, err
		}
		switch State(row.State) {
		case Running:
			if row.Created < row.Planned { // runs were added
				return false, nil
			}
			row.State = string(Succeeded)
		case Stopping:
			row.State = string(Stopped)
		case Paused, Succeeded, Stopped:
			return false, nil
		}
		row.EndedAt = new(s.now())
		if kept, ok := ttl.After(State(row.State) == Succeeded); ok {
			row.ExpiresAt = new(row.EndedAt.Add(kept))
		}
		return true, nil
	})
}

// ttl returns how long an ended sweep is kept, if its definition sets that. A removed definition
// sets nothing.
func (s advancer) ttl(ctx context.Context, row db.InputSweep) (workflow.TTL, error) {
	v, err := s.config.Workflows.VersionByID(auth.AsSystem(ctx), row.VersionID)
	if apperr.Is(err, apperr.NotFound) {
		return workflow.TTL{}, nil
	}
	if err != nil {
		return workflow.TTL{}, fmt.Errorf("version of sweep %s: %w", row.ID, err)
	}
	return v.Definition.TTL, nil
}
