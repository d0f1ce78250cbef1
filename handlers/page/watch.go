package page

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// How often a stream of a page may send at most.
const (
	PageInterval = 250 * time.Millisecond // the page of one execution
	ListInterval = time.Second            // lists and the home page

	figuresInterval = time.Second // between two looks at the figures of the sidebar
)

// ErrStreamDone ends a stream whose subject never changes again.
var ErrStreamDone = errors.New("nothing more will come")

// OnHints calls send at once and then after each hint, at most once per interval,
// until the reader goes away or send returns ErrStreamDone. Hints that come
// meanwhile are one. Silent streams are kept alive.
//
// The answer has begun, so no error page can follow: a failure is logged, the
// stream ends, and the browser connects again.
func (h *Shell) OnHints(r *http.Request, stream *web.Stream, hints <-chan struct{}, interval time.Duration, send func(context.Context) error) {
	err := hintLoop(r.Context(), stream, hints, interval, h.withFigures(stream, send))
	if err != nil && !errors.Is(err, ErrStreamDone) && r.Context().Err() == nil {
		h.Site.LogFailure(r, err)
	}
}

// withFigures adds the figures of the sidebar to what send sends, when they changed.
func (h *Shell) withFigures(stream *web.Stream, send func(context.Context) error) func(context.Context) error {
	known, live, asks, waits := false, 0, 0, 0
	var looked time.Time
	return func(ctx context.Context) error {
		if err := send(ctx); err != nil || h.Now().Sub(looked) < figuresInterval {
			return err
		}
		looked = h.Now()
		l, err := h.Executions.Live(ctx)
		if err != nil {
			return nil //nolint:nilerr // a figure beside a link: the stream goes on without it
		}
		a, err := h.Executions.CountQuestions(ctx)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		w, err := h.Executions.CountWaiting(ctx)
		if err != nil || known && l == live && a == asks && w == waits {
			return nil //nolint:nilerr // as above
		}
		known, live, asks, waits = true, l, a, w
		return stream.SendComponent(ctx, "", "", views.NavUpdate(l, a, w))
	}
}

func hintLoop(ctx context.Context, stream *web.Stream, hints <-chan struct{}, interval time.Duration, send func(context.Context) error) error {
	ping := time.NewTicker(web.KeepAlive)
	defer ping.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	pending, resting := true, true
	for {
		if pending && !resting {
			if err := send(ctx); err != nil {
				return err
			}
			pending, resting = false, true
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
			resting = false
		case <-ping.C:
			if err := stream.Ping(); err != nil {
				return err //nolint:wrapcheck // says what it was about
			}
		}
	}
}

// SentPieces remembers what a stream has sent, so that it sends changes alone.
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

// Ticks hints once per interval: what a page shows depends on more than one table.
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
