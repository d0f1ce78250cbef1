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

// KeepAlive is how often a silent stream says that it lives, so that proxies and
// browsers keep the connection.
const KeepAlive = 15 * time.Second

// Stream writes server-sent events (WHATWG HTML, section 9.2). One goroutine may
// use it at a time.
type Stream struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	last string
}

// NewStream begins an answer of events. The context of r ends once its caller has lost
// the credential of the request, or once may returns an error; may runs at intervals,
// in another goroutine, with the caller as it is then. It fails with apperr.Unavailable
// when the connection cannot be flushed.
func NewStream(w http.ResponseWriter, r *http.Request, may func(context.Context) error) (*Stream, error) {
	rc := http.NewResponseController(w)
	if err := rc.SetWriteDeadline(time.Time{}); err != nil {
		return nil, apperr.Wrap(apperr.Unavailable, err, "This connection cannot be streamed to.")
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	watchOver(w, r, may)
	return &Stream{w: w, rc: rc, last: LastEventID(r)}, rc.Flush()
}

// LastEventID returns the id of the last event that the sender of r has seen, or
// "". A reader without the header, such as a link, may ask with a parameter.
func LastEventID(r *http.Request) string {
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		return last
	}
	return r.URL.Query().Get("last-event-id")
}

// LastEventID returns the id of the last event that the reader has seen, or "".
func (s *Stream) LastEventID() string { return s.last }

// Send writes one event and flushes it. An empty event name is a plain message;
// an empty id leaves the reader's last id as it is.
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

// Ping writes a comment that readers ignore.
func (s *Stream) Ping() error { return s.write([]byte(":\n\n")) }

func (s *Stream) write(b []byte) error {
	if _, err := s.w.Write(b); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if err := s.rc.Flush(); err != nil {
		return fmt.Errorf("flush event: %w", err)
	}
	return nil
}
