package handlers

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/telemetry"
	"github.com/flowforge/flowforge/web"
)

// quiet is how long the log of an ended execution must stay silent before its
// stream ends; its lines were taken before its end was.
const quiet = 700 * time.Millisecond

// followLog sends the lines of q after from, and those that come, until the
// execution has ended and the last line is out; then it sends the event "end".
func (h *Handlers) followLog(ctx context.Context, id uuid.UUID, q telemetry.LogQuery, from telemetry.Cursor, send func([]telemetry.LogLine) error, stream *web.Stream) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := h.Executions.Watch(ctx, id)
	if err != nil {
		return err
	}
	lines := h.tail(ctx, q, from)
	ended, err := h.hasEnded(ctx, id)
	if err != nil {
		return err
	}
	caughtUp := false // the lines that were there are out; an empty batch says so
	silence := time.NewTimer(quiet)
	defer silence.Stop()
	keepAlive := time.NewTicker(web.KeepAlive)
	defer keepAlive.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil // the reader went away
		case some, ok := <-lines:
			if !ok {
				return nil // the stream breaks off, and the reader comes back with its cursor
			}
			if len(some) == 0 {
				caughtUp = true
			} else if err := send(some); err != nil {
				return nil
			}
			silence.Reset(quiet)
		case <-changes:
			if ended, err = h.hasEnded(ctx, id); err != nil {
				return nil // the answer has begun: the reader comes back
			}
			silence.Reset(quiet)
		case <-silence.C:
			if ended && caughtUp {
				_ = stream.Send("end", "", []byte("{}")) // nothing follows
				return nil
			}
		case <-keepAlive.C:
			if err := stream.Ping(); err != nil {
				return nil
			}
		}
	}
}

// tail passes the lines of a log on; the channel closes when they end.
func (h *Handlers) tail(ctx context.Context, q telemetry.LogQuery, from telemetry.Cursor) <-chan []telemetry.LogLine {
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

func (h *Handlers) hasEnded(ctx context.Context, id uuid.UUID) (bool, error) {
	e, err := h.Executions.Get(ctx, id)
	if err != nil {
		return false, err
	}
	return e.FinishedAt != nil, nil
}
