package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Log reads the audit log. It is safe for concurrent use.
type Log struct {
	pool  *pgxpool.Pool
	reads db.DBTX
}

// NewLog returns the log in the database behind pool.
func NewLog(pool *pgxpool.Pool) *Log { return &Log{pool, pool} }

// ReadingFrom returns the log with the entries that reads finds, for example on a replica.
func (l *Log) ReadingFrom(reads db.DBTX) *Log { return &Log{l.pool, reads} }

// Change is an entry of the log.
type Change struct {
	ID         uuid.UUID
	At         time.Time
	TenantID   uuid.UUID // uuid.Nil for changes of the installation
	ProjectID  uuid.UUID
	ActorID    uuid.UUID
	ActorKind  string // a role of package auth, or "anonymous"
	Actor      string
	Credential string
	Address    string
	RequestID  string
	Action     string
	Kind       string
	ObjectID   string
	ObjectName string
	Old, New   json.RawMessage // nil for no value
	Reason     string
}

// Filter narrows the log. Zero values do not filter.
type Filter struct {
	Actor    string // id of a user, or part of the name
	Action   string // "quota.update", or "quota" for all of that noun
	Kind     string // of the object
	Object   string // its id, or part of its name
	TenantID uuid.UUID
	Project  uuid.UUID
	From, To time.Time
	After    string // the Next of the previous page
	Limit    int
}

// Page is one page of the log, newest first. Next is "" on the last one.
type Page struct {
	Changes []Change
	Next    string
}

const (
	defaultPageSize = 50
	maxPageSize     = 500
)

// scope is what a reader may read of the log.
type scope struct {
	everything bool
	tenants    []uuid.UUID
	nodes      []uuid.UUID // below tenants that are only partly readable
}

// authorize returns the scope that the caller may read. It returns apperr.Forbidden
// when that is empty.
func (l *Log) authorize(ctx context.Context) (scope, error) {
	subject, ok := auth.SubjectOf(ctx)
	if !ok {
		return scope{}, apperr.New(apperr.Unauthenticated, "Sign in to continue.")
	}
	if subject.May(auth.AuditRead, auth.Installation) {
		return scope{everything: true}, nil
	}
	rows, err := db.New(l.pool).AuditPlaces(ctx)
	if err != nil {
		return scope{}, fmt.Errorf("nodes of the audit log: %w", err)
	}
	s := scope{tenants: []uuid.UUID{}, nodes: []uuid.UUID{}}
	whole := map[uuid.UUID]bool{}
	for _, row := range rows {
		switch {
		case row.TenantID != nil && whole[*row.TenantID], !subject.May(auth.AuditRead, row.ID):
		case row.Kind == "tenant":
			whole[row.ID] = true
			s.tenants = append(s.tenants, row.ID)
		default:
			s.nodes = append(s.nodes, row.ID)
		}
	}
	if len(s.tenants)+len(s.nodes) == 0 {
		return scope{}, apperr.New(apperr.Forbidden, "Only tenant administrators can read the audit log.")
	}
	return s, nil
}

// List returns a page of the entries that the caller may read: whole tenants where they
// have AuditRead, and everything for administrators of the installation.
func (l *Log) List(ctx context.Context, f Filter) (Page, error) {
	s, err := l.authorize(ctx)
	if err != nil {
		return Page{}, err
	}
	params, err := query(s, f)
	if err != nil {
		return Page{}, err
	}
	limit := f.Limit
	if limit <= 0 {
		limit = defaultPageSize
	}
	limit = min(limit, maxPageSize)
	params.RowLimit = int32(limit + 1)
	rows, err := db.New(l.reads).ListAuditEntries(ctx, params)
	if err != nil {
		return Page{}, fmt.Errorf("list the audit log: %w", err)
	}
	var page Page
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = rows[limit-1].ID.String()
	}
	for _, row := range rows {
		page.Changes = append(page.Changes, fromRow(row))
	}
	return page, nil
}

// Each passes every entry that matches f to yield, newest first, reading a page of the
// database at a time, until yield fails. It authorizes like List.
func (l *Log) Each(ctx context.Context, f Filter, yield func(Change) error) error {
	f.Limit = maxPageSize
	for {
		page, err := l.List(ctx, f)
		if err != nil {
			return err
		}
		for _, c := range page.Changes {
			if err := yield(c); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		f.After = page.Next
	}
}

// Actions returns the actions among the newest entries, to filter by.
func (l *Log) Actions(ctx context.Context) ([]string, error) {
	if _, err := l.authorize(ctx); err != nil {
		return nil, err
	}
	actions, err := db.New(l.reads).AuditActions(ctx)
	if err != nil {
		return nil, fmt.Errorf("actions of the audit log: %w", err)
	}
	return actions, nil
}

func query(s scope, f Filter) (db.ListAuditEntriesParams, error) {
	p := db.ListAuditEntriesParams{
		Everything: s.everything, Tenants: s.tenants, Nodes: s.nodes, NodeTexts: texts(s.nodes),
		Before: uuid.Max, Since: uuid.Nil, Until: uuid.Max,
		Action: f.Action, ObjectKind: f.Kind, Object: f.Object, ObjectLike: like(f.Object),
		Tenant: optional(f.TenantID), Project: optional(f.Project),
	}
	if id, err := uuid.Parse(f.Actor); err == nil {
		p.ActorID = &id
	} else {
		p.Actor = like(f.Actor)
	}
	if !f.From.IsZero() {
		p.Since = floor(f.From)
	}
	if !f.To.IsZero() {
		p.Until = floor(f.To)
	}
	if f.After != "" {
		id, err := uuid.Parse(f.After)
		if err != nil {
			return p, apperr.InvalidFields("The page token is not valid.", []apperr.Field{{Path: "page", Message: "Use next_page from the previous response."}})
		}
		p.Before = id
	}
	return p, nil
}

// floor returns the smallest UUIDv7 of a millisecond.
func floor(t time.Time) uuid.UUID {
	var id uuid.UUID
	ms := max(t.UnixMilli(), 0)
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i))) //nolint:gosec // one byte of six
	}
	return id
}

// like returns a pattern that matches text anywhere, ignoring case; "" matches all.
func like(text string) string {
	if text = strings.TrimSpace(strings.ReplaceAll(text, "\x00", "")); text == "" {
		return ""
	}
	return "%" + db.EscapeLike(strings.ToLower(text)) + "%"
}

func texts(ids []uuid.UUID) []string {
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		out = append(out, id.String())
	}
	return out
}

func fromRow(row db.AuditLog) Change {
	c := Change{
		ID: row.ID, At: row.At.UTC(), ActorKind: row.ActorKind, Actor: row.Actor, Credential: row.Credential, Address: row.Address, RequestID: row.RequestID,
		Action: row.Action, Kind: row.ObjectKind, ObjectID: row.ObjectID, ObjectName: row.ObjectName, Old: row.OldValue, New: row.NewValue, Reason: row.Reason,
	}
	for to, from := range map[*uuid.UUID]*uuid.UUID{&c.TenantID: row.TenantID, &c.ProjectID: row.ProjectID, &c.ActorID: row.ActorID} {
		if from != nil {
			*to = *from
		}
	}
	return c
}
