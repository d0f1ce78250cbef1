package view

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/db"
)

// Edit is a view to save. Of a change, nil fields stay as they are.
type Edit struct {
	Name    *string
	Sharing *Sharing // of a new view, nil is Private
	Table   *Table
	// Based is UpdatedAt of the view that a change is based on; nil to change any state of it.
	Based *time.Time
}

// Save stores a new view of the caller's project. It requires permission to launch executions, and
// returns Invalid with fields ("name", "where", "sort", "columns", "group"), and Conflict for a name
// that exists.
func (s *Service) Save(ctx context.Context, e Edit) (View, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionLaunch)
	if err != nil {
		return View{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return View{}, fmt.Errorf("make view id: %w", err)
	}
	row := db.ExecutionView{ID: id, ProjectID: subject.ProjectID, Sharing: string(Private), Columns: []string{}, OwnerID: subject.ID, OwnerName: subject.Name}
	problems, err := s.tableProblems(ctx, e.Table)
	if err != nil {
		return View{}, err
	}
	if err := apply(subject, e, problems, &row); err != nil {
		return View{}, err
	}
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := q.LockViewsOfProject(ctx, subject.ProjectID.String()); err != nil {
			return err
		}
		n, err := q.CountViews(ctx, subject.ProjectID, subject.ID)
		if err != nil {
			return err
		}
		if n >= MaxPerPerson {
			return apperr.New(apperr.Conflict, "You have reached the maximum of %d views in this project. Delete unused views.", n)
		}
		err = q.InsertView(ctx, db.InsertViewParams{
			ID: id, ProjectID: row.ProjectID, Name: row.Name, Sharing: row.Sharing, Query: row.Query, Sort: row.Sort, Columns: row.Columns, GroupBy: row.GroupBy,
			OwnerID: subject.ID, OwnerName: subject.Name, Now: s.now(),
		})
		if err != nil {
			return taken(err, row.Name)
		}
		return audit.Record(ctx, q, entry("view.create", subject, row, nil, factsOf(row)))
	})
	if err != nil {
		return View{}, fmt.Errorf("save view: %w", err)
	}
	return s.Get(ctx, id.String())
}

// Change changes the view that name, a name or an ID, identifies. Errors are those of Save,
// Forbidden for a view of another person, and Conflict if it is not in the state that e is based on.
func (s *Service) Change(ctx context.Context, name string, e Edit) (View, error) {
	if _, err := auth.Authorize(ctx, auth.ExecutionLaunch); err != nil {
		return View{}, err
	}
	problems, err := s.tableProblems(ctx, e.Table)
	if err != nil {
		return View{}, err
	}
	return s.change(ctx, "view.update", name, func(_ *db.Queries, subject auth.Subject, row *db.ExecutionView) error {
		if e.Based != nil && !e.Based.Equal(row.UpdatedAt) {
			return apperr.New(apperr.Conflict, "%s changed the view in the meantime. Reload it and try again.", row.UpdatedBy)
		}
		if !mayChange(subject, *row) {
			return apperr.New(apperr.Forbidden, "Only %s or a team administrator can change this view.", row.OwnerName)
		}
		if err := apply(subject, e, problems, row); err != nil {
			return err
		}
		row.IsDefault = row.IsDefault && row.Sharing == string(Project)
		return nil
	})
}

// SetDefault makes a view the one that opens first for everyone in the project, or ends that. It
// requires permission to register versions.
func (s *Service) SetDefault(ctx context.Context, name string, on bool) (View, error) {
	return s.change(ctx, "view.default", name, func(q *db.Queries, subject auth.Subject, row *db.ExecutionView) error {
		switch {
		case !subject.May(auth.WorkflowWrite, row.ProjectID):
			return apperr.New(apperr.Forbidden, "Only users who can register workflow versions can set the project's default view.")
		case on && row.Sharing == string(Private):
			return apperr.New(apperr.Conflict, "Share the view with the project first. Only you can see it now.")
		case on:
			if err := q.UnsetDefaultView(ctx, row.ProjectID); err != nil {
				return err
			}
		}
		row.IsDefault = on
		return nil
	})
}

// Delete removes a view.
func (s *Service) Delete(ctx context.Context, name string) error {
	_, err := s.change(ctx, "view.delete", name, func(q *db.Queries, subject auth.Subject, row *db.ExecutionView) error {
		if !mayChange(subject, *row) {
			return apperr.New(apperr.Forbidden, "Only %s or a team administrator can delete this view.", row.OwnerName)
		}
		return q.DeleteView(ctx, row.ID)
	})
	return err
}

// change locks a view, changes its row and writes it.
func (s *Service) change(ctx context.Context, action, name string, edit func(*db.Queries, auth.Subject, *db.ExecutionView) error) (View, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionLaunch)
	if err != nil {
		return View{}, err
	}
	v, err := s.Get(ctx, name)
	if err != nil {
		return View{}, err
	}
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := q.LockViewsOfProject(ctx, subject.ProjectID.String()); err != nil {
			return err
		}
		row, err := q.LockView(ctx, v.ID)
		if db.IsNoRows(err) || err == nil && row.Sharing == string(Private) && row.OwnerID != subject.ID {
			return absent(name)
		}
		if err != nil {
			return err
		}
		before := factsOf(row)
		if err := edit(q, subject, &row); err != nil {
			return err
		}
		if action == "view.delete" {
			return audit.Record(ctx, q, entry(action, subject, row, before, nil))
		}
		err = q.UpdateView(ctx, db.UpdateViewParams{
			ID: row.ID, Name: row.Name, Sharing: row.Sharing, Query: row.Query, Sort: row.Sort, Columns: row.Columns, GroupBy: row.GroupBy,
			IsDefault: row.IsDefault, Now: s.now(), Actor: subject.Name,
		})
		if err != nil {
			return taken(err, row.Name)
		}
		return audit.Record(ctx, q, entry(action, subject, row, before, factsOf(row)))
	})
	if err != nil {
		return View{}, fmt.Errorf("change view %s: %w", v.ID, err)
	}
	if action == "view.delete" {
		return v, nil
	}
	return s.Get(ctx, v.ID.String())
}

// tableProblems returns what is wrong with a table. The check reads the names of the project with a
// connection of its own, so it precedes the transaction of a change.
func (s *Service) tableProblems(ctx context.Context, t *Table) ([]apperr.Field, error) {
	if t == nil {
		return nil, nil
	}
	err := s.index.Check(ctx, index.Query{Where: strings.TrimSpace(t.Where), Sort: t.Sort, Columns: append([]string{}, t.Columns...)}, t.Group)
	if apperr.Is(err, apperr.Invalid) {
		return apperr.FieldsOf(err), nil
	}
	if err != nil {
		return nil, fmt.Errorf("check the table: %w", err)
	}
	return nil, nil
}

// apply checks e and writes it to row. problems are those of its table.
func apply(subject auth.Subject, e Edit, problems []apperr.Field, row *db.ExecutionView) error {
	var fields []apperr.Field
	add := func(path, message string) { fields = append(fields, apperr.Field{Path: path, Message: message}) }
	if e.Name != nil || row.Name == "" {
		row.Name = ""
		if e.Name != nil {
			row.Name = strings.TrimSpace(*e.Name)
		}
		if message := nameProblem(row.Name); message != "" {
			add("name", message)
		}
	}
	if e.Sharing != nil && string(*e.Sharing) != row.Sharing {
		row.Sharing = string(*e.Sharing)
		switch {
		case *e.Sharing != Private && *e.Sharing != Project:
			add("sharing", "Choose private or project.")
		case *e.Sharing == Private && row.OwnerID != subject.ID:
			add("sharing", "Only "+row.OwnerName+" can make this view private.")
		}
	}
	if e.Table != nil {
		row.Query, row.Sort, row.GroupBy = strings.TrimSpace(e.Table.Where), e.Table.Sort, e.Table.Group
		row.Columns = append([]string{}, e.Table.Columns...)
		fields = append(fields, problems...)
	}
	return apperr.InvalidFields("The view has invalid values.", fields)
}

// nameProblem is what is wrong with a name, or "".
func nameProblem(name string) string {
	_, err := uuid.Parse(name)
	switch {
	case name == "":
		return "Enter a name."
	case utf8.RuneCountInString(name) > MaxName:
		return fmt.Sprintf("At most %d characters.", MaxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "Use one line of text."
	case err == nil || strings.EqualFold(name, "all"):
		return "Choose a name other than an ID or “all”."
	}
	return ""
}

// taken turns a violation of the unique names into a conflict.
func taken(err error, name string) error {
	switch db.Constraint(err) {
	case "execution_views_shared_key", "execution_views_private_key":
		return &apperr.Error{Code: apperr.Conflict, Message: fmt.Sprintf("A view called %q already exists.", name),
			Fields: []apperr.Field{{Path: "name", Message: "This name is already in use. Update the existing view, or choose another name."}}}
	}
	return err
}

// facts are the fields for the audit log.
type facts struct {
	Name    string   `json:"name"`
	Sharing string   `json:"sharing"`
	Default bool     `json:"default"`
	Where   string   `json:"where"`
	Sort    string   `json:"sort"`
	Columns []string `json:"columns"`
	Group   string   `json:"group"`
}

func factsOf(row db.ExecutionView) facts {
	return facts{row.Name, row.Sharing, row.IsDefault, row.Query, row.Sort, row.Columns, row.GroupBy}
}

func entry(action string, subject auth.Subject, row db.ExecutionView, before, after any) audit.Entry {
	return audit.Entry{
		Action: action, Kind: "view", ID: row.ID.String(), Name: row.Name, TenantID: subject.TenantID, ProjectID: row.ProjectID, Old: before, New: after,
	}
}
