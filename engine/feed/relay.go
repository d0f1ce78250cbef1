package feed

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/db"
)

// Relay copies the events that were committed since the last copy, and returns how many. The copy and
// its progress are one transaction, so a stop in between copies nothing twice.
func (s *Service) Relay(ctx context.Context) (n int64, err error) {
	news, err := s.queries.FeedHasNews(ctx)
	if err != nil {
		return 0, fmt.Errorf("look for events: %w", err)
	}
	if !news {
		return 0, nil
	}
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		n, err = q.RelayEvents(ctx, s.config.Now().UTC())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("copy events to the feed: %w", err)
	}
	return n, nil
}

// pruneBatch is how many events one transaction removes.
const pruneBatch = 10_000

// Prune removes events that are no longer kept.
func (s *Service) Prune(ctx context.Context) error {
	for {
		n, err := s.queries.PruneFeed(ctx, pruneBatch, s.config.Now().Add(-s.config.Keep))
		if err != nil {
			return fmt.Errorf("remove old events: %w", err)
		}
		if n < pruneBatch {
			return nil
		}
	}
}
