package feed

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

const (
	// scannedBack is how many positions one statement reads, and windows how many statements one request
	// runs, so that a filter that matches nothing takes a bounded time.
	scannedBack = 250_000
	windows     = 8
)

// Span is a part of the feed. Zero values do not limit it.
type Span struct {
	Before       string    // a cursor: only events before it
	Since, Until time.Time // when the feed received the events
}

// RecentPage is a page of events, newest first. Older is Before of the next page; "" at the end. Partial
// means that the page ended before it was full, because many events did not match.
type RecentPage struct {
	Events  []Event
	Newest  string // cursor after the newest event of the feed
	Older   string
	Partial bool
}

// Recent returns the newest events of a span that the caller may read. f.After is not used. Errors: Invalid.
func (s *Service) Recent(ctx context.Context, f Filter, span Span) (RecentPage, error) {
	may, err := s.authorize(ctx, f.AllProjects)
	if err != nil {
		return RecentPage{}, err
	}
	if err := f.check(); err != nil {
		return RecentPage{}, err
	}
	state, err := s.reads.FeedState(ctx)
	if err != nil {
		return RecentPage{}, fmt.Errorf("state of the feed: %w", err)
	}
	period, err := s.reads.FeedPeriod(ctx, optional(span.Since), optional(span.Until))
	if err != nil {
		return RecentPage{}, fmt.Errorf("positions of a period: %w", err)
	}
	if span.Before != "" {
		before, err := strconv.ParseInt(span.Before, 10, 64)
		if err != nil || before < 0 {
			return RecentPage{}, apperr.InvalidFields("The cursor is not valid.", []apperr.Field{{Path: "before", Message: "Use a link of the page."}})
		}
		period.Until = min(period.Until, before-1)
	}
	page := RecentPage{Newest: strconv.FormatInt(state.Position, 10)}
	limit, top := min(max(f.Limit, 1), MaxPage), period.Until
	for n := 0; n < windows && top > period.After; n++ {
		low := max(period.After, top-scannedBack)
		rows, err := s.reads.ReadFeedBack(ctx, db.ReadFeedBackParams{
			After: low, Until: top, Projects: may.projects, Audited: may.audited, Everything: may.everything, Tenants: may.tenants,
			Topics: orEmpty(f.Topics), Types: likes(f.Types), ExecutionID: f.ExecutionID, RowLimit: int32(limit - len(page.Events)), //nolint:gosec // up to MaxPage
		})
		if err != nil {
			return RecentPage{}, fmt.Errorf("read the feed: %w", err)
		}
		for _, row := range rows {
			page.Events = append(page.Events, eventOf(row))
		}
		top = low
		if len(page.Events) == limit {
			top = rows[len(rows)-1].Position - 1
			break
		}
	}
	if top > period.After {
		page.Older, page.Partial = strconv.FormatInt(top+1, 10), len(page.Events) < limit
	}
	return page, nil
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
