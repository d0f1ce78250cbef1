// Package view stores tables of executions under a name: a query with its columns, order and
// groups. A view belongs to a user, who can share it with the project.
package view

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/db"
)

// Sharing is who may use a view.
type Sharing string

// Who may use a view.
const (
	Private Sharing = "private"
	Project Sharing = "project"
)

// Limits of views.
const (
	MaxName      = 80  // characters
	MaxPerPerson = 100 // in a project
)

// Table is what a view shows.
type Table struct {
	Where   string
	Sort    string
	Columns []string
	Group   string
}

// Equal reports whether both show the same.
func (t Table) Equal(other Table) bool {
	return t.Where == other.Where && t.Sort == other.Sort && t.Group == other.Group && strings.Join(t.Columns, ",") == strings.Join(other.Columns, ",")
}

// View is a table with a name.
type View struct {
	ID        uuid.UUID
	ProjectID uuid.UUID
	Name      string
	Sharing   Sharing
	Default   bool // opens instead of the list of all executions of the project
	Table     Table
	OwnerID   uuid.UUID
	OwnerName string
	CreatedAt time.Time
	UpdatedAt time.Time
	UpdatedBy string

	Mine       bool // the caller saved it
	MayChange  bool
	MayDefault bool
}

// Service stores views. It is safe for concurrent use.
type Service struct {
	pool    *pgxpool.Pool
	queries *db.Queries
	index   *index.Service // checks queries
	now     func() time.Time
}

// NewService returns a Service over pool.
func NewService(pool *pgxpool.Pool, index *index.Service, now func() time.Time) *Service {
	return &Service{pool: pool, queries: db.New(pool), index: index, now: now}
}

// List returns the views of the caller's project that the caller may use, by name.
func (s *Service) List(ctx context.Context) ([]View, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.ListViews(ctx, subject.ProjectID, subject.ID)
	if err != nil {
		return nil, fmt.Errorf("list views of project %s: %w", subject.ProjectID, err)
	}
	list := make([]View, len(rows))
	for i, row := range rows {
		list[i] = fromRow(row, subject)
	}
	return list, nil
}

// Get returns the view that name, a name or an ID, identifies, or NotFound. The caller's own view
// comes before one of the project with the same name.
func (s *Service) Get(ctx context.Context, name string) (View, error) {
	list, err := s.List(ctx) // authorizes
	if err != nil {
		return View{}, err
	}
	v, found := Choose(list, name)
	if !found {
		return View{}, absent(name)
	}
	return v, nil
}

// Choose returns the view of a list that a name or an ID identifies.
func Choose(list []View, name string) (View, bool) {
	id, _ := uuid.Parse(name)
	var found View
	for _, v := range list {
		switch {
		case v.ID == id:
			return v, true
		case strings.EqualFold(v.Name, strings.TrimSpace(name)) && (found.ID == uuid.Nil || v.Sharing == Private):
			found = v
		}
	}
	return found, found.ID != uuid.Nil
}

// Default returns the ID of the default view of the caller's project; uuid.Nil without one.
func (s *Service) Default(ctx context.Context) (uuid.UUID, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return uuid.Nil, err
	}
	id, err := s.queries.DefaultView(ctx, subject.ProjectID)
	if db.IsNoRows(err) {
		return uuid.Nil, nil
	}
	if err != nil {
		return uuid.Nil, fmt.Errorf("default view of project %s: %w", subject.ProjectID, err)
	}
	return id, nil
}

func absent(name string) error {
	if letters := []rune(name); len(letters) > MaxName {
		name = string(letters[:MaxName]) + "…"
	}
	return apperr.New(apperr.NotFound, "There is no view %q that you can use.", name)
}

func fromRow(row db.ExecutionView, subject auth.Subject) View {
	return View{
		ID: row.ID, ProjectID: row.ProjectID, Name: row.Name, Sharing: Sharing(row.Sharing), Default: row.IsDefault,
		Table:   Table{Where: row.Query, Sort: row.Sort, Columns: row.Columns, Group: row.GroupBy},
		OwnerID: row.OwnerID, OwnerName: row.OwnerName, CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), UpdatedBy: row.UpdatedBy,
		Mine: row.OwnerID == subject.ID, MayChange: mayChange(subject, row),
		MayDefault: row.Sharing == string(Project) && subject.May(auth.WorkflowWrite, row.ProjectID),
	}
}

// mayChange reports whether subject may change a view: its owner, and for shared ones those who
// administer the team.
func mayChange(subject auth.Subject, row db.ExecutionView) bool {
	if subject.ID == row.OwnerID {
		return subject.May(auth.ExecutionLaunch, row.ProjectID)
	}
	return row.Sharing != string(Private) && subject.May(auth.WorkflowArchive, row.ProjectID)
}

// Scope returns the tenant and the project of a view that the caller may read, or NotFound.
func (s *Service) Scope(ctx context.Context, id uuid.UUID) (tenant, project uuid.UUID, err error) {
	place, err := s.queries.ViewPlace(ctx, id)
	if db.IsNoRows(err) || err == nil && place.TenantID == nil {
		return uuid.Nil, uuid.Nil, absent(id.String())
	}
	if err != nil {
		return uuid.Nil, uuid.Nil, fmt.Errorf("project of view %s: %w", id, err)
	}
	if _, err := auth.AuthorizeIn(ctx, auth.ExecutionRead, place.ProjectID, absent(id.String())); err != nil {
		return uuid.Nil, uuid.Nil, err
	}
	return *place.TenantID, place.ProjectID, nil
}
