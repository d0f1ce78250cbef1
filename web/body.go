package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
)

// Bodies bounds the bodies of requests.
type Bodies struct {
	Most    int64         // bytes, for routes that set no bound of their own
	Silence time.Duration // how long a body may stay silent
	Grace   time.Duration // before the rate counts
	Rate    int64         // bytes a second that a body brings at least, over all its time
}

// DefaultBodies are the bounds of a server.
func DefaultBodies() Bodies {
	return Bodies{Most: 10 << 20, Silence: 20 * time.Second, Grace: 30 * time.Second, Rate: 8 << 10}
}

// Middleware ends bodies that come too slowly, wherever they are read: each read
// moves the deadline, so that a large upload takes the time that it needs and a
// trickle does not hold a connection. Long messages of gRPC and Connect streams
// are exempt: they speak when there is something to say, with a token.
func (b Bodies) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody || isStream(r) {
			next.ServeHTTP(w, r)
			return
		}
		body := &deadlineBody{bounds: b, body: r.Body, control: http.NewResponseController(w), begin: time.Now()}
		r.Body = body
		next.ServeHTTP(w, r)
		body.finish()
	})
}

// Bound keeps bodies at Most bytes, for routes without a larger bound of their own.
func (b Bodies) Bound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody && !isStream(r) {
			r.Body = http.MaxBytesReader(w, r.Body, b.Most)
		}
		next.ServeHTTP(w, r)
	})
}

func isStream(r *http.Request) bool {
	media := r.Header.Get("Content-Type")
	return strings.HasPrefix(media, "application/grpc") || strings.HasPrefix(media, "application/connect+")
}

// deadlineBody moves the read deadline of its connection with every read.
type deadlineBody struct {
	bounds  Bodies
	body    io.ReadCloser
	control *http.ResponseController
	begin   time.Time
	read    int64
	failed  bool // nothing more is waited for
	done    bool // the connection's deadline is the server's again
}

// Read fails with os.ErrDeadlineExceeded for a body that is too slow.
func (b *deadlineBody) Read(p []byte) (int, error) {
	if b.done {
		return b.body.Read(p)
	}
	deadline := time.Now().Add(b.bounds.Silence)
	earned := b.begin.Add(b.bounds.Grace + time.Duration(float64(b.read)/float64(b.bounds.Rate)*float64(time.Second)))
	if earned.Before(deadline) {
		deadline = earned
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

// free takes the deadline off: the answer may take longer, and the server watches
// the connection meanwhile.
func (b *deadlineBody) free() {
	b.done = true
	_ = b.control.SetReadDeadline(time.Time{}) // an in-memory request of a test has none
}

// maxDrop is how long the server may take to drop what a handler left of a body.
const maxDrop = 2 * time.Second

// finish is called when the answer is written: what the handler left of the body is
// the server's to drop, and of one that was given up nothing is waited for.
func (b *deadlineBody) finish() {
	switch {
	case b.failed:
		_ = b.control.SetReadDeadline(time.Now())
	case !b.done:
		_ = b.control.SetReadDeadline(time.Now().Add(maxDrop))
	}
}

// bodyStatus returns the status of an error that is about the size or the pace of
// a body, 0 for others.
func bodyStatus(err error) int {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return http.StatusRequestEntityTooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return http.StatusRequestTimeout
	}
	return 0
}

// bodyMessage is the sentence for an error of bodyStatus.
func bodyMessage(err error) string {
	if e, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		if own, ok := errors.AsType[*apperr.Error](err); ok && strings.Contains(own.Message, "larger") {
			return own.Message
		}
		return "The request is larger than " + size(e.Limit) + ", which is the most that is taken here."
	}
	return "The body of the request came too slowly. Send it again."
}

// size writes a limit for people.
func size(bytes int64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%d GiB", bytes>>30)
	case bytes >= 1<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 1<<10:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
