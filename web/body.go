package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/units"
)

// Bodies limits request bodies.
type Bodies struct {
	Most    int64         // bytes, for routes without their own limit
	Silence time.Duration // the longest pause between two reads
	Grace   time.Duration // before Rate applies
	Rate    int64         // minimum average bytes per second
}

// DefaultBodies returns the limits of a server.
func DefaultBodies() Bodies {
	return Bodies{Most: 10 << 20, Silence: 20 * time.Second, Grace: 30 * time.Second, Rate: 8 << 10}
}

// Middleware aborts bodies that arrive too slowly. Each read moves the deadline, so a
// large upload may take its time but a trickle does not hold a connection. Streams call
// [AllowSilence].
func (b Bodies) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &deadlineBody{bounds: b, body: r.Body, control: http.NewResponseController(w), begin: time.Now()}
		r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, body))
		r.Body = body
		next.ServeHTTP(w, r)
		body.finish()
	})
}

type bodyKey struct{}

// AllowSilence lets the body of the request of ctx be silent for any time. Call it for a
// stream, after its sender is authenticated and before the first read.
func AllowSilence(ctx context.Context) {
	if b, ok := ctx.Value(bodyKey{}).(*deadlineBody); ok {
		b.patient = true
	}
}

// Bound limits bodies to Most bytes, for routes without their own limit.
func (b Bodies) Bound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = http.MaxBytesReader(w, r.Body, b.Most)
		}
		next.ServeHTTP(w, r)
	})
}

// deadlineBody moves the read deadline of its connection with every read.
type deadlineBody struct {
	bounds  Bodies
	body    io.ReadCloser
	control *http.ResponseController
	begin   time.Time
	read    int64
	patient bool // a stream, which has no deadline
	failed  bool // a read timed out
	done    bool // the server controls the deadline again
}

// Read fails with os.ErrDeadlineExceeded for a body that is too slow.
func (b *deadlineBody) Read(p []byte) (int, error) {
	if b.done || b.patient {
		return b.body.Read(p)
	}
	deadline := time.Now().Add(b.bounds.Silence)
	byRate := b.begin.Add(b.bounds.Grace + time.Duration(float64(b.read)/float64(b.bounds.Rate)*float64(time.Second)))
	if byRate.Before(deadline) {
		deadline = byRate
	}
	if err := b.control.SetReadDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, fmt.Errorf("read deadline: %w", err)
	}
	n, err := b.body.Read(p)
	b.read += int64(n)
	if err == io.EOF {
		b.free()
	} else if err != nil {
		b.failed = true
	}
	return n, err
}

// Close implements io.Closer.
func (b *deadlineBody) Close() error { return b.body.Close() }

// free removes the deadline, because the response may take longer and the server
// watches the connection in the meantime.
func (b *deadlineBody) free() {
	b.done = true
	_ = b.control.SetReadDeadline(time.Time{}) // an in-memory request of a test has none
}

// maxDrop limits the time that the server spends discarding the unread rest of a body.
const maxDrop = 2 * time.Second

// finish runs after the response is written. The server discards the unread rest of
// the body, except after a timeout.
func (b *deadlineBody) finish() {
	switch {
	case b.failed:
		_ = b.control.SetReadDeadline(time.Now())
	case !b.done:
		_ = b.control.SetReadDeadline(time.Now().Add(maxDrop))
	}
}

// bodyStatus returns the status for an error about the size or rate of a body, and 0
// for other errors.
func bodyStatus(err error) int {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return http.StatusRequestEntityTooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return http.StatusRequestTimeout
	}
	return 0
}

// bodyMessage is the message for an error of bodyStatus.
func bodyMessage(err error) string {
	if e, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		if own, ok := errors.AsType[*apperr.Error](err); ok && strings.Contains(own.Message, "larger") {
			return own.Message
		}
		return "The request is larger than " + units.Bytes(e.Limit) + ", the limit of this endpoint."
	}
	return "The request body arrived too slowly. Send it again."
}
