package page

import (
	"context"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/views"
)

func bellOf(b inbox.Bell) views.Bell {
	out := views.Bell{Unread: b.Unread}
	if b.Newest != uuid.Nil {
		out.Newest = b.Newest.String()
	}
	return out
}

// Bell returns the reader's inbox for the top bar. It has the title of the newest unread item unless that
// is known.
func (h *Shell) Bell(ctx context.Context, known uuid.UUID) (views.Bell, error) {
	if h.Inbox == nil {
		return views.Bell{}, nil
	}
	bell, err := h.Inbox.Bell(ctx)
	if err != nil {
		return views.Bell{}, err
	}
	return h.withTitle(ctx, bell, known), nil
}

// withTitle adds the title of the newest item unless that is known.
func (h *Shell) withTitle(ctx context.Context, bell inbox.Bell, known uuid.UUID) views.Bell {
	out := bellOf(bell)
	if bell.Newest == uuid.Nil || bell.Newest == known {
		return out
	}
	if item, err := h.Inbox.Get(ctx, bell.Newest); err == nil { // it can be gone by now
		out.Title, out.URL = item.Message.Title, item.Path
	}
	return out
}

// bellKey is what the numbers of an inbox depend on: a person, and the projects that the
// credential may read.
type bellKey struct {
	person     uuid.UUID
	credential string
}

// sharedBell is Bell for streams, of which one person can have many.
func (h *Shell) sharedBell(ctx context.Context, known uuid.UUID) (views.Bell, error) {
	subject, ok := auth.SubjectOf(ctx)
	if h.Inbox == nil || !ok {
		return views.Bell{}, nil
	}
	bell, err := h.bells.Get(ctx, bellKey{subject.ID, subject.Credential}, h.Inbox.Bell)
	if err != nil {
		return views.Bell{}, err
	}
	return h.withTitle(ctx, bell, known), nil
}

// bellWatch sends the bell when it changes.
type bellWatch struct {
	shell  *Shell
	known  bool
	newest uuid.UUID
	unread int
}

// update returns the bell and whether it changed since the last call. The first call returns true, because
// something can have arrived since the page was drawn.
func (b *bellWatch) update(ctx context.Context) (views.Bell, bool, error) {
	bell, err := b.shell.sharedBell(ctx, b.newest)
	if err != nil {
		return views.Bell{}, false, err
	}
	newest, err := uuid.Parse(bell.Newest)
	if err != nil {
		newest = uuid.Nil
	}
	changed := !b.known || b.newest != newest || b.unread != bell.Unread
	b.known, b.newest, b.unread = true, newest, bell.Unread
	return bell, changed, nil
}
