package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flowforge/flowforge/data/telemetry/spool"
)

// spooledBound bounds a search in the spool.
type spooledBound struct {
	bytes int64
	time  time.Duration
}

var errSpooledTime = errors.New("the time of a search in the spool is over")

// SpooledLines returns the latest lines of the caller's project that contain one of the texts, in
// any case, and that this server has not moved to ClickHouse yet: what can be searched while
// ClickHouse does not respond. cut reports that only the newest lines were searched: the newest
// 256 MiB of the spool, or what 3 seconds suffice for. One search runs at a time.
func (s *Service) SpooledLines(ctx context.Context, texts []string, limit int) (found []LogLine, cut bool, err error) {
	return s.spooledLines(ctx, texts, limit, spooledBound{256 << 20, 3 * time.Second})
}

func (s *Service) spooledLines(ctx context.Context, texts []string, limit int, bound spooledBound) (found []LogLine, cut bool, err error) {
	project, err := scope(ctx)
	if err != nil {
		return nil, false, err
	}
	select {
	case s.searching <- struct{}{}:
		defer func() { <-s.searching }()
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	var forms []string
	for _, text := range texts {
		forms = append(forms, Forms(text)...)
	}
	refs, cut := newestFirst(s.spool.AllPending(), bound.bytes)
	until := time.Now().Add(bound.time)
	err = s.spool.Read(refs, func(frame spool.Frame) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(until):
			return errSpooledTime
		case !isLogs(frame.Kind):
			return nil
		}
		lines, err := decodeLines(frame)
		for i := range lines {
			l := &lines[i]
			if project != nil && l.ProjectID != *project {
				continue
			}
			if l.contains(forms) {
				found = append(found, *l)
			}
		}
		if len(found) > 8*limit { // memory stays bounded for any size of the spool
			found = latest(found, limit)
		}
		return err
	})
	switch {
	case errors.Is(err, errSpooledTime):
		cut = true
	case err != nil && !isDropped(err): // what precedes a dropped frame is in ClickHouse, too
		return nil, false, fmt.Errorf("search lines on disk: %w", err)
	}
	return latest(found, limit), cut, nil
}

// newestFirst returns the newest frames of at most a number of bytes, and whether there are more.
func newestFirst(refs []spool.Ref, bytes int64) (newest []spool.Ref, cut bool) {
	slices.Reverse(refs)
	for i := range refs {
		if bytes -= refs[i].Size(); bytes < 0 {
			return refs[:i], true
		}
	}
	return refs, false
}

// latest returns the newest lines, newest first.
func latest(lines []LogLine, limit int) []LogLine {
	slices.SortFunc(lines, func(a, b LogLine) int { return compareKeys(keyOf(&b), keyOf(&a)) })
	return lines[:min(len(lines), limit)]
}

// At returns the cursor of a line.
func At(l LogLine) Cursor {
	key := keyOf(&l)
	return logPosition{Key: &key}.cursor()
}

// Preceding returns the cursor directly before the line of c, so that a page after it begins with
// that line; "" if c is not of a line.
func (c Cursor) Preceding() Cursor {
	p, err := c.parse()
	if err != nil || p.Key == nil {
		return ""
	}
	p.Key.Seq--
	return p.cursor()
}
