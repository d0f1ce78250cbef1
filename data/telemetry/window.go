package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// largeLog is the number of stored lines from which a page is looked for in windows of time. A
// smaller log is read at once.
const largeLog = 50_000

// Windows of a page, from its cursor or from the end of the log. Most pages of a large log are in the
// first one; the last window is the rest of the log.
const (
	firstWindow  = 10 * time.Second
	secondWindow = 1000 * time.Second
)

// window is a part of a log: from < time <= to, in microseconds. nil has no bound.
type window struct{ from, to *int64 }

// windows returns the parts of a log in the order of their reading, from the time at.
func windows(at int64, desc bool) []window {
	first, second := firstWindow.Microseconds(), secondWindow.Microseconds()
	if desc {
		return []window{{new(at - first), new(at)}, {new(at - second), new(at - first)}, {nil, new(at - second)}}
	}
	return []window{{new(at - 1), new(at + first)}, {new(at + first), new(at + second)}, {new(at + second), nil}}
}

// largeLogs remembers which logs are large: they stay so.
type largeLogs struct {
	mu    sync.Mutex
	known map[uuid.UUID]struct{}
}

// maxLargeLogs bounds the memory of largeLogs.
const maxLargeLogs = 10_000

func newLargeLogs() *largeLogs { return &largeLogs{known: map[uuid.UUID]struct{}{}} }

func (l *largeLogs) has(execution uuid.UUID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.known[execution]
	return ok
}

func (l *largeLogs) add(execution uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) >= maxLargeLogs {
		clear(l.known)
	}
	l.known[execution] = struct{}{}
}

// stored returns the first span.limit lines in ClickHouse that match. Of a large log it reads windows
// of time, because the index of times excludes all other lines.
func (s *Service) stored(ctx context.Context, f *filter, span keySpan) ([]LogLine, error) {
	at, large, err := s.origin(ctx, f, span)
	if err != nil {
		return nil, err
	}
	if !large {
		return s.storedIn(ctx, f, span, window{})
	}
	var out []LogLine
	for _, w := range windows(at, span.desc) {
		rest := span
		rest.limit -= len(out)
		lines, err := s.storedIn(ctx, f, rest, w)
		if err != nil {
			return nil, err
		}
		if out = append(out, lines...); len(out) >= span.limit {
			break
		}
	}
	return out, nil
}

// origin returns the time from which a page is looked for, and whether the log is large. It reads the
// numbers of lines of each hour, and at most the times of one hour.
func (s *Service) origin(ctx context.Context, f *filter, span keySpan) (at int64, large bool, err error) {
	from := span.after
	if span.desc {
		from = span.before
	}
	if from != nil && s.large.has(f.ExecutionID) {
		return from.Time, true, nil
	}
	if s.store == nil || !s.store.migrated.Load() {
		return 0, false, errNotReady
	}
	var (
		count       uint64
		first, last time.Time // hours
	)
	err = s.store.conn.QueryRow(ctx, "SELECT sum(count), min(hour), max(hour) FROM logs_by_level WHERE execution_id = ?", f.ExecutionID).Scan(&count, &first, &last)
	if err != nil || count < largeLog {
		return 0, false, err
	}
	s.large.add(f.ExecutionID)
	switch {
	case from != nil:
		return from.Time, true, nil
	case span.desc && !f.To.IsZero() && f.To.Before(last):
		return f.To.UnixMicro(), true, nil
	case span.desc:
		at, err = s.store.edge(ctx, "max", f.ExecutionID, last)
		if !f.To.IsZero() {
			at = min(at, f.To.UnixMicro())
		}
		return at, true, err
	case !f.From.IsZero() && f.From.After(first.Add(time.Hour)):
		return f.From.UnixMicro(), true, nil
	default:
		at, err = s.store.edge(ctx, "min", f.ExecutionID, first)
		if !f.From.IsZero() {
			at = max(at, f.From.UnixMicro())
		}
		return at, true, err
	}
}

// edge returns the first or the last time of a log within an hour: choose is min or max.
func (s *store) edge(ctx context.Context, choose string, execution uuid.UUID, hour time.Time) (at int64, err error) {
	err = s.conn.QueryRow(ctx, edgeQuery(choose), execution, hour.UnixMicro(), hour.Add(time.Hour).UnixMicro()).Scan(&at)
	return at, err
}

// edgeQuery reads the granules of the hour alone, which the index of times finds.
func edgeQuery(choose string) string {
	return "SELECT toUnixTimestamp64Micro(" + choose + "(timestamp)) FROM logs WHERE execution_id = ?" +
		" AND timestamp >= fromUnixTimestamp64Micro(?, 'UTC') AND timestamp < fromUnixTimestamp64Micro(?, 'UTC')"
}
