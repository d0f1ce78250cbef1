package consumer

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
)

// EnsureSink creates the consumer of all projects through which the server itself sends events to a broker,
// or sets its topics. A new one starts with the oldest event that is kept.
func (s *Service) EnsureSink(ctx context.Context, name string, topics []string) error {
	subject, err := auth.Authorize(ctx, auth.Administer)
	if err != nil {
		return err
	}
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockEventConsumer(ctx, nil, name)
		if db.IsNoRows(err) {
			return s.insert(ctx, q, subject, nil, Spec{Ref: Ref{Name: name, Installation: true}, Topics: topics, Start: Oldest, MaxTries: DefaultTries}, true)
		}
		if err != nil {
			return fmt.Errorf("lock consumer %s: %w", name, err)
		}
		if err := usable(row, true); err != nil {
			return err
		}
		if slices.Equal(row.Topics, topics) {
			return nil
		}
		before := factsOf(row)
		row.Topics = topics
		if err := q.ConfigureEventSink(ctx, topics, row.ID); err != nil {
			return fmt.Errorf("configure consumer %s: %w", name, err)
		}
		return audit.Record(ctx, q, entry("event_consumer.update", row, before, factsOf(row)))
	})
}

// ReadSink leases the next events of a sink.
func (s *Service) ReadSink(ctx context.Context, name string, b Batch) (Lease, error) {
	return s.read(ctx, Ref{Name: name, Installation: true}, b, true)
}

// ReportSink stores why the broker of a sink does not accept events; "": it does.
func (s *Service) ReportSink(ctx context.Context, name, problem string) error {
	return s.change(ctx, Ref{Name: name, Installation: true}, func(ctx context.Context, q *db.Queries, row db.EventConsumer) error {
		if err := q.SetEventSinkProblem(ctx, problem, s.now(), row.ID); err != nil {
			return fmt.Errorf("store the state of consumer %s: %w", name, err)
		}
		return nil
	})
}
