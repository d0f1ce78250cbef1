package feed

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/platform/units"
)

// Latest is the cursor after the newest event.
const Latest = "latest"

// Filter selects events. Zero values do not filter.
type Filter struct {
	After       string   // Next of the page before; "": the oldest event that is kept; or Latest
	Topics      []string // any of them
	Types       []string // any of them; * stands for any text: execution.*
	ExecutionID *uuid.UUID
	AllProjects bool // of all projects that the caller may read, and above them
	Limit       int
}

// Page is a page of events in their order. Next is the cursor after it, even if it is empty.
// More means that the next page is already available.
type Page struct {
	Events []Event
	Next   string
	More   bool
}

// scope is what a reader may read.
type scope struct {
	everything                 bool // above the projects
	projects, audited, tenants []uuid.UUID
}

// authorize returns what the caller may read: the events of the current project, or those of all
// projects. Changes in the audit log need AuditRead, as do events above the projects.
func (s *Service) authorize(ctx context.Context, all bool) (scope, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return scope{}, err
	}
	out := scope{projects: []uuid.UUID{}, audited: []uuid.UUID{}, tenants: []uuid.UUID{}}
	add := func(project uuid.UUID) {
		if subject.May(auth.ExecutionRead, project) {
			out.projects = append(out.projects, project)
		}
		if subject.May(auth.AuditRead, project) {
			out.audited = append(out.audited, project)
		}
	}
	if !all {
		add(subject.ProjectID)
		return out, nil
	}
	out.everything = subject.May(auth.AuditRead, auth.Installation)
	nodes, err := s.queries.AuditPlaces(ctx)
	if err != nil {
		return out, fmt.Errorf("find projects: %w", err)
	}
	for _, n := range nodes {
		switch {
		case n.Kind == "project":
			add(n.ID)
		case n.Kind == "tenant" && subject.May(auth.AuditRead, n.ID):
			out.tenants = append(out.tenants, n.ID)
		}
	}
	return out, nil
}

var typeForm = regexp.MustCompile(`^[a-z0-9_.*-]{1,100}$`)

// IsType reports whether text is a type of events, or a pattern of types with *.
func IsType(text string) bool { return typeForm.MatchString(text) }

// check returns Invalid with the fields at fault.
func (f *Filter) check() error {
	var fields []apperr.Field
	for _, t := range f.Topics {
		if !slices.Contains(Topics(), t) {
			fields = append(fields, apperr.Field{Path: "topic", Message: fmt.Sprintf("%q is not a topic. The topics are %s.", t, strings.Join(Topics(), ", "))})
		}
	}
	for _, t := range f.Types {
		if !IsType(t) {
			fields = append(fields, apperr.Field{Path: "type", Message: fmt.Sprintf("%q is not a type of events or a pattern such as execution.*", t)})
		}
	}
	return apperr.InvalidFields("The filter is invalid.", fields)
}

// position returns the position of a cursor. Errors: Invalid, and Gone for one before the events that are
// kept.
func (s *Service) position(cursor string, state db.FeedStateRow) (int64, error) {
	switch cursor {
	case "":
		return state.Removed, nil
	case Latest:
		return state.Position, nil
	}
	n, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || n < 0 || n > state.Position {
		return 0, apperr.InvalidFields("The cursor is not valid.", []apperr.Field{{Path: "after", Message: "Use next from a response of this server, or latest."}})
	}
	if n < state.Removed {
		return 0, apperr.New(apperr.Gone, "Events after this cursor have been removed, because the feed keeps events for %s. "+
			"Omit the cursor to start with the oldest event that is kept.", units.Period(s.config.Keep))
	}
	return n, nil
}

// List returns the events after a cursor that the caller may read. Errors: Invalid, and Gone for a cursor
// before the events that are kept.
func (s *Service) List(ctx context.Context, f Filter) (Page, error) {
	may, err := s.authorize(ctx, f.AllProjects)
	if err != nil {
		return Page{}, err
	}
	if err := f.check(); err != nil {
		return Page{}, err
	}
	reads := s.reads
	state, err := reads.FeedState(ctx)
	if err != nil {
		return Page{}, fmt.Errorf("state of the feed: %w", err)
	}
	if n, failed := strconv.ParseInt(f.After, 10, 64); failed == nil && n > state.Position || f.After == Latest {
		reads = s.queries // a replica may not have the events up to this cursor
		if state, err = reads.FeedState(ctx); err != nil {
			return Page{}, fmt.Errorf("state of the feed: %w", err)
		}
	}
	after, err := s.position(f.After, state)
	if err != nil {
		return Page{}, err
	}
	limit := min(max(f.Limit, 1), MaxPage)
	until := min(state.Position, after+scanned)
	rows, err := reads.ReadFeed(ctx, db.ReadFeedParams{
		After: after, Until: until, Projects: may.projects, Audited: may.audited, Everything: may.everything, Tenants: may.tenants,
		Topics: orEmpty(f.Topics), Types: likes(f.Types), ExecutionID: f.ExecutionID, RowLimit: int32(limit),
	})
	if err != nil {
		return Page{}, fmt.Errorf("read the feed: %w", err)
	}
	page := Page{Events: make([]Event, 0, len(rows))}
	for _, row := range rows {
		page.Events = append(page.Events, eventOf(row))
	}
	if len(rows) == limit {
		until = rows[limit-1].Position
	}
	page.Next, page.More = strconv.FormatInt(until, 10), until < state.Position
	return page, nil
}

// Newest returns the cursor after the newest event. A follower compares it with the former one before it
// reads. It needs no permission: the cursor says nothing about events.
func (s *Service) Newest(ctx context.Context) (string, error) {
	state, err := s.queries.FeedState(ctx)
	if err != nil {
		return "", fmt.Errorf("state of the feed: %w", err)
	}
	return strconv.FormatInt(state.Position, 10), nil
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// likes are patterns of LIKE.
func likes(types []string) []string {
	out := make([]string, 0, len(types))
	for _, t := range types {
		out = append(out, strings.ReplaceAll(db.EscapeLike(t), "*", "%"))
	}
	return out
}

func eventOf(row db.EventFeed) Event {
	return Event{
		Cursor: strconv.FormatInt(row.Position, 10), ID: row.ID, Topic: row.Topic, Type: row.Type, At: row.At.UTC(), TenantID: row.TenantID,
		ProjectID: row.ProjectID, ExecutionID: row.ExecutionID, Subject: row.Subject, Data: row.Data,
	}
}
