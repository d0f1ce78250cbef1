package content

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/web"
)

// quiet is how long the log of an ended execution must have no new lines before its stream
// ends.
const quiet = 700 * time.Millisecond

// FollowLog sends the lines of q after from, and new ones, until the execution has ended and
// the last line was sent. Then it sends the event "end".
func (h *Content) FollowLog(ctx context.Context, id uuid.UUID, q telemetry.LogQuery, from telemetry.Cursor, send func([]telemetry.LogLine) error, stream *web.Stream) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := h.Executions.Watches.Watch(ctx, id)
	if err != nil {
		return err
	}
	lines := h.Tail(ctx, q, from)
	ended, err := h.hasEnded(ctx, id)
	if err != nil {
		return err
	}
	caughtUp := false // the existing lines were sent, which an empty batch reports
	silence := time.NewTimer(quiet)
	defer silence.Stop()
	keepAlive := time.NewTicker(web.KeepAlive)
	defer keepAlive.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil // the client disconnected
		case some, ok := <-lines:
			if !ok {
				return nil // the stream ends, and the client reconnects with its cursor
			}
			if len(some) == 0 {
				caughtUp = true
			} else if err := send(some); err != nil {
				return nil
			}
			silence.Reset(quiet)
		case <-changes:
			if ended, err = h.hasEnded(ctx, id); err != nil {
				return nil // the response has begun: the client reconnects
			}
			silence.Reset(quiet)
		case <-silence.C:
			if ended && caughtUp {
				_ = stream.Send("end", "", []byte("{}")) // this is the last message
				return nil
			}
		case <-keepAlive.C:
			if err := stream.Ping(); err != nil {
				return nil
			}
		}
	}
}

// Tail forwards the lines of a log. The channel closes when they end.
func (h *Content) Tail(ctx context.Context, q telemetry.LogQuery, from telemetry.Cursor) <-chan []telemetry.LogLine {
	out := make(chan []telemetry.LogLine)
	go func() {
		defer close(out)
		for lines, err := range h.Telemetry.Tail(ctx, q, from) {
			if err != nil {
				if ctx.Err() == nil {
					h.Log.Warn("the log cannot be followed", "execution", q.ExecutionID, "error", err)
				}
				return
			}
			select {
			case out <- lines:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// hasEnded reports whether an execution has ended and all lines of its log have arrived.
func (h *Content) hasEnded(ctx context.Context, id uuid.UUID) (bool, error) {
	e, err := h.Executions.Get(ctx, id)
	if err != nil || e.FinishedAt == nil {
		return false, err
	}
	follows, err := h.Executions.LogFollows(ctx, id)
	return !follows, err
}
