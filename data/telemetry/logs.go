package telemetry

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/telemetry/spool"
)

// Limits of one page of lines.
const (
	defaultLines = 200
	maxLines     = 10_000
	downloadPage = 20_000
)

// LogPage is a run of lines in the order of time, oldest first.
type LogPage struct {
	Lines   []LogLine
	Prev    Cursor // for Before: there are older lines; "" when there are none
	Next    Cursor // for After: there are newer lines; "" when there are none yet
	Partial bool   // ClickHouse is down: only spooled lines are shown
}

// Logs returns a page of lines: those after q.After, those before q.Before, the oldest
// ones without either, or the newest ones with q.Last. Pages follow the time that tasks
// wrote on their lines; to read late lines as well, use Tail.
func (s *Service) Logs(ctx context.Context, q LogQuery) (LogPage, error) {
	project, err := scope(ctx)
	if err != nil {
		return LogPage{}, err
	}
	span, err := spanOf(q)
	if err != nil {
		return LogPage{}, err
	}
	f := newFilter(q, project)
	now, partial, err := s.now(ctx, f)
	if err != nil {
		return LogPage{}, err
	}
	f.upTo, f.strict = now, s.cfg.PollInterval > 0 && !partial
	lines, more, unreachable, err := s.page(ctx, f, span)
	if err != nil {
		return LogPage{}, err
	}
	page := LogPage{Lines: lines, Partial: partial || unreachable}
	for i := range lines {
		lines[i].marks = now
	}
	if n := len(lines); n > 0 {
		if span.desc && more || !span.desc && span.after != nil {
			page.Prev = lines[0].Cursor()
		}
		if !span.desc && more || span.desc && span.before != nil {
			page.Next = lines[n-1].Cursor()
		}
	}
	return page, nil
}

func spanOf(q LogQuery) (keySpan, error) {
	after, err := q.After.parse()
	if err != nil {
		return keySpan{}, err
	}
	before, err := q.Before.parse()
	if err != nil {
		return keySpan{}, err
	}
	span := keySpan{after: after.Key, before: before.Key, limit: q.Limit, desc: q.Last || before.Key != nil && after.Key == nil}
	if span.limit <= 0 {
		span.limit = defaultLines
	}
	span.limit = min(span.limit, maxLines)
	return span, nil
}

// now returns the current position of every writer: later lines are not part of a
// history that begins now. partial: the positions of other writers are unknown.
func (s *Service) now(ctx context.Context, f *filter) (m marks, partial bool, err error) {
	m = marks{s.spool.Writer(): s.spool.Durable()}
	if s.cfg.PollInterval == 0 {
		return m, false, nil
	}
	others, err := s.otherLines.now(ctx, f.ExecutionID)
	if err != nil {
		return m, true, s.unlessUnavailable(ctx, err)
	}
	maps.Copy(m, others)
	return m, false, nil
}

// unlessUnavailable converts an error of ClickHouse to nil, because the reader then gets only
// spooled lines; the end of the reader's own context stays an error.
func (s *Service) unlessUnavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.cfg.Log.Debug("ClickHouse could not be read", "error", err)
	return nil
}

// page returns the lines of the span, oldest first, and whether there are more
// of them in its direction. unreachable: ClickHouse did not respond.
//
// It reads the spool before ClickHouse, so that a line that is being moved is seen at
// least once.
func (s *Service) page(ctx context.Context, f *filter, span keySpan) (lines []LogLine, more, unreachable bool, err error) {
	refs := s.spool.Pending(f.ExecutionID)
	fetch := span
	fetch.limit++
	spooled, err := s.readPending(f, &refs, fetch)
	if err != nil {
		return nil, false, false, err
	}
	stored, err := s.stored(ctx, f, fetch)
	if err != nil {
		if err := s.unlessUnavailable(ctx, err); err != nil {
			return nil, false, false, err
		}
		unreachable = s.store != nil
	}
	lines = mergeLines(spooled, stored, span)
	// Rows that are not merged yet may have displaced others.
	more = len(lines) > span.limit || len(stored) == fetch.limit
	lines = lines[:min(len(lines), span.limit)]
	if span.desc {
		slices.Reverse(lines)
	}
	return lines, more, unreachable, nil
}

// readPending reads the frames; frames that were committed and dropped in the meantime
// are in ClickHouse, so it looks again.
func (s *Service) readPending(f *filter, refs *[]spool.Ref, span keySpan) ([]LogLine, error) {
	lines, err := s.spooled(*refs, f, span)
	if isDropped(err) {
		*refs = s.spool.Pending(f.ExecutionID)
		lines, err = s.spooled(*refs, f, span)
	}
	if err != nil && !isDropped(err) {
		return nil, fmt.Errorf("logs of %s: %w", f.ExecutionID, err)
	}
	return lines, nil
}

// mergeLines merges two sorted runs and drops duplicates.
func mergeLines(a, b []LogLine, span keySpan) []LogLine {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, span.order)
	known := make(map[lineID]struct{}, len(all))
	out := all[:0]
	for i := range all {
		id := idOf(&all[i])
		if _, ok := known[id]; ok {
			continue
		}
		known[id] = struct{}{}
		out = append(out, all[i])
	}
	return out
}

// LogCounts returns the number of lines by level. It ignores the levels of q, so that
// the counts can label a selection of levels. Of a whole large log it returns the sums that
// ClickHouse keeps. They are approximate: a line that was delivered again counts twice.
func (s *Service) LogCounts(ctx context.Context, q LogQuery) (map[string]int, error) {
	project, err := scope(ctx)
	if err != nil {
		return nil, err
	}
	q.Levels = nil
	f := newFilter(q, project)
	counts := map[string]int{}
	// Lines up to the last commit are in ClickHouse, the later ones in the spool.
	committed := s.spool.Committed()
	refs := s.spool.Since(f.ExecutionID, committed)
	err = s.spool.Read(refs, func(frame spool.Frame) error {
		if !isLogs(frame.Kind) {
			return nil
		}
		lines, err := decodeLines(frame)
		for i := range lines {
			if lines[i].writer = s.spool.Writer(); f.match(&lines[i]) {
				counts[lines[i].Level]++
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count logs of %s: %w", f.ExecutionID, err)
	}
	f.upTo = marks{s.spool.Writer(): committed}
	if s.store == nil || !s.store.migrated.Load() {
		return counts, nil
	}
	where, args := f.where()
	statement := "SELECT level, count() FROM logs FINAL WHERE " + where
	if f.whole() && s.large.has(f.ExecutionID) {
		statement, args = "SELECT level, sum(count) FROM logs_by_level WHERE execution_id = ?", []any{f.ExecutionID}
		if f.project != nil {
			statement, args = statement+" AND project_id = ?", append(args, *f.project)
		}
	}
	rows, err := s.store.conn.Query(ctx, statement+" GROUP BY level", args...)
	if err != nil {
		return counts, s.unlessUnavailable(ctx, err)
	}
	defer func() { _ = rows.Close() }() // Err returns the error
	for rows.Next() {
		var (
			level string
			n     uint64
		)
		if err := rows.Scan(&level, &n); err != nil {
			return nil, err
		}
		counts[level] += int(n)
	}
	return counts, rows.Err()
}

// WriteLog writes all lines that match, oldest first, as text: time, level, node and
// attempt, message. It returns Unavailable when ClickHouse cannot be read, because a
// log with gaps would look complete.
func (s *Service) WriteLog(ctx context.Context, w io.Writer, q LogQuery) error {
	project, err := scope(ctx)
	if err != nil {
		return err
	}
	span, err := spanOf(q)
	if err != nil {
		return err
	}
	span.limit, span.desc = downloadPage, false
	f := newFilter(q, project)
	f.upTo = marks{s.spool.Writer(): s.spool.Durable()} // a fixed end, even while lines are appended
	out := bufio.NewWriterSize(w, 1<<16)
	for {
		lines, more, unreachable, err := s.page(ctx, f, span)
		if err != nil {
			return err
		}
		if unreachable {
			return apperr.New(apperr.Unavailable, "ClickHouse is not responding, so the complete log cannot be read right now.")
		}
		for i := range lines {
			l := &lines[i]
			if _, err := fmt.Fprintf(out, "%s %-5s %s#%d  %s\n", l.Time.Format("2006-01-02T15:04:05.000000Z"), l.Level, l.Node, l.Attempt, Text(l.Stream, l.Message, l.Fields, "")); err != nil {
				return err
			}
		}
		if !more || len(lines) == 0 {
			return out.Flush()
		}
		last := keyOf(&lines[len(lines)-1])
		span.after = &last
	}
}
