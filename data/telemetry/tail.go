package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/flowforge/flowforge/data/telemetry/spool"
)

// The batch sizes of a tail, and its waits.
const (
	tailPage   = 1000
	retryAfter = time.Second // when ClickHouse is needed and down
)

func isDropped(err error) bool { return errors.Is(err, spool.ErrDropped) }

// Tail yields the existing lines that match q and then new ones, until ctx ends or the
// caller stops. One batch is empty: it marks the end of the existing lines. From "" it
// begins with the history (with q.Last, the last q.Limit lines of it), in the order of
// time; new lines follow in the order in which they were appended. From the Cursor of
// any line of a Tail or a page, it continues after that line: every matching line is
// yielded exactly once, over any number of reconnects. While ClickHouse is down, a tail
// without cursor begins with the spooled lines; one that must read lines from
// ClickHouse waits for it.
func (s *Service) Tail(ctx context.Context, q LogQuery, from Cursor) iter.Seq2[[]LogLine, error] {
	return func(yield func([]LogLine, error) bool) {
		t, err := s.newTail(ctx, q, from)
		if err == nil {
			hint, stop := s.hub.subscribe(q.ExecutionID)
			defer stop()
			err = t.run(ctx, hint, yield)
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// errStopped ends a tail whose caller has stopped.
var errStopped = errors.New("stopped")

type tail struct {
	s       *Service
	filter  *filter
	span    keySpan // of the remaining history
	history bool
	fresh   bool  // the reader had no cursor
	marks   marks // the lines read, or the end of the history
}

func (s *Service) newTail(ctx context.Context, q LogQuery, from Cursor) (*tail, error) {
	project, err := scope(ctx)
	if err != nil {
		return nil, err
	}
	at, err := from.parse()
	if err != nil {
		return nil, err
	}
	t := &tail{s: s, filter: newFilter(q, project), marks: at.Marks, fresh: from == ""}
	t.history = at.Key != nil || at.Marks == nil
	t.span = keySpan{after: at.Key, limit: tailPage}
	if t.fresh && q.Last {
		t.span.desc, t.span.limit = true, min(max(q.Limit, 1), maxLines)
	}
	return t, nil
}

func (t *tail) run(ctx context.Context, hint <-chan struct{}, yield func([]LogLine, error) bool) error {
	defer t.s.cache.begin()()
	if err := t.begin(ctx); err != nil {
		return err
	}
	for t.history {
		if err := t.readHistory(ctx, yield); err != nil {
			return err
		}
	}
	poll := time.NewTicker(max(t.s.cfg.PollInterval, time.Millisecond))
	defer poll.Stop()
	if t.s.cfg.PollInterval == 0 {
		poll.Stop()
	}
	// Other writers may have added lines since the cursor was created.
	if err := t.readOthers(ctx, yield, !t.fresh); err != nil {
		return err
	}
	for first := true; ; first = false {
		if err := t.readLive(ctx, yield); err != nil {
			return err
		}
		if first && ctx.Err() == nil && !yield(nil, nil) {
			return errStopped
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-hint:
		case <-poll.C:
			if err := t.readOthers(ctx, yield, false); err != nil {
				return err
			}
		}
	}
}

// begin sets the end of the history of a new tail.
func (t *tail) begin(ctx context.Context) error {
	if t.marks != nil {
		return nil
	}
	for {
		m, partial, err := t.s.now(ctx, t.filter)
		if err != nil {
			return err
		}
		if !partial || t.fresh {
			t.marks = m
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// readHistory yields the next page of the history.
func (t *tail) readHistory(ctx context.Context, yield func([]LogLine, error) bool) error {
	f := *t.filter
	f.upTo, f.strict = t.marks, t.s.cfg.PollInterval > 0
	lines, more, unreachable, err := t.s.page(ctx, &f, t.span)
	if err != nil {
		return err
	}
	if unreachable && !t.fresh {
		return pause(ctx) // continuing would lose lines: retry the same page
	}
	t.history = more && !t.span.desc && len(lines) > 0
	if len(lines) == 0 {
		return nil
	}
	t.fresh = false
	last := keyOf(&lines[len(lines)-1])
	t.span.after = &last
	for i := range lines {
		lines[i].marks = t.marks
	}
	return send(yield, lines)
}

// readLive yields the lines appended to our own spool since the last call.
func (t *tail) readLive(ctx context.Context, yield func([]LogLine, error) bool) error {
	writer := t.s.spool.Writer()
	for {
		after := t.marks[writer]
		if floor := t.s.spool.Floor(); after < floor {
			if err := t.catchUp(ctx, writer, floor, yield); err != nil {
				return err
			}
			continue
		}
		refs := t.s.spool.Since(t.filter.ExecutionID, after)
		if len(refs) == 0 {
			return nil
		}
		f := *t.filter
		f.after = marks{writer: after}
		refs = firstRefs(refs, tailPage)
		lines, err := t.s.live(ctx, refs, &f)
		if isDropped(err) {
			continue // it was moved to ClickHouse, and the floor has risen
		}
		if err != nil {
			return fmt.Errorf("tail of %s: %w", f.ExecutionID, err)
		}
		if err := t.sendLive(lines, yield); err != nil {
			return err
		}
		t.mark(writer, refs[len(refs)-1].Last())
	}
}

// firstRefs returns the first frames with at least n records in total.
func firstRefs(refs []spool.Ref, n int) []spool.Ref {
	records := 0
	for i := range refs {
		if records += refs[i].Count; records >= n {
			return refs[:i+1]
		}
	}
	return refs
}

// catchUp yields lines of a writer up to a position that ClickHouse has reached: those
// dropped from our spool while the reader was disconnected or slow, and those of other
// writers.
func (t *tail) catchUp(ctx context.Context, writer, floor uint64, yield func([]LogLine, error) bool) error {
	for t.marks[writer] < floor {
		lines, err := t.stored(ctx, writer, floor)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := pause(ctx); err != nil {
				return err
			}
			continue
		}
		if err := t.sendLive(lines, yield); err != nil {
			return err
		}
		if len(lines) < tailPage {
			t.mark(writer, floor)
			return nil
		}
		t.mark(writer, lines[len(lines)-1].position)
	}
	return nil
}

// readOthers yields lines that other writers have stored since the last call. must:
// wait for ClickHouse when it is down. A single server reads only writers of the
// cursor, such as itself before its spool was replaced.
func (t *tail) readOthers(ctx context.Context, yield func([]LogLine, error) bool, must bool) error {
	alone := t.s.cfg.PollInterval == 0
	if t.s.store == nil || alone && (!must || len(t.marks) < 2) {
		return nil
	}
	for {
		others, err := t.others(ctx, must)
		if err == nil {
			for writer, at := range others {
				if _, known := t.marks[writer]; alone && !known {
					continue
				}
				if err := t.catchUp(ctx, writer, at, yield); err != nil {
					return err
				}
			}
			return nil
		}
		if err := t.s.unlessUnavailable(ctx, err); err != nil {
			return err
		}
		if !must {
			return nil // retried soon
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// sendLive yields lines in the order of their positions.
func (t *tail) sendLive(lines []LogLine, yield func([]LogLine, error) bool) error {
	slices.SortFunc(lines, func(a, b LogLine) int { return cmp.Compare(a.position, b.position) })
	lines = slices.CompactFunc(lines, func(a, b LogLine) bool { return a.position == b.position })
	for len(lines) > 0 {
		n := min(len(lines), tailPage)
		for i := range lines[:n] {
			lines[i].marks, lines[i].live = t.marks, true
		}
		if err := send(yield, lines[:n]); err != nil {
			return err
		}
		t.mark(lines[n-1].writer, lines[n-1].position)
		lines = lines[n:]
	}
	return nil
}

// mark moves the mark of a writer; yielded lines keep their earlier marks.
func (t *tail) mark(writer, position uint64) {
	t.marks = t.marks.clone()
	t.marks[writer] = max(t.marks[writer], position)
}

func send(yield func([]LogLine, error) bool, lines []LogLine) error {
	if len(lines) == 0 || yield(lines, nil) {
		return nil
	}
	return errStopped
}

func pause(ctx context.Context) error {
	wait(ctx, retryAfter)
	return ctx.Err()
}
