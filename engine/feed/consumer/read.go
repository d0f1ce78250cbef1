package consumer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/feed"
)

// pollInterval is the interval at which a waiting reader checks for events.
const pollInterval = 250 * time.Millisecond

// Batch contains the limits of a read. Zero values are the defaults.
type Batch struct {
	Limit int
	Lease time.Duration
	Wait  time.Duration // how long to wait for the first event; 0: not at all
}

// Read leases the next events of a consumer. Events that failed before and are due again come first. An
// event of an execution is not delivered while an earlier one of the same execution is leased to another
// reader or waits for its next try. Errors: Conflict for a sink, and for a consumer with MaxDead dead
// letters.
func (s *Service) Read(ctx context.Context, ref Ref, b Batch) (Lease, error) {
	return s.read(ctx, ref, b, false)
}

func (s *Service) read(ctx context.Context, ref Ref, b Batch, sink bool) (Lease, error) {
	limit := min(cmp.Or(max(b.Limit, 0), DefaultBatch), MaxBatch)
	duration := min(cmp.Or(max(b.Lease, 0), DefaultLease), MaxLease)
	until := time.Now().Add(min(b.Wait, MaxWait))
	for {
		var out Lease
		var complete bool
		err := s.change(ctx, ref, func(ctx context.Context, q *db.Queries, row db.EventConsumer) (err error) {
			if err := usable(row, sink); err != nil {
				return err
			}
			out, complete, err = s.lease(ctx, q, row, limit, duration)
			return err
		})
		switch {
		case err != nil || len(out.Events) > 0:
			return out, err
		case !complete:
			continue // the cursor has passed events that the consumer does not want
		case !time.Now().Before(until):
			return out, nil
		}
		if err := s.await(ctx, ref, until); err != nil {
			return Lease{}, err
		}
	}
}

// usable returns Conflict if users read a sink, or the server reads a consumer of users.
func usable(row db.EventConsumer, sink bool) error {
	if row.Sink == sink {
		return nil
	}
	return apperr.New(apperr.Conflict, "The server itself reads the consumer %q, to send events to a broker. Create another consumer.", row.Name)
}

// lease leases events in the transaction that has locked the consumer. complete is false when it found
// nothing in a part of the feed and there is more: each part is a transaction of its own, so that a reader
// that leaves loses no progress.
func (s *Service) lease(ctx context.Context, q *db.Queries, row db.EventConsumer, limit int, duration time.Duration) (_ Lease, complete bool, err error) {
	now := s.now()
	if err := q.LapseEventLeases(ctx, now, row.ID); err != nil {
		return Lease{}, false, fmt.Errorf("end leases of consumer %s: %w", row.Name, err)
	}
	counts, err := q.EventDeliveryCounts(ctx, row.ID)
	if err != nil {
		return Lease{}, false, fmt.Errorf("count events of consumer %s: %w", row.Name, err)
	}
	if counts.Dead >= MaxDead {
		return Lease{}, false, apperr.New(apperr.Conflict, "The consumer %q has %d dead letters and receives no more events. Redeliver or discard them.", row.Name, counts.Dead)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Lease{}, false, fmt.Errorf("make lease id: %w", err)
	}
	out := Lease{ID: id, Until: now.Add(duration)}
	taken := int(counts.Taken)
	for {
		rows, err := q.LeaseEvents(ctx, db.LeaseEventsParams{Lease: id, Until: out.Until, ID: row.ID, Now: now, RowLimit: int32(limit - len(out.Events))}) //nolint:gosec // up to MaxBatch
		if err != nil {
			return Lease{}, false, fmt.Errorf("lease events of consumer %s: %w", row.Name, err)
		}
		for _, r := range rows {
			out.Events = append(out.Events, deliveryOf(r))
		}
		want := min(limit-len(out.Events), MaxTaken-taken)
		if complete = complete || want <= 0; complete {
			break
		}
		took, err := q.TakeEvents(ctx, scanned, row.ID, int32(want), now) //nolint:gosec // up to MaxBatch
		if err != nil {
			return Lease{}, false, fmt.Errorf("take events of consumer %s: %w", row.Name, err)
		}
		taken += int(took.Taken)
		complete = took.Complete
		if took.Taken == 0 {
			break
		}
	}
	if err := q.TouchEventConsumer(ctx, &now, row.ID); err != nil {
		return Lease{}, false, fmt.Errorf("note the read of consumer %s: %w", row.Name, err)
	}
	if len(out.Events) == 0 {
		return Lease{}, complete, nil
	}
	slices.SortFunc(out.Events, func(a, b Delivery) int { return cmp.Compare(position(a), position(b)) })
	return out, complete, nil
}

func position(d Delivery) int64 {
	n, _ := strconv.ParseInt(d.Cursor, 10, 64) // it was formatted from a number
	return n
}

// await returns when events for a consumer may have arrived, or at until.
func (s *Service) await(ctx context.Context, ref Ref, until time.Time) error {
	row, err := s.find(ctx, ref)
	if err != nil {
		return err
	}
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return apperr.Wrap(apperr.Unavailable, ctx.Err(), "The request was cancelled.")
		case <-poll.C:
		}
		state, err := s.queries.FeedState(ctx)
		if err != nil {
			return fmt.Errorf("state of the feed: %w", err)
		}
		counts, err := s.queries.EventDeliveryCounts(ctx, row.ID)
		if err != nil {
			return fmt.Errorf("count events of consumer %s: %w", ref.Name, err)
		}
		if state.Position > row.Position && counts.Taken < MaxTaken || counts.Taken > 0 && !counts.NextDue.After(s.now()) || !time.Now().Before(until) {
			return nil
		}
	}
}

// Answer is the result of an acknowledgement or a failure.
type Answer struct {
	Done []string // IDs of the events that it concerned
	// Absent are IDs that the lease no longer contains: they were answered before, or the lease has ended
	// and they are delivered again.
	Absent []string
	Dead   []string // of Done: now dead letters
}

// Acknowledge removes processed events from a lease: those with the given IDs, or all of the
// lease without IDs.
func (s *Service) Acknowledge(ctx context.Context, ref Ref, lease uuid.UUID, ids []string) (Answer, error) {
	var out Answer
	err := s.change(ctx, ref, func(ctx context.Context, q *db.Queries, row db.EventConsumer) error {
		done, err := q.AcknowledgeEvents(ctx, db.AcknowledgeEventsParams{ID: row.ID, Lease: lease, Whole: len(ids) == 0, Ids: orEmpty(ids), Now: s.now()})
		if err != nil {
			return fmt.Errorf("acknowledge events of consumer %s: %w", row.Name, err)
		}
		out = Answer{Done: done, Absent: without(ids, done)}
		return nil
	})
	return out, err
}

// Failure describes why a reader could not process events.
type Failure struct {
	Events []string // IDs, at least one
	Reason string
	Final  bool // it is of no use to try again: the events become dead letters at once
}

// Fail records that events of a lease could not be processed. They are delivered again after a pause that
// doubles with each failure, up to the number of tries of the consumer; then they become dead letters. The
// later events of the same execution then leave the lease, without counting as failed, unless the event is
// now a dead letter.
func (s *Service) Fail(ctx context.Context, ref Ref, lease uuid.UUID, f Failure) (Answer, error) {
	var out Answer
	err := s.change(ctx, ref, func(ctx context.Context, q *db.Queries, row db.EventConsumer) error {
		if len(f.Events) == 0 {
			return apperr.InvalidFields("The answer is invalid.", []apperr.Field{{Path: "events", Message: "Enter the IDs of the events that failed."}})
		}
		now := s.now()
		failed, err := q.FailEvents(ctx, db.FailEventsParams{Now: now, Error: shortened(f.Reason), Final: f.Final, ID: row.ID, Lease: lease, Ids: f.Events})
		if err != nil {
			return fmt.Errorf("record failed events of consumer %s: %w", row.Name, err)
		}
		for _, e := range failed {
			out.Done = append(out.Done, e.ID)
			if e.Dead {
				out.Dead = append(out.Dead, e.ID)
			}
			if e.ExecutionID == nil || e.Dead { // a dead letter holds nothing back
				continue
			}
			if err := q.ReturnLaterEvents(ctx, db.ReturnLaterEventsParams{Now: now, ID: row.ID, Lease: lease, ExecutionID: *e.ExecutionID, Position: e.Position}); err != nil {
				return fmt.Errorf("return events of consumer %s: %w", row.Name, err)
			}
		}
		out.Absent = without(f.Events, out.Done)
		return nil
	})
	return out, err
}

// Release ends a lease. Its events are delivered again immediately, and none counts as failed.
// It returns their number.
func (s *Service) Release(ctx context.Context, ref Ref, lease uuid.UUID) (n int64, err error) {
	err = s.change(ctx, ref, func(ctx context.Context, q *db.Queries, row db.EventConsumer) (err error) {
		if n, err = q.ReleaseEvents(ctx, s.now(), row.ID, lease); err != nil {
			return fmt.Errorf("release events of consumer %s: %w", row.Name, err)
		}
		return nil
	})
	return n, err
}

// without returns the strings of list that are not in found.
func without(list, found []string) (missing []string) {
	for _, id := range list {
		if !slices.Contains(found, id) && !slices.Contains(missing, id) {
			missing = append(missing, id)
		}
	}
	return missing
}

// shortened returns a reason that can be stored.
func shortened(reason string) string {
	reason = strings.ToValidUTF8(strings.ReplaceAll(strings.TrimSpace(reason), "\x00", ""), "�")
	if reason == "" {
		return "The reader did not give a reason."
	}
	if r := []rune(reason); len(r) > maxReason {
		return string(r[:maxReason-1]) + "…"
	}
	return reason
}

func deliveryOf(row db.EventDelivery) Delivery {
	return Delivery{
		Event: feed.Event{
			Cursor: strconv.FormatInt(row.Position, 10), ID: row.ID, Topic: row.Topic, Type: row.Type, At: row.At.UTC(), TenantID: row.TenantID,
			ProjectID: row.ProjectID, ExecutionID: row.ExecutionID, Subject: row.Subject, Data: row.Data,
		},
		Tries: int(row.Tries), Error: row.Error, FailedAt: row.FailedAt, DeadAt: row.DeadAt,
	}
}
