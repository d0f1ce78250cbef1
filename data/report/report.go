// Package report stores reports: pages in Markdown with live blocks that members of a project write.
// Each save is a revision, and none is ever overwritten.
package report

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Limits of reports.
const (
	MaxTitle      = 120 // characters
	MaxNote       = 200 // characters
	MaxText       = 256 << 10
	MaxPerProject = 1000
	maxPage       = 200
)

// Report is a report in its latest revision.
type Report struct {
	Row
	ProjectID uuid.UUID
	Text      string

	MayEdit   bool
	MayDelete bool
}

// Row is a report without its text.
type Row struct {
	ID        uuid.UUID
	Title     string
	Revision  int // the latest
	Owner     string
	CreatedAt time.Time
	UpdatedAt time.Time
	UpdatedBy string
}

// Revision is a state of a report.
type Revision struct {
	Number       int
	Title        string
	Text         string // "" in lists
	Note         string
	RestoredFrom int // 0: it was written
	Author       string
	CreatedAt    time.Time
	Size         int // bytes of the text
}

// Filter selects reports.
type Filter struct {
	Query string // in title or text
	After string // Next of the page before
	Limit int    // 1 to 200; 0 is 50
}

// Page is a page of reports, most recently changed first.
type Page struct {
	Reports []Row
	Next    string // "" on the last page
}

// Service stores reports. It is safe for concurrent use.
type Service struct {
	pool    *pgxpool.Pool
	queries *db.Queries
	now     func() time.Time
}

// NewService returns a Service over pool.
func NewService(pool *pgxpool.Pool, now func() time.Time) *Service {
	return &Service{pool: pool, queries: db.New(pool), now: now}
}

// List returns reports of the caller's project.
func (s *Service) List(ctx context.Context, f Filter) (Page, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return Page{}, err
	}
	limit := f.Limit
	if limit <= 0 || limit > maxPage {
		limit = 50
	}
	in := db.ListReportsParams{ProjectID: subject.ProjectID, Count: int32(limit) + 1}
	if text := strings.TrimSpace(f.Query); text != "" {
		in.Pattern = "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
	}
	if f.After != "" {
		at, id, ok := position(f.After)
		if !ok {
			return Page{}, apperr.InvalidFields("The page token is not valid.", []apperr.Field{{Path: "after", Message: "Use next from the previous response."}})
		}
		in.AfterAt, in.AfterID = &at, id
	}
	rows, err := s.queries.ListReports(ctx, in)
	if err != nil {
		return Page{}, fmt.Errorf("list reports of project %s: %w", subject.ProjectID, err)
	}
	var p Page
	for i, r := range rows {
		if i == limit {
			last := p.Reports[limit-1]
			p.Next = last.UpdatedAt.Format(time.RFC3339Nano) + "~" + last.ID.String()
			break
		}
		p.Reports = append(p.Reports, Row{r.ID, r.Title, int(r.Revision), r.OwnerName, r.CreatedAt.UTC(), r.UpdatedAt.UTC(), r.UpdatedBy})
	}
	return p, nil
}

func position(text string) (time.Time, uuid.UUID, bool) {
	when, name, _ := strings.Cut(text, "~")
	at, err := time.Parse(time.RFC3339Nano, when)
	id, failed := uuid.Parse(name)
	return at, id, err == nil && failed == nil
}

// Get returns the report that ref, an ID or a title in the caller's project, identifies, or NotFound.
func (s *Service) Get(ctx context.Context, ref string) (Report, error) {
	id, err := s.find(ctx, ref)
	if err != nil {
		return Report{}, err
	}
	row, err := s.queries.FindReport(ctx, id)
	if db.IsNoRows(err) {
		return Report{}, absent(ref)
	}
	if err != nil {
		return Report{}, fmt.Errorf("read report %s: %w", id, err)
	}
	subject, err := auth.AuthorizeIn(ctx, auth.ExecutionRead, row.ProjectReport.ProjectID, absent(ref))
	if err != nil {
		return Report{}, err
	}
	return fromRow(row.ProjectReport, row.Body, subject), nil
}

// find returns the ID of a report. It authorizes a title, but not an ID.
func (s *Service) find(ctx context.Context, ref string) (uuid.UUID, error) {
	if id, err := uuid.Parse(ref); err == nil {
		_, err := auth.SignedIn(ctx)
		return id, err
	}
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return uuid.Nil, err
	}
	id, err := s.queries.ReportByTitle(ctx, subject.ProjectID, strings.TrimSpace(ref))
	if db.IsNoRows(err) {
		return uuid.Nil, absent(ref)
	}
	if err != nil {
		return uuid.Nil, fmt.Errorf("find a report by its title: %w", err)
	}
	return id, nil
}

// Revisions returns revisions of a report without their texts, newest first: those before a
// number, or from the latest for 0.
func (s *Service) Revisions(ctx context.Context, ref string, before, limit int) ([]Revision, error) {
	r, err := s.Get(ctx, ref) // authorizes
	if err != nil {
		return nil, err
	}
	if limit <= 0 || limit > maxPage {
		limit = 50
	}
	rows, err := s.queries.ListReportRevisions(ctx, r.ID, int32(max(before, 0)), int32(limit)) //nolint:gosec // bounded
	if err != nil {
		return nil, fmt.Errorf("list revisions of report %s: %w", r.ID, err)
	}
	list := make([]Revision, len(rows))
	for i, row := range rows {
		list[i] = Revision{Number: int(row.Revision), Title: row.Title, Note: row.Note, RestoredFrom: number(row.RestoredFrom), Author: row.AuthorName, CreatedAt: row.CreatedAt.UTC(), Size: int(row.Size)}
	}
	return list, nil
}

// Revision returns a revision of a report.
func (s *Service) Revision(ctx context.Context, ref string, n int) (Revision, error) {
	r, err := s.Get(ctx, ref) // authorizes
	if err != nil {
		return Revision{}, err
	}
	return revision(ctx, s.queries, r.ID, n)
}

func revision(ctx context.Context, q *db.Queries, id uuid.UUID, n int) (Revision, error) {
	if n < 1 || n > 1<<30 {
		return Revision{}, apperr.New(apperr.NotFound, "The report has no revision %d.", n)
	}
	row, err := q.FindReportRevision(ctx, id, int32(n))
	if db.IsNoRows(err) {
		return Revision{}, apperr.New(apperr.NotFound, "The report has no revision %d.", n)
	}
	if err != nil {
		return Revision{}, fmt.Errorf("read revision %d of report %s: %w", n, id, err)
	}
	return Revision{n, row.Title, row.Body, row.Note, number(row.RestoredFrom), row.AuthorName, row.CreatedAt.UTC(), len(row.Body)}, nil
}

func number(n *int32) int {
	if n == nil {
		return 0
	}
	return int(*n)
}

// Scope returns the tenant and the project of a report that the caller may read, or NotFound.
func (s *Service) Scope(ctx context.Context, id uuid.UUID) (tenant, project uuid.UUID, err error) {
	place, err := s.queries.ReportPlace(ctx, id)
	if db.IsNoRows(err) || err == nil && place.TenantID == nil {
		return uuid.Nil, uuid.Nil, absent(id.String())
	}
	if err != nil {
		return uuid.Nil, uuid.Nil, fmt.Errorf("project of report %s: %w", id, err)
	}
	if _, err := auth.AuthorizeIn(ctx, auth.ExecutionRead, place.ProjectID, absent(id.String())); err != nil {
		return uuid.Nil, uuid.Nil, err
	}
	return *place.TenantID, place.ProjectID, nil
}

func absent(ref string) error {
	if letters := []rune(ref); len(letters) > MaxTitle {
		ref = string(letters[:MaxTitle]) + "…"
	}
	return apperr.New(apperr.NotFound, "There is no report %q that you can read.", ref)
}

func fromRow(row db.ProjectReport, text string, subject auth.Subject) Report {
	return Report{
		Row:       Row{row.ID, row.Title, int(row.Revision), row.OwnerName, row.CreatedAt.UTC(), row.UpdatedAt.UTC(), row.UpdatedBy},
		ProjectID: row.ProjectID, Text: text,
		MayEdit: subject.May(auth.ExecutionLaunch, row.ProjectID), MayDelete: mayDelete(subject, row),
	}
}

// mayDelete reports whether subject may delete a report: its owner, and those who administer the team.
func mayDelete(subject auth.Subject, row db.ProjectReport) bool {
	if subject.ID == row.OwnerID {
		return subject.May(auth.ExecutionLaunch, row.ProjectID)
	}
	return subject.May(auth.WorkflowArchive, row.ProjectID)
}
