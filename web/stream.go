package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/apperr"
)

// KeepAlive is the interval of pings on a silent stream, so that proxies and browsers
// keep the connection open.
const KeepAlive = 15 * time.Second

// sendLimit is how long a client may take to accept one event. Without a limit, a client that keeps its
// connection and stops reading would hold its stream forever.
const sendLimit = time.Minute

// Stream writes server-sent events (WHATWG HTML, section 9.2). One goroutine may
// use it at a time.
type Stream struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	last string

	limit time.Duration // of one write
	ended func() error  // not nil once the request has ended
}

// NewStream starts a response of events. The context of r ends once the credential of the
// request is revoked or may returns an error. The guard calls may at intervals, in another
// goroutine, with the current subject. NewStream returns apperr.Unavailable when the
// connection cannot be flushed.
func NewStream(w http.ResponseWriter, r *http.Request, may func(context.Context) error) (*Stream, error) {
	rc := http.NewResponseController(w)
	if err := rc.SetWriteDeadline(time.Time{}); err != nil {
		return nil, apperr.Wrap(apperr.Unavailable, err, "This connection does not support streaming.")
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	watchOver(w, r, may)
	return &Stream{w: w, rc: rc, last: LastEventID(r), limit: sendLimit, ended: r.Context().Err}, rc.Flush()
}

// LastEventID returns the id of the last event that the client of r received, or "".
// A client that cannot set the header, such as a link, may use a query parameter.
func LastEventID(r *http.Request) string {
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		return last
	}
	return r.URL.Query().Get("last-event-id")
}

// LastEventID returns the id of the last event that the client received, or "".
func (s *Stream) LastEventID() string { return s.last }

// Send writes one event and flushes it. An empty event name is a plain message;
// an empty id leaves the client's last id unchanged.
func (s *Stream) Send(event, id string, data []byte) error {
	var b bytes.Buffer
	if strings.ContainsAny(event+id, "\r\n\x00") {
		return fmt.Errorf("event %q with id %q has a line break", event, id)
	}
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	if event != "" {
		fmt.Fprintf(&b, "event: %s\n", event)
	}
	data = bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		b.WriteString("data: ")
		b.Write(line)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return s.write(b.Bytes())
}

// SendComponent renders component and sends it as one event.
func (s *Stream) SendComponent(ctx context.Context, event, id string, component templ.Component) error {
	var b bytes.Buffer
	if err := component.Render(ctx, &b); err != nil {
		return fmt.Errorf("render event: %w", err)
	}
	return s.Send(event, id, b.Bytes())
}

// Ping writes a comment, which clients ignore.
func (s *Stream) Ping() error { return s.write([]byte(":\n\n")) }

func (s *Stream) write(b []byte) error {
	if err := s.rc.SetWriteDeadline(time.Now().Add(s.limit)); err != nil {
		return fmt.Errorf("limit event: %w", err)
	}
	defer func() { _ = s.rc.SetWriteDeadline(time.Time{}) }() // HTTP/2 would end a silent stream
	if err := s.ended(); err != nil {                         // checked after the deadline is set, because the guard sets its own
		return fmt.Errorf("write event: %w", err)
	}
	if _, err := s.w.Write(b); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if err := s.rc.Flush(); err != nil {
		return fmt.Errorf("flush event: %w", err)
	}
	return nil
}
