package workflow

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
)

const (
	defaultPageSize = 50
	maxPageSize     = 500
)

// cursorMark is the prefix of a cursor, which is the name of the last workflow of a
// page.
const cursorMark = "~"

// Filter narrows a list. Zero values do not filter. After is the Next of the previous
// page; Limit is at most 500, 50 when it is 0.
type Filter struct {
	Query  string // part of name, description, team or tag
	Tag    string
	Team   string
	Status Status
	// Development includes workflows that have only development versions.
	Development bool

	After  string
	Number int // of the page, from 1; 0 uses After
	Limit  int
}

// Page is one page of a list by name. Next is "" on the last one.
type Page[T any] struct {
	Items []T
	Next  string
	Total int // of all pages
	// InDevelopment is the number of workflows of all pages that have only development
	// versions, whether the page includes them or not.
	InDevelopment int
}

// Summary is a workflow in lists, with the fields of its latest version.
type Summary struct {
	ID          uuid.UUID
	Name        string
	OwnerTeam   string
	Description string
	Tags        []string
	Status      Status
	Latest      string
	LatestID    uuid.UUID // of Latest, or uuid.Nil
	Versions    int
	Nodes       int
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// List returns the workflows of the caller's project that match f, by name.
func (s *Service) List(ctx context.Context, f Filter) (Page[Summary], error) {
	subject, err := auth.Authorize(ctx, auth.WorkflowRead)
	if err != nil {
		return Page[Summary]{}, err
	}
	limit := f.Limit
	if limit <= 0 {
		limit = defaultPageSize
	}
	limit = min(limit, maxPageSize)
	q := db.New(s.pool)
	pattern := likePattern(f.Query)
	rows, err := q.ListWorkflows(ctx, db.ListWorkflowsParams{
		ProjectID: subject.ProjectID, Pattern: pattern, Tag: f.Tag, Team: f.Team, Status: string(f.Status), Development: f.Development,
		AfterName: strings.TrimPrefix(f.After, cursorMark), MaxRows: int32(limit + 1), Skipped: int32(max(f.Number-1, 0) * limit), //nolint:gosec // bounded by the caller
	})
	if err != nil {
		return Page[Summary]{}, fmt.Errorf("list workflows: %w", err)
	}
	count, err := q.CountWorkflows(ctx, db.CountWorkflowsParams{
		ProjectID: subject.ProjectID, Pattern: pattern, Tag: f.Tag, Team: f.Team, Status: string(f.Status), Development: f.Development,
	})
	if err != nil {
		return Page[Summary]{}, fmt.Errorf("count workflows: %w", err)
	}
	page := Page[Summary]{Total: int(count.Listed), InDevelopment: int(count.InDevelopment)}
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = cursorMark + rows[limit-1].Name // a name can be a number, as a page can
	}
	for _, w := range rows {
		summary := Summary{
			ID: w.ID, Name: w.Name, OwnerTeam: w.OwnerTeam, Description: w.Description, Tags: w.Tags, Status: Status(w.Status),
			Latest: w.LatestVersion, Versions: int(w.VersionCount), Nodes: int(w.NodeCount),
			CreatedAt: w.CreatedAt.UTC(), UpdatedAt: w.UpdatedAt.UTC(),
		}
		if w.LatestVersionID != nil {
			summary.LatestID = *w.LatestVersionID
		}
		page.Items = append(page.Items, summary)
	}
	return page, nil
}

// likePattern matches text anywhere, ignoring case; % and _ are literal.
func likePattern(text string) string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\x00", ""))
	if text == "" {
		return ""
	}
	return "%" + db.EscapeLike(strings.ToLower(text)) + "%"
}

// Facet is a value to filter by and the number of active workflows that have it.
type Facet struct {
	Value string
	Uses  int
}

// Facets are the tags and teams of the active workflows, by name.
type Facets struct {
	Tags  []Facet
	Teams []Facet
}

// Facets returns the values to filter the list by.
func (s *Service) Facets(ctx context.Context) (Facets, error) {
	subject, err := auth.Authorize(ctx, auth.WorkflowRead)
	if err != nil {
		return Facets{}, err
	}
	rows, err := db.New(s.pool).WorkflowFacets(ctx, subject.ProjectID)
	if err != nil {
		return Facets{}, fmt.Errorf("facets of workflows: %w", err)
	}
	var f Facets
	for _, row := range rows {
		facet := Facet{Value: row.Value, Uses: int(row.Uses)}
		if row.Facet == "tag" {
			f.Tags = append(f.Tags, facet)
		} else {
			f.Teams = append(f.Teams, facet)
		}
	}
	return f, nil
}

// Archive removes the workflow from lists of active workflows and blocks new launches.
// Its versions and executions stay.
func (s *Service) Archive(ctx context.Context, ref string) error {
	return s.setStatus(ctx, ref, Archived)
}

// Unarchive undoes Archive.
func (s *Service) Unarchive(ctx context.Context, ref string) error {
	return s.setStatus(ctx, ref, Active)
}

func (s *Service) setStatus(ctx context.Context, ref string, status Status) error {
	row, err := s.find(ctx, db.New(s.pool), auth.WorkflowArchive, ref)
	if err != nil {
		return err
	}
	if Status(row.Status) == status {
		return nil
	}
	verb := "workflow.archive"
	if status == Active {
		verb = "workflow.unarchive"
	}
	at := s.now().UTC().Truncate(time.Microsecond)
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		place, err := q.GetTenancyNode(ctx, row.ProjectID)
		if err != nil {
			return err
		}
		if _, err := q.SetWorkflowStatus(ctx, string(status), at, row.ID); err != nil {
			return err
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: verb, Kind: "workflow", ID: row.ID.String(), Name: row.Name, TenantID: tenantOf(place), ProjectID: row.ProjectID,
			Old: map[string]string{"status": row.Status}, New: map[string]string{"status": string(status)},
		})
	})
	if err != nil {
		return fmt.Errorf("set workflow %s to %s: %w", row.ID, status, err)
	}
	return nil
}

// tenantOf is the tenant that a project belongs to.
func tenantOf(project db.TenancyNode) uuid.UUID {
	if project.TenantID == nil {
		return uuid.Nil
	}
	return *project.TenantID
}
