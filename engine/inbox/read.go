package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/notify"
)

// Item is one notification of a person.
type Item struct {
	ID          uuid.UUID
	Event       notify.Event
	Subject     string // the workflow or the model
	ProjectID   uuid.UUID
	Project     string
	ExecutionID *uuid.UUID
	Message     message.Message
	Path        string // of the page to open, on this site
	At          time.Time
	ReadAt      *time.Time // nil: unread
	Resolution  string     // outcome of an item that waited for an answer; "": it is still waiting
}

// Read reports whether the person has read the item.
func (i Item) Read() bool { return i.ReadAt != nil }

// Filter selects items.
type Filter struct {
	Unread      bool  // only unread ones
	Group       Group // "": all events
	UnreadFirst bool
	Before      *uuid.UUID // the Next of the page before
	BeforeRead  bool       // the NextRead of the page before
	Limit       int
}

// Page is a page of items, newest first. Next is nil on the last page.
type Page struct {
	Items    []Item
	Next     *uuid.UUID
	NextRead bool // the item Next is read
	Unread   int  // of all items of the person
}

// MaxPage is the maximum number of items of a page.
const MaxPage = 200

// List returns items of the caller, of projects whose executions they may read.
func (s *Service) List(ctx context.Context, f Filter) (Page, error) {
	subject, err := person(ctx)
	if err != nil {
		return Page{}, err
	}
	projects, err := s.readable(ctx, subject)
	if err != nil {
		return Page{}, err
	}
	f.Limit = min(max(f.Limit, 1), MaxPage)
	p := db.ListInboxParams{
		UserID: subject.ID, Projects: projects, Unread: f.Unread, Events: []string{}, UnreadFirst: f.UnreadFirst, Before: f.Before, BeforeRead: f.BeforeRead, RowLimit: int32(f.Limit + 1), //nolint:gosec // at most MaxPage
	}
	if f.Group != "" {
		p.Events = eventsOf(f.Group)
	}
	rows, err := s.queries.ListInbox(ctx, p)
	if err != nil {
		return Page{}, fmt.Errorf("list items: %w", err)
	}
	page := Page{Items: []Item{}}
	if len(rows) > f.Limit {
		rows = rows[:f.Limit]
		last := rows[f.Limit-1]
		page.Next, page.NextRead = &last.ID, last.ReadAt != nil
	}
	for _, row := range rows {
		item, err := itemOf(db.GetInboxItemRow(row))
		if err != nil {
			return Page{}, err
		}
		page.Items = append(page.Items, item)
	}
	bell, err := s.Bell(ctx)
	page.Unread = bell.Unread
	return page, err
}

// readable returns the projects with items of the caller whose executions they may read now.
func (s *Service) readable(ctx context.Context, subject auth.Subject) ([]uuid.UUID, error) {
	all, err := s.queries.InboxProjects(ctx, subject.ID)
	if err != nil {
		return nil, fmt.Errorf("find projects with items: %w", err)
	}
	mine := []uuid.UUID{}
	for _, id := range all {
		if subject.May(auth.ExecutionRead, id) {
			mine = append(mine, id)
		}
	}
	return mine, nil
}

// Bell is what pages show of the caller's inbox.
type Bell struct {
	Unread int
	Newest uuid.UUID // of the unread items; uuid.Nil without any
}

// Bell counts the unread items of the caller.
func (s *Service) Bell(ctx context.Context) (Bell, error) {
	subject, err := person(ctx)
	if err != nil {
		return Bell{}, err
	}
	rows, err := s.queries.CountUnreadInbox(ctx, subject.ID)
	if err != nil {
		return Bell{}, fmt.Errorf("count unread items: %w", err)
	}
	var b Bell
	for _, row := range rows {
		if !subject.May(auth.ExecutionRead, row.ProjectID) {
			continue
		}
		b.Unread += int(row.N)
		if newest, err := uuid.Parse(row.Newest); err == nil && newest.String() > b.Newest.String() {
			b.Newest = newest
		}
	}
	return b, nil
}

// Get returns an item of the caller, or apperr.NotFound.
func (s *Service) Get(ctx context.Context, id uuid.UUID) (Item, error) {
	subject, err := person(ctx)
	if err != nil {
		return Item{}, err
	}
	row, err := s.queries.GetInboxItem(ctx, id, subject.ID)
	if db.IsNoRows(err) || err == nil && !subject.May(auth.ExecutionRead, row.ProjectID) {
		return Item{}, absent(id)
	}
	if err != nil {
		return Item{}, fmt.Errorf("get item %s: %w", id, err)
	}
	return itemOf(row)
}

// Mark makes an item of the caller read or unread. It returns apperr.NotFound for one that they do not see.
func (s *Service) Mark(ctx context.Context, id uuid.UUID, read bool) (Item, error) {
	if _, err := editor(ctx); err != nil {
		return Item{}, err
	}
	if _, err := s.Get(ctx, id); err != nil {
		return Item{}, err
	}
	if err := s.queries.MarkInboxItem(ctx, read, s.now(), id); err != nil {
		return Item{}, fmt.Errorf("mark item %s: %w", id, err)
	}
	return s.Get(ctx, id)
}

// MarkAll makes the caller's unread items read: those up to the item with an ID, or all for nil. It returns
// how many.
func (s *Service) MarkAll(ctx context.Context, upTo *uuid.UUID) (int, error) {
	subject, err := editor(ctx)
	if err != nil {
		return 0, err
	}
	projects, err := s.readable(ctx, subject)
	if err != nil {
		return 0, err
	}
	last := uuid.Max
	if upTo != nil {
		last = *upTo
	}
	n, err := s.queries.MarkInboxRead(ctx, s.now(), subject.ID, projects, last)
	if err != nil {
		return 0, fmt.Errorf("mark items of user %s: %w", subject.ID, err)
	}
	return int(n), nil
}

func itemOf(row db.GetInboxItemRow) (Item, error) {
	i := Item{
		ID: row.ID, Event: notify.Event(row.Event), Subject: row.Subject, ProjectID: row.ProjectID, Project: row.ProjectName, ExecutionID: row.ExecutionID,
		At: row.At, ReadAt: row.ReadAt, Resolution: row.Resolution,
	}
	if err := json.Unmarshal(row.Message, &i.Message); err != nil {
		return i, fmt.Errorf("message of item %s: %w", row.ID, err)
	}
	// The public address can have changed since.
	address, err := url.Parse(i.Message.URL)
	if err != nil {
		return i, fmt.Errorf("address of item %s: %w", row.ID, err)
	}
	i.Path = address.RequestURI()
	return i, nil
}
