package trigger

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	// releaseLimit bounds the end of a turn when the server stops. The lease ends the turn otherwise.
	releaseLimit = 2 * time.Second
	// pollEvents is how many events one turn delivers. The next turn continues.
	pollEvents = 100
)

// errTurnLost means that another server polls the trigger, or that a user changed it.
var errTurnLost = errors.New("another server polls the trigger, or it was changed")

// poll is one poll of a trigger, or of a condition of its join.
type poll struct {
	*Service

	row       db.Trigger
	trigger   Trigger
	condition Condition // of the kind "": the trigger no longer has it
	state     db.TriggerPoll
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
	p.condition, _ = p.trigger.condition(state.Condition)
	return p, nil
}

// do polls, and stores the result.
func (p *poll) do(ctx context.Context) error {
	var f found
	var err error
	switch {
	case p.condition.HTTP != nil:
		f, err = p.http(ctx)
	case p.condition.S3 != nil:
		f, err = p.s3(ctx)
	default: // a user changed the trigger between the claim and now
		return errTurnLost
	}
	if ctx.Err() != nil { // the server stops: another one polls at once
		return errors.Join(ctx.Err(), p.release(ctx))
	}
	if errors.Is(err, errTurnLost) {
		return err
	}
	p.config.Crash("poll.done")
	if err != nil {
		return p.fail(ctx, err)
	}
	due := p.now().Add(p.condition.Every())
	if f.more {
		due = p.now()
	}
	return settled(p.queries.SettlePoll(ctx, db.SettlePollParams{
		TriggerID: p.row.ID, Condition: p.state.Condition, Turn: p.state.Turn, Baseline: p.state.Baseline && f.more, DueAt: due, PolledAt: new(p.now()), Status: f.status,
	}))
}

// release ends the turn without a result. ctx has ended.
func (p *poll) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
	defer cancel()
	if err := p.queries.ReleasePoll(ctx, p.row.ID, p.state.Condition, p.state.Turn); err != nil {
		return fmt.Errorf("release trigger %s: %w", p.row.ID, err)
	}
	return nil
}

// pass passes an event of the poll to its trigger, or to its condition of a join. The cursor moves in
// the transaction that decides about the event.
func (p *poll) pass(ctx context.Context, ev event) error {
	if p.trigger.Join == nil {
		return p.deliverOrDefer(ctx, p.row, ev)
	}
	_, err := joining{p.Service}.join(ctx, p.row, p.trigger.Join, p.condition, ev.of(p.condition), p.now())
	return err
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
			TriggerID: row.ID, Condition: p.state.Condition, Turn: p.state.Turn, Baseline: p.state.Baseline, DueAt: now.Add(backoff(p.condition.Every(), int(failures))), PolledAt: &now,
			Status: p.state.Status, Failures: failures, Error: message,
		}))
		if err != nil || failures < PauseAfter {
			return err
		}
		before := factsOf(row)
		which := ""
		if p.condition.Name != "" {
			which = " of the condition " + p.condition.Name
		}
		row.Enabled, row.Paused = false, fmt.Sprintf("Turned off after %d failed polls%s in a row. %s", failures, which, message)
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

// Polls is the state of a trigger that polls, or of a condition of its join.
type Polls struct {
	Condition string // of a join; "": the trigger itself polls

	Last     *time.Time // nil: it has not polled yet
	Next     time.Time
	Status   string // what the last successful poll found
	Failures int    // in a row
	Error    string // of the last poll
}

// PollsOf returns the state of the polls of a trigger, none for one that does not poll. The caller must be
// able to read the trigger.
func (s *Service) PollsOf(ctx context.Context, t Trigger) ([]Polls, error) {
	if _, err := auth.Authorize(ctx, auth.ExecutionRead); err != nil {
		return nil, err
	}
	rows, err := s.queries.GetPolls(ctx, t.ID)
	if err != nil {
		return nil, fmt.Errorf("polls of trigger %s: %w", t.ID, err)
	}
	list := make([]Polls, len(rows))
	for i, row := range rows {
		list[i] = pollsOf(row)
	}
	return list, nil
}

// Polls returns the state of the triggers of the current project that poll, by their ID.
func (s *Service) Polls(ctx context.Context) (map[uuid.UUID][]Polls, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.ListPolls(ctx, subject.ProjectID)
	if err != nil {
		return nil, fmt.Errorf("list the polls of triggers: %w", err)
	}
	out := make(map[uuid.UUID][]Polls, len(rows))
	for _, row := range rows {
		out[row.TriggerID] = append(out[row.TriggerID], pollsOf(row))
	}
	return out, nil
}

func pollsOf(row db.TriggerPoll) Polls {
	return Polls{Condition: row.Condition, Last: row.PolledAt, Next: row.DueAt, Status: row.Status, Failures: int(row.Failures), Error: row.Error}
}

// PollNow makes a trigger of the current project poll immediately, with all its conditions. It requires the permission to
// change the trigger. It returns Conflict for a trigger that is off or does not poll.
func (s *Service) PollNow(ctx context.Context, name string) error {
	err := s.change(ctx, name, func(ctx context.Context, q *db.Queries, row db.Trigger) error {
		t, err := triggerOf(row)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(t.Conditions(), func(c Condition) bool { return c.Kind.Polls() }) {
			return apperr.New(apperr.Conflict, "The trigger %s does not poll.", row.Name)
		}
		if !row.Enabled {
			return apperr.New(apperr.Conflict, "The trigger %s is off. Turn it on first.", row.Name)
		}
		if _, err := q.RequestPolls(ctx, s.now(), row.ID); err != nil {
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
