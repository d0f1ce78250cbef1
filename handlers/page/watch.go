package page

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// Minimum intervals between two messages of a stream.
const (
	LineInterval = 100 * time.Millisecond // lines of a log
	PageInterval = 250 * time.Millisecond // the page of one execution
	ListInterval = time.Second            // lists and the home page

	figuresInterval = time.Second     // between two reads of the sidebar's numbers
	bellInterval    = 2 * time.Second // between two looks at the reader's inbox
)

// ErrStreamDone ends a stream whose subject never changes again.
var ErrStreamDone = errors.New("the stream is complete")

// OnHints calls send immediately and then after each hint, at most once per interval, until
// the client disconnects or send returns ErrStreamDone. It merges hints that arrive in the
// meantime. It keeps silent streams alive.
//
// The response has begun, so an error page is impossible: OnHints logs a failure and ends
// the stream, and the browser reconnects.
func (h *Shell) OnHints(r *http.Request, stream *web.Stream, hints <-chan struct{}, interval time.Duration, send func(context.Context) error) {
	bell := &bellWatch{shell: h}
	ring := func(ctx context.Context) error {
		b, changed, err := bell.update(ctx)
		if err != nil || !changed {
			return nil //nolint:nilerr // only a number next to a link: the stream works without it
		}
		return stream.SendComponent(ctx, "", "", views.BellUpdate(b))
	}
	err := hintLoop(r.Context(), stream, hints, interval, h.withFigures(stream, send), ring)
	if err != nil && !errors.Is(err, ErrStreamDone) && r.Context().Err() == nil {
		h.Site.LogFailure(r, err)
	}
}

// figures are the numbers of the sidebar.
type figures struct{ live, approvals, waits, failing int }

func (h *Shell) readFigures(ctx context.Context) (f figures, err error) {
	if f.live, err = h.Executions.Live(ctx); err != nil {
		return f, err
	}
	if f.approvals, err = h.Executions.Approvals.Count(ctx); err != nil {
		return f, err
	}
	if f.waits, err = h.Executions.Waits.Count(ctx); err != nil {
		return f, err
	}
	f.failing, err = h.Notifications.Failing(ctx)
	return f, err
}

// withFigures adds the numbers of the sidebar to the messages of send when they changed. The
// streams of a project share them.
func (h *Shell) withFigures(stream *web.Stream, send func(context.Context) error) func(context.Context) error {
	var (
		known  bool
		sent   figures
		looked time.Time
	)
	return func(ctx context.Context) error {
		if err := send(ctx); err != nil || h.Now().Sub(looked) < figuresInterval {
			return err
		}
		looked = h.Now()
		subject, err := auth.Authorize(ctx, auth.ExecutionRead)
		if err != nil {
			return nil //nolint:nilerr // only a number next to a link: the stream works without it
		}
		f, err := h.figures.Get(ctx, subject.ProjectID, h.readFigures)
		if err != nil || known && f == sent {
			return nil //nolint:nilerr // as above
		}
		known, sent = true, f
		return stream.SendComponent(ctx, "", "", views.NavUpdate(f.live, f.approvals, f.waits, f.failing))
	}
}

func hintLoop(ctx context.Context, stream *web.Stream, hints <-chan struct{}, interval time.Duration, send, ring func(context.Context) error) error {
	ping := time.NewTicker(web.KeepAlive)
	defer ping.Stop()
	rings := time.NewTicker(bellInterval)
	defer rings.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	pending, debouncing := true, true
	for {
		if pending && !debouncing {
			if err := send(ctx); err != nil {
				return err
			}
			pending, debouncing = false, true
			pause.Reset(interval)
		}
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-hints:
			if !open {
				hints = nil
			}
			pending = true
		case <-pause.C:
			debouncing = false
		case <-rings.C:
			if err := ring(ctx); err != nil {
				return err
			}
		case <-ping.C:
			if err := stream.Ping(); err != nil {
				return err //nolint:wrapcheck // it names its context
			}
		}
	}
}

// SentPieces remembers what a stream has sent, so that it sends only changes.
type SentPieces map[string]string

// Changed records piece under key and reports whether it differs from before.
func (s SentPieces) Changed(key string, piece any) bool {
	b, err := json.Marshal(piece)
	if err != nil {
		return true
	}
	now := string(b)
	if old, ok := s[key]; ok && old == now {
		return false
	}
	s[key] = now
	return true
}

// Ticks hints once per interval, for pages that depend on more than one table.
func (h *Shell) Ticks(ctx context.Context) <-chan struct{} {
	hints := make(chan struct{})
	go func() {
		defer close(hints)
		tick := time.NewTicker(2 * ListInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			select {
			case <-ctx.Done():
				return
			case hints <- struct{}{}:
			}
		}
	}()
	return hints
}
