package report

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/report/document"
	"github.com/flowforge/flowforge/db"
)

// Edit is what a person writes. Of a change, nil fields stay as they are.
type Edit struct {
	Title *string
	Text  *string
	Note  string // what changed, for the history
	// Based is the revision that a change is based on; 0 changes any.
	Based int
}

// Create stores a new report of the caller's project. It requires permission to launch executions,
// and returns Invalid with fields ("title", "text", "note"), and Conflict for a title that exists.
func (s *Service) Create(ctx context.Context, e Edit) (Report, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionLaunch)
	if err != nil {
		return Report{}, err
	}
	state := content{}
	if err := state.apply(e); err != nil {
		return Report{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Report{}, fmt.Errorf("make report id: %w", err)
	}
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := q.LockReportsOfProject(ctx, subject.ProjectID.String()); err != nil {
			return err
		}
		n, err := q.CountReports(ctx, subject.ProjectID)
		if err != nil {
			return err
		}
		if n >= MaxPerProject {
			return apperr.New(apperr.Conflict, "The project has %d reports, the maximum. Delete unused reports.", n)
		}
		at := s.now()
		err = q.InsertReport(ctx, db.InsertReportParams{ID: id, ProjectID: subject.ProjectID, Title: state.title, OwnerID: subject.ID, OwnerName: subject.Name, Now: at})
		if err != nil {
			return taken(err, state.title)
		}
		err = q.InsertReportRevision(ctx, db.InsertReportRevisionParams{
			ReportID: id, Revision: 1, Title: state.title, Body: state.text, Note: state.note, AuthorID: subject.ID, AuthorName: subject.Name, Now: at,
		})
		if err != nil {
			return err
		}
		return audit.Record(ctx, q, entry("report.create", subject, subject.ProjectID, id, state.title, nil, facts{state.title, 1, len(state.text)}))
	})
	if err != nil {
		return Report{}, fmt.Errorf("create a report: %w", err)
	}
	return s.Get(ctx, id.String())
}

// Change saves a revision of a report. It requires permission to launch executions. Errors are those
// of Create, and Conflict if another revision followed the one that e is based on. A change that
// changes nothing saves no revision.
func (s *Service) Change(ctx context.Context, ref string, e Edit) (Report, error) {
	return s.change(ctx, "report.update", ref, e.Based, func(_ *db.Queries, state *content) error { return state.apply(e) })
}

// Restore saves the title and the text of an earlier revision as the latest one.
func (s *Service) Restore(ctx context.Context, ref string, n, based int) (Report, error) {
	return s.change(ctx, "report.restore", ref, based, func(q *db.Queries, state *content) error {
		old, err := revision(ctx, q, state.id, n)
		if err != nil {
			return err
		}
		state.title, state.text, state.note, state.restored = old.Title, old.Text, "", &n
		return nil
	})
}

// Delete removes a report with its history.
func (s *Service) Delete(ctx context.Context, ref string) error {
	r, err := s.Get(ctx, ref) // authorizes
	if err != nil {
		return err
	}
	subject, err := auth.AuthorizeIn(ctx, auth.ExecutionLaunch, r.ProjectID, absent(ref))
	if err != nil {
		return err
	}
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		row, text, err := lock(ctx, q, r.ID)
		if err != nil {
			return err
		}
		if !mayDelete(subject, row) {
			return apperr.New(apperr.Forbidden, "Only %s or an administrator of the team may delete this report.", row.OwnerName)
		}
		if err := q.RemoveReport(ctx, r.ID); err != nil {
			return err
		}
		return audit.Record(ctx, q, entry("report.delete", subject, row.ProjectID, r.ID, row.Title, facts{row.Title, int(row.Revision), len(text)}, nil))
	})
	if err != nil {
		return fmt.Errorf("delete report %s: %w", r.ID, err)
	}
	return nil
}

// change locks a report and saves what edit makes of its content as the next revision.
func (s *Service) change(ctx context.Context, action, ref string, based int, edit func(*db.Queries, *content) error) (Report, error) {
	r, err := s.Get(ctx, ref) // authorizes
	if err != nil {
		return Report{}, err
	}
	subject, err := auth.AuthorizeIn(ctx, auth.ExecutionLaunch, r.ProjectID, absent(ref))
	if err != nil {
		return Report{}, err
	}
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		row, text, err := lock(ctx, q, r.ID)
		if err != nil {
			return err
		}
		if based != 0 && based != int(row.Revision) {
			return &apperr.Error{
				Code: apperr.Conflict, Message: fmt.Sprintf("%s saved revision %d in the meantime.", row.UpdatedBy, row.Revision),
				Fields: []apperr.Field{{Path: "revision", Message: fmt.Sprintf("The latest revision is %d.", row.Revision)}},
			}
		}
		before := content{id: r.ID, title: row.Title, text: text}
		after := before
		if err := edit(q, &after); err != nil {
			return err
		}
		if after.title == before.title && after.text == before.text {
			return nil
		}
		return s.save(ctx, q, saving{action: action, subject: subject, row: row, before: before, after: after})
	})
	if err != nil {
		return Report{}, fmt.Errorf("change report %s: %w", r.ID, err)
	}
	return s.Get(ctx, r.ID.String())
}

// lock locks a report until the end of the transaction, and reads its latest text.
func lock(ctx context.Context, q *db.Queries, id uuid.UUID) (db.ProjectReport, string, error) {
	row, err := q.LockReport(ctx, id)
	if db.IsNoRows(err) {
		return db.ProjectReport{}, "", absent(id.String())
	}
	if err != nil {
		return db.ProjectReport{}, "", err //nolint:wrapcheck // the caller names the report
	}
	latest, err := q.FindReportRevision(ctx, id, row.Revision)
	return row, latest.Body, err //nolint:wrapcheck // as above
}

// saving is a revision to save.
type saving struct {
	action        string
	subject       auth.Subject
	row           db.ProjectReport
	before, after content
}

func (s *Service) save(ctx context.Context, q *db.Queries, c saving) error {
	next, at := c.row.Revision+1, s.now()
	var from *int32
	if c.after.restored != nil {
		from = new(int32(*c.after.restored)) //nolint:gosec // the revision exists
	}
	if err := q.UpdateReport(ctx, db.UpdateReportParams{ID: c.row.ID, Title: c.after.title, Revision: next, Now: at, Actor: c.subject.Name}); err != nil {
		return taken(err, c.after.title)
	}
	err := q.InsertReportRevision(ctx, db.InsertReportRevisionParams{
		ReportID: c.row.ID, Revision: next, Title: c.after.title, Body: c.after.text, Note: c.after.note, RestoredFrom: from,
		AuthorID: c.subject.ID, AuthorName: c.subject.Name, Now: at,
	})
	if err != nil {
		return err
	}
	return audit.Record(ctx, q, entry(c.action, c.subject, c.row.ProjectID, c.row.ID, c.after.title,
		facts{c.before.title, int(c.row.Revision), len(c.before.text)}, facts{c.after.title, int(next), len(c.after.text)}))
}

// content is what a revision contains.
type content struct {
	id                uuid.UUID
	title, text, note string
	restored          *int
}

// apply checks e and writes it to c.
func (c *content) apply(e Edit) error {
	var fields []apperr.Field
	add := func(path, message string) {
		if message != "" {
			fields = append(fields, apperr.Field{Path: path, Message: message})
		}
	}
	if e.Title != nil {
		c.title = strings.TrimSpace(*e.Title)
	}
	if e.Text != nil {
		c.text = strings.ReplaceAll(*e.Text, "\r\n", "\n")
	}
	c.note = strings.TrimSpace(e.Note)
	add("title", titleProblem(c.title))
	problem, err := textProblem(c.text)
	if err != nil {
		return err
	}
	add("text", problem)
	switch {
	case utf8.RuneCountInString(c.note) > MaxNote:
		add("note", fmt.Sprintf("At most %d characters.", MaxNote))
	case !isLine(c.note):
		add("note", "Use one line of text.")
	}
	return apperr.InvalidFields("The report cannot be saved with these values.", fields)
}

func isLine(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// titleProblem is what is wrong with a title, or "".
func titleProblem(title string) string {
	_, err := uuid.Parse(title)
	switch {
	case title == "":
		return "Enter a title."
	case utf8.RuneCountInString(title) > MaxTitle:
		return fmt.Sprintf("At most %d characters.", MaxTitle)
	case !isLine(title):
		return "Use one line of text."
	case err == nil:
		return "Choose a title that is not an ID."
	}
	return ""
}

// textProblem is what is wrong with a text: its size, its characters, or its first mistakes.
func textProblem(text string) (string, error) {
	switch {
	case len(text) > MaxText:
		return fmt.Sprintf("The text has %d KiB, but at most %d KiB can be saved. Write a second report.", len(text)>>10, MaxText>>10), nil
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "The text has bytes that are not characters. Save the file as UTF-8.", nil
	}
	d, err := document.Parse(text)
	if err != nil {
		return "", err //nolint:wrapcheck // it names its context
	}
	const shown = 3
	var lines []string
	for i, p := range d.Problems {
		if i == shown {
			lines = append(lines, fmt.Sprintf("%d more.", len(d.Problems)-shown))
			break
		}
		lines = append(lines, p.String())
	}
	return strings.Join(lines, " "), nil
}

// taken turns a violation of the unique title into a conflict.
func taken(err error, title string) error {
	if db.Constraint(err) == "project_reports_title_key" {
		return &apperr.Error{
			Code: apperr.Conflict, Message: fmt.Sprintf("A report called %q already exists.", title),
			Fields: []apperr.Field{{Path: "title", Message: "This title already exists. Edit that report, or choose another title."}},
		}
	}
	return err
}

// facts are the fields for the audit log, which does not repeat texts.
type facts struct {
	Title    string `json:"title"`
	Revision int    `json:"revision"`
	Bytes    int    `json:"bytes"`
}

func entry(action string, subject auth.Subject, project, id uuid.UUID, title string, before, after any) audit.Entry {
	return audit.Entry{Action: action, Kind: "report", ID: id.String(), Name: title, TenantID: subject.TenantID, ProjectID: project, Old: before, New: after}
}
