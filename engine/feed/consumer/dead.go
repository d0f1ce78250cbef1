package consumer

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// DeadPage is a page of dead letters, in the order of the feed. Next is the cursor after it; "" at the end.
type DeadPage struct {
	Letters []Delivery
	Next    string
}

// DeadLetters returns the dead letters of a consumer after a cursor; "" is the first one.
func (s *Service) DeadLetters(ctx context.Context, ref Ref, after string, limit int) (DeadPage, error) {
	row, err := s.find(ctx, ref)
	if err != nil {
		return DeadPage{}, err
	}
	var from int64
	if after != "" {
		if from, err = strconv.ParseInt(after, 10, 64); err != nil || from < 0 {
			return DeadPage{}, apperr.InvalidFields("The cursor is not valid.", []apperr.Field{{Path: "after", Message: "Use next from the previous response."}})
		}
	}
	limit = min(max(limit, 1), MaxBatch)
	rows, err := s.queries.DeadEvents(ctx, row.ID, from, int32(limit+1))
	if err != nil {
		return DeadPage{}, fmt.Errorf("dead letters of consumer %s: %w", ref.Name, err)
	}
	page := DeadPage{Letters: make([]Delivery, 0, len(rows))}
	for i, r := range rows {
		if i == limit {
			page.Next = page.Letters[limit-1].Cursor
			break
		}
		page.Letters = append(page.Letters, deliveryOf(r))
	}
	return page, nil
}

// Redeliver delivers dead letters again, with the full number of tries: those with the given
// IDs, or all without IDs.
func (s *Service) Redeliver(ctx context.Context, ref Ref, ids []string) (Answer, error) {
	return s.settle(ctx, ref, ids, "event_consumer.redeliver", func(ctx context.Context, q *db.Queries, row db.EventConsumer, now time.Time) ([]string, error) {
		return q.RedeliverDeadEvents(ctx, now, row.ID, len(ids) == 0, orEmpty(ids))
	})
}

// Discard removes dead letters: those with the given IDs, or all without IDs.
func (s *Service) Discard(ctx context.Context, ref Ref, ids []string) (Answer, error) {
	return s.settle(ctx, ref, ids, "event_consumer.discard", func(ctx context.Context, q *db.Queries, row db.EventConsumer, _ time.Time) ([]string, error) {
		return q.DiscardDeadEvents(ctx, row.ID, len(ids) == 0, orEmpty(ids))
	})
}

// settle redelivers or discards dead letters. The audit log records it if there were any.
func (s *Service) settle(ctx context.Context, ref Ref, ids []string, action string, do func(context.Context, *db.Queries, db.EventConsumer, time.Time) ([]string, error)) (Answer, error) {
	var out Answer
	err := s.change(ctx, ref, func(ctx context.Context, q *db.Queries, row db.EventConsumer) error {
		done, err := do(ctx, q, row, s.now())
		if err != nil {
			return fmt.Errorf("%s of consumer %s: %w", action, row.Name, err)
		}
		out = Answer{Done: done, Absent: without(ids, done)}
		if len(done) == 0 {
			return nil
		}
		return audit.Record(ctx, q, entry(action, row, nil, map[string]int{"events": len(done)}))
	})
	return out, err
}
