package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Bounds of what users add to an execution.
const (
	maxTags  = 50
	maxTag   = 64   // characters
	maxNote  = 4000 // characters
	maxTitle = 200  // characters
)

// Labels are what users add to an execution.
type Labels struct {
	Tags []string
	Note string
}

// Labelled are the name and the labels of an execution after a change.
type Labelled struct {
	Labels

	Name string
}

// Change changes the labels of an execution. A nil Note leaves the note, "" removes it; so does Name
// with the name.
type Change struct {
	Add, Remove []string
	Note        *string
	Name        *string
}

// check normalises a change, or returns what is wrong with it. tags is the name of the field with the
// tags to add.
func (c *Change) check(tags string) error {
	var fields []apperr.Field
	for i, tag := range c.Add {
		tag = strings.TrimSpace(tag)
		c.Add[i] = tag
		switch {
		case tag == "" || strings.ContainsAny(tag, "\n\r\x00") || !utf8.ValidString(tag):
			fields = append(fields, apperr.Field{Path: tags, Message: "A tag must be a single line of text."})
		case utf8.RuneCountInString(tag) > maxTag:
			fields = append(fields, apperr.Field{Path: tags, Message: fmt.Sprintf("A tag can have at most %d characters.", maxTag)})
		}
	}
	if c.Note != nil {
		note := strings.TrimSpace(*c.Note)
		c.Note = &note
		if utf8.RuneCountInString(note) > maxNote {
			fields = append(fields, apperr.Field{Path: "note", Message: fmt.Sprintf("A note can have at most %d characters.", maxNote)})
		}
		if strings.Contains(note, "\x00") || !utf8.ValidString(note) {
			fields = append(fields, apperr.Field{Path: "note", Message: "The note must be text."})
		}
	}
	if c.Name != nil {
		name := strings.TrimSpace(*c.Name)
		c.Name = &name
		if utf8.RuneCountInString(name) > maxTitle || strings.ContainsAny(name, "\n\r\x00") || !utf8.ValidString(name) {
			fields = append(fields, apperr.Field{Path: "name", Message: fmt.Sprintf("A name is a single line of at most %d characters.", maxTitle)})
		}
	}
	if len(fields) > 0 {
		return apperr.InvalidFields(fields[0].Message, fields)
	}
	return nil
}

// AtLaunch returns a function that writes the first tags and the note of a new execution in the
// transaction of its launch, or nil without any. The launch authorizes the caller. Returns Invalid
// with the fields "tags" and "note".
func (s *Service) AtLaunch(ctx context.Context, l Labels) (func(ctx context.Context, q *db.Queries, id uuid.UUID) error, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return nil, err
	}
	if len(l.Tags) == 0 && l.Note == "" {
		return nil, nil
	}
	c := Change{Add: slices.Clone(l.Tags), Note: &l.Note}
	if err := c.check("tags"); err != nil {
		return nil, err
	}
	slices.Sort(c.Add)
	c.Add = slices.Compact(c.Add)
	if len(c.Add) > maxTags {
		return nil, tooManyTags("tags")
	}
	return func(ctx context.Context, q *db.Queries, id uuid.UUID) error {
		subject, err := auth.SignedIn(ctx)
		if err != nil {
			return err
		}
		if err := s.apply(ctx, q, id, subject.Name, c); err != nil {
			return err
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "execution.label", Kind: "execution", ID: id.String(), TenantID: subject.TenantID, ProjectID: subject.ProjectID,
			New: map[string]any{"tags": c.Add, "note": *c.Note},
		})
	}, nil
}

func tooManyTags(field string) error {
	message := fmt.Sprintf("An execution can have at most %d tags.", maxTags)
	return apperr.InvalidFields(message, []apperr.Field{{Path: field, Message: message}})
}

// Labels returns the tags and notes of executions of the caller's project, by id.
func (s *Service) Labels(ctx context.Context, executions []uuid.UUID) (map[uuid.UUID]Labels, error) {
	subject, err := reader(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.ExecutionsOf(ctx, executions, subject.ProjectID)
	if err != nil {
		return nil, fmt.Errorf("read labels: %w", err)
	}
	ids := make([]uuid.UUID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	labels := map[uuid.UUID]Labels{}
	tags, err := s.queries.TagsOf(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read tags: %w", err)
	}
	for _, t := range tags {
		l := labels[t.ExecutionID]
		l.Tags = append(l.Tags, t.Tag)
		labels[t.ExecutionID] = l
	}
	notes, err := s.queries.NotesOf(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read notes: %w", err)
	}
	for _, n := range notes {
		l := labels[n.ExecutionID]
		l.Note = n.Note
		labels[n.ExecutionID] = l
	}
	return labels, nil
}

// Label changes the name, the tags and the note of an execution. It requires permission to launch in its
// project.
func (s *Service) Label(ctx context.Context, execution uuid.UUID, c Change) (Labelled, error) {
	return s.label(ctx, execution, c, false)
}

// CheckLabel returns the error that Label would return, and changes nothing.
func (s *Service) CheckLabel(ctx context.Context, execution uuid.UUID, c Change) error {
	_, err := s.label(ctx, execution, c, true)
	return err
}

// errDry ends the transaction of a change that is only checked.
var errDry = errors.New("index: a dry run")

func (s *Service) label(ctx context.Context, execution uuid.UUID, c Change, dry bool) (Labelled, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return Labelled{}, err
	}
	if err := c.check("add"); err != nil {
		return Labelled{}, err
	}
	absent := apperr.New(apperr.NotFound, "There is no execution %s.", execution)
	place, err := s.queries.ExecutionPlace(ctx, execution)
	if db.IsNoRows(err) {
		return Labelled{}, absent
	}
	if err != nil {
		return Labelled{}, fmt.Errorf("project of execution %s: %w", execution, err)
	}
	subject, err := auth.AuthorizeIn(ctx, auth.ExecutionLaunch, place.ProjectID, absent)
	if err != nil {
		return Labelled{}, err
	}
	var before Labels
	after := Labelled{Name: place.Name}
	err = db.Tx(ctx, s.cfg.Pool, func(_ pgx.Tx, q *db.Queries) error {
		removed, err := q.LockLabelled(ctx, execution)
		if db.IsNoRows(err) || removed { // nothing would remove the labels
			return absent
		}
		if err != nil {
			return err
		}
		before, err = labelsOf(ctx, q, execution)
		if err != nil {
			return err
		}
		if err := s.apply(ctx, q, execution, subject.Name, c); err != nil {
			return err
		}
		if after.Labels, err = labelsOf(ctx, q, execution); err != nil {
			return err
		}
		if len(after.Tags) > maxTags {
			return tooManyTags("add")
		}
		if dry {
			return errDry
		}
		was, is := map[string]any{"tags": before.Tags, "note": before.Note}, map[string]any{"tags": after.Tags, "note": after.Note}
		renamed := c.Name != nil && *c.Name != place.Name
		if renamed {
			was["name"], is["name"] = place.Name, *c.Name
			after.Name = *c.Name
			if err := q.RenameExecution(ctx, *c.Name, execution); err != nil {
				return err
			}
		}
		if !renamed && slices.Equal(before.Tags, after.Tags) && before.Note == after.Note {
			return nil
		}
		if err := q.NoteChanges(ctx, []uuid.UUID{execution}); err != nil {
			return err
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "execution.label", Kind: "execution", ID: execution.String(), TenantID: place.TenantID, ProjectID: place.ProjectID, Old: was, New: is,
		})
	})
	if errors.Is(err, errDry) {
		return Labelled{Labels: before, Name: place.Name}, nil
	}
	if err != nil {
		return Labelled{}, fmt.Errorf("label execution %s: %w", execution, err)
	}
	return after, nil
}

func (s *Service) apply(ctx context.Context, q *db.Queries, execution uuid.UUID, by string, c Change) error {
	if len(c.Remove) > 0 {
		if err := q.RemoveTags(ctx, execution, c.Remove); err != nil {
			return err
		}
	}
	if len(c.Add) > 0 {
		err := q.AddTags(ctx, execution, by, s.cfg.Now(), c.Add)
		if err != nil {
			return err
		}
	}
	switch {
	case c.Note == nil:
		return nil
	case *c.Note == "":
		return q.RemoveNote(ctx, execution)
	}
	return q.WriteNote(ctx, execution, *c.Note, by, s.cfg.Now())
}

func labelsOf(ctx context.Context, q *db.Queries, execution uuid.UUID) (Labels, error) {
	var l Labels
	tags, err := q.TagsOf(ctx, []uuid.UUID{execution})
	if err != nil {
		return l, err
	}
	for _, t := range tags {
		l.Tags = append(l.Tags, t.Tag)
	}
	notes, err := q.NotesOf(ctx, []uuid.UUID{execution})
	for _, n := range notes {
		l.Note = n.Note
	}
	return l, err
}
