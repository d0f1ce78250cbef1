package executions

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// messageLines is the maximum number of lines in a message. A page keeps only a few thousand
// lines, so a log that grows faster shows its latest lines and how many it left out.
const messageLines = 2000

// push is the stream of a page that has a log. A message contains the changes of the page, new
// lines, or both. New lines alone read nothing from the database.
type push struct {
	stream   *web.Stream
	sent     page.SentPieces
	slow     time.Time // when the slow pieces were last checked
	filter   logFilter
	attempts map[string]int // attempt of the last line of each node
	quiet    int            // consecutive checks without a line after the end

	changed atomic.Bool // the subject of the page may have changed since the last message
	ticked  atomic.Bool // slowInterval has passed
	lines   pendingLines
}

// pendingLines are the lines that no message contains yet.
type pendingLines struct {
	mu       sync.Mutex
	lines    []telemetry.LogLine
	skipped  int
	caughtUp bool // the existing lines have arrived, which an empty batch reports
}

func newPush(stream *web.Stream, f logFilter) *push {
	p := &push{stream: stream, sent: page.SentPieces{}, filter: f, attempts: map[string]int{}}
	p.changed.Store(true)
	return p
}

// merge merges hints into one channel: changes, new lines, and slow ticks for pieces that depend
// on time. Changes are at least PageInterval apart; lines need not wait for them.
func (p *push) merge(ctx context.Context, changes <-chan struct{}, lines <-chan []telemetry.LogLine) <-chan struct{} {
	hints := make(chan struct{}, 1)
	go func() {
		tick := time.NewTicker(slowInterval)
		defer tick.Stop()
		due, last := (<-chan time.Time)(nil), time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case _, open := <-changes:
				if !open {
					changes = nil
				}
				if due == nil {
					due = time.After(time.Until(last.Add(page.PageInterval)))
				}
				continue
			case last = <-due:
				due = nil
				p.changed.Store(true)
			case batch, open := <-lines:
				if !open { // the log cannot be followed; the page works without it
					lines, batch = nil, nil
				}
				p.lines.add(batch)
			case <-tick.C:
				p.ticked.Store(true)
			}
			select {
			case hints <- struct{}{}:
			default: // one is already pending
			}
		}
	}()
	return hints
}

// takeHints reports whether the subject of the page may have changed, and whether slowInterval has
// passed, since the last call.
func (p *push) takeHints() (changed, ticked bool) { return p.changed.Swap(false), p.ticked.Swap(false) }

// takeLines returns new log lines and the position in the log.
func (p *push) takeLines(x *snapshot) ([]views.LogLine, string) {
	lines, skipped := p.lines.take()
	if len(lines) == 0 {
		return nil, ""
	}
	rows := logLines(x.clock, x.ID.String(), lines, p.filter, p.attempts)
	if skipped > 0 {
		missing := units.Plural(skipped, "line", "lines") + " not shown here. The log page has all lines."
		if attempt := rows[0].Cut; attempt != "" {
			missing += " Next: " + attempt + "."
		}
		rows[0].Cut = missing
	}
	return rows, string(lines[len(lines)-1].Cursor())
}

// endWhen ends the stream of an ended execution. The server stores the lines of a node before
// its end, so after the history was sent, a few checks without lines are sufficient.
func (p *push) endWhen(ended bool, lines int) error {
	if !ended {
		return nil
	}
	if lines > 0 || !p.lines.complete() {
		p.quiet = 0
		return nil
	}
	if p.quiet++; p.quiet < 3 {
		return nil
	}
	if err := p.stream.Send("end", "", nil); err != nil {
		return err
	}
	return page.ErrStreamDone
}

// add appends a batch of the log. It keeps at most two messages of lines.
func (l *pendingLines) add(batch []telemetry.LogLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(batch) == 0 {
		l.caughtUp = true
		return
	}
	l.lines = append(l.lines, batch...)
	if len(l.lines) > 2*messageLines {
		l.skip()
	}
}

// take returns the latest lines and how many lines before them were skipped.
func (l *pendingLines) take() (lines []telemetry.LogLine, skipped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.skip()
	lines, skipped = l.lines, l.skipped
	l.lines, l.skipped = nil, 0
	return lines, skipped
}

// complete reports whether all existing lines were taken.
func (l *pendingLines) complete() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.caughtUp && len(l.lines) == 0
}

// skip removes the oldest lines that do not fit in a message. The caller holds mu.
func (l *pendingLines) skip() {
	if more := len(l.lines) - messageLines; more > 0 {
		l.lines = slices.Clone(l.lines[more:])
		l.skipped += more
	}
}
