package trigger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

const (
	// pollsTogether is how many triggers poll at the same time.
	pollsTogether = 8
	// pollLease is how long a server has the turn without prolonging it. A trigger whose server stops is
	// polled by another one after it.
	pollLease = 2 * time.Minute
	// pollLimit bounds one request of a poll.
	pollLimit = 30 * time.Second
	// pollEvents is how many events one turn delivers. The next turn continues.
	pollEvents = 100
)

// errTurnLost means that another server polls the trigger, or that a user changed it.
var errTurnLost = errors.New("another server polls the trigger, or it was changed")

// poll is one poll of a trigger.
type poll struct {
	*Service

	row     db.Trigger
	trigger Trigger
	state   db.TriggerPoll
}

// found is the result of a successful poll.
type found struct {
	status string // in a few words
	more   bool   // the next turn continues at once
}

// polling is the part of the service that polls addresses and buckets.
type polling struct{ *Service }

// runPolls polls what is due until ctx ends.
func (s polling) runPolls(ctx context.Context) {
	slots := make(chan struct{}, pollsTogether)
	var all sync.WaitGroup
	defer all.Wait()
	for ctx.Err() == nil {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		turn := s.config.Watch.Turn()
		p, err := s.claimPoll(ctx)
		if p != nil {
			all.Go(func() {
				defer func() { <-slots }()
				s.logPoll(ctx, p, p.do(ctx))
			})
			continue
		}
		<-slots
		if err != nil && ctx.Err() == nil {
			s.config.Logger.Warn("triggers could not be polled; the next attempt retries them", "error", err)
		}
		turn.Rest(ctx, s.due, passInterval, until(ctx, s.now(), err, 10*time.Millisecond, s.queries.NextPoll))
	}
}

func (s polling) logPoll(ctx context.Context, p *poll, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, errTurnLost) {
		s.config.Logger.Warn("the poll of a trigger could not be stored", "trigger", p.row.ID, "error", err)
	}
}

// PollDue polls all triggers that are due, one after the other, and returns how many polls it made.
// Run does this by itself.
func (s *Service) PollDue(ctx context.Context) (int, error) {
	if _, err := auth.Authorize(ctx, auth.Administer); err != nil {
		return 0, err
	}
	for n := 0; ; n++ {
		p, err := polling{s}.claimPoll(ctx)
		if err != nil || p == nil {
			return n, err
		}
		if err := p.do(ctx); err != nil && !errors.Is(err, errTurnLost) {
			return n, err
		}
	}
}

// claimPoll claims the trigger that has been due longest; nil if none is due.
func (s polling) claimPoll(ctx context.Context) (*poll, error) {
	now := s.now()
	state, err := s.queries.ClaimPoll(ctx, new(now.Add(pollLease)), now)
	if db.IsNoRows(err) {
		return nil, nil //nolint:nilnil // nothing is due
	}
	if err != nil {
		return nil, fmt.Errorf("find a trigger to poll: %w", err)
	}
	s.config.Crash("poll.claimed")
	p := &poll{Service: s.Service, state: state}
	if p.row, err = s.queries.GetTrigger(ctx, state.TriggerID); err != nil {
		return nil, fmt.Errorf("get trigger %s: %w", state.TriggerID, err)
	}
	if p.trigger, err = triggerOf(p.row); err != nil {
		return nil, err
	}
	return p, nil
}

// do polls, and stores the result.
func (p *poll) do(ctx context.Context) error {
	var f found
	var err error
	switch {
	case p.trigger.HTTP != nil:
		f, err = p.http(ctx)
	case p.trigger.S3 != nil:
		f, err = p.s3(ctx)
	}
	if ctx.Err() != nil { // the server stops: another one polls at once
		if err := p.queries.ReleasePoll(context.WithoutCancel(ctx), p.row.ID, p.state.Turn); err != nil {
			return fmt.Errorf("release trigger %s: %w", p.row.ID, err)
		}
		return ctx.Err()
	}
	if errors.Is(err, errTurnLost) {
		return err
	}
	p.config.Crash("poll.done")
	if err != nil {
		return p.fail(ctx, err)
	}
	due := p.now().Add(p.trigger.Every())
	if f.more {
		due = p.now()
	}
	return settled(p.queries.SettlePoll(ctx, db.SettlePollParams{
		TriggerID: p.row.ID, Turn: p.state.Turn, Baseline: p.state.Baseline && f.more, DueAt: due, PolledAt: new(p.now()), Status: f.status,
	}))
}

func settled(n int64, err error) error {
	if err == nil && n == 0 {
		return errTurnLost
	}
	return wrap("store the turn of a trigger", err)
}

// fail stores a failed poll. The delay to the next poll grows with each failure, and after
// PauseAfter failures the trigger is turned off.
func (p *poll) fail(ctx context.Context, cause error) error {
	message := apperr.TextOf(cause)
	if apperr.Is(cause, apperr.Internal) {
		p.config.Logger.Error("a trigger could not be polled", "trigger", p.row.ID, "error", cause)
	}
	failures := p.state.Failures + 1
	now := p.now()
	return db.Tx(ctx, p.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockTriggerByID(ctx, p.row.ID)
		if db.IsNoRows(err) {
			return errTurnLost
		}
		if err != nil {
			return fmt.Errorf("lock trigger %s: %w", p.row.ID, err)
		}
		err = settled(q.SettlePoll(ctx, db.SettlePollParams{
			TriggerID: row.ID, Turn: p.state.Turn, Baseline: p.state.Baseline, DueAt: now.Add(backoff(p.trigger.Every(), int(failures))), PolledAt: &now,
			Status: p.state.Status, Failures: failures, Error: message,
		}))
		if err != nil || failures < PauseAfter {
			return err
		}
		before := factsOf(row)
		row.Enabled, row.Paused = false, fmt.Sprintf("Turned off after %d failed polls in a row. %s", failures, message)
		if err := q.PauseTrigger(ctx, row.Paused, now, row.ID); err != nil {
			return fmt.Errorf("turn off trigger %s: %w", row.ID, err)
		}
		return audit.Record(ctx, q, entry("trigger.pause", row, before, factsOf(row)))
	})
}

// backoff is the delay to the next poll after a number of consecutive failures.
func backoff(every time.Duration, failures int) time.Duration {
	longest := max(every, maxBackoff)
	for range failures - 1 {
		if every *= 2; every >= longest {
			return longest
		}
	}
	return every
}

// Polls is the state of a trigger that polls.
type Polls struct {
	Last     *time.Time // nil: it has not polled yet
	Next     time.Time
	Status   string // what the last successful poll found
	Failures int    // in a row
	Error    string // of the last poll
}

// PollsOf returns the state of the polls of a trigger, nil for a kind that does not poll. The caller must be able to
// read the trigger.
func (s *Service) PollsOf(ctx context.Context, t Trigger) (*Polls, error) {
	if _, err := auth.Authorize(ctx, auth.ExecutionRead); err != nil {
		return nil, err
	}
	row, err := s.queries.GetPoll(ctx, t.ID)
	if db.IsNoRows(err) {
		return nil, nil //nolint:nilnil // it does not poll
	}
	if err != nil {
		return nil, fmt.Errorf("polls of trigger %s: %w", t.ID, err)
	}
	return new(pollsOf(row)), nil
}

// Polls returns the state of the triggers of the current project that poll, by their ID.
func (s *Service) Polls(ctx context.Context) (map[uuid.UUID]Polls, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.ListPolls(ctx, subject.ProjectID)
	if err != nil {
		return nil, fmt.Errorf("list the polls of triggers: %w", err)
	}
	out := make(map[uuid.UUID]Polls, len(rows))
	for _, row := range rows {
		out[row.TriggerID] = pollsOf(row)
	}
	return out, nil
}

func pollsOf(row db.TriggerPoll) Polls {
	return Polls{Last: row.PolledAt, Next: row.DueAt, Status: row.Status, Failures: int(row.Failures), Error: row.Error}
}

// PollNow makes a trigger of the current project poll immediately. It requires the permission to
// change the trigger. It returns Conflict for a trigger that is off or does not poll.
func (s *Service) PollNow(ctx context.Context, name string) error {
	err := s.change(ctx, name, func(ctx context.Context, q *db.Queries, row db.Trigger) error {
		if !Kind(row.Kind).Polls() {
			return apperr.New(apperr.Conflict, "The trigger %s does not poll.", row.Name)
		}
		if !row.Enabled {
			return apperr.New(apperr.Conflict, "The trigger %s is off. Turn it on first.", row.Name)
		}
		if _, err := q.RequestPoll(ctx, s.now(), row.ID); err != nil {
			return fmt.Errorf("request a poll of trigger %s: %w", row.ID, err)
		}
		return nil
	})
	signal(s.due)
	return err
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
