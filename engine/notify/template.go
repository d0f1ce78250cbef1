package notify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
)

// AnyEvent stands for every event without a template of its own.
const AnyEvent Event = "any"

// Template replaces the built-in message about an event in the channels of one kind. Its texts
// contain {{ expressions }}, which read Variables.
type Template struct {
	Kind    string
	Event   Event  // or AnyEvent
	Subject string // of an e-mail; "" for the other kinds
	Body    string // Markdown of an e-mail, the markup of Slack or Teams, or the JSON of a webhook

	UpdatedAt time.Time // set by the service, like UpdatedBy
	UpdatedBy string
}

// Limits of templates, in characters.
const (
	MaxSubject = 300
	MaxBody    = 20_000
)

// TemplateKinds returns the kinds of channels whose messages have templates. An event of PagerDuty has
// a fixed form.
func TemplateKinds() []string {
	return []string{message.Slack, message.Teams, message.Email, message.Webhook}
}

// TemplateEvents returns the events that templates can name, with their titles.
func TemplateEvents() []Description {
	return append([]Description{{AnyEvent, "Every other event", "Events without a template of their own."}}, Events()...)
}

// checkPlace returns NotFound for a kind or an event that cannot have a template.
func checkPlace(kind string, event Event) error {
	if !slices.Contains(TemplateKinds(), kind) {
		return apperr.New(apperr.NotFound, "Channels of the kind %q have no templates. The kinds are %s.", kind, strings.Join(TemplateKinds(), ", "))
	}
	if !slices.ContainsFunc(TemplateEvents(), func(d Description) bool { return d.Event == event }) {
		return apperr.New(apperr.NotFound, "%q is not an event. The events are %s, and %s.", string(event), eventNames(), string(AnyEvent))
	}
	return nil
}

// check returns Invalid with the fields at fault.
func (t Template) check() error {
	if err := checkPlace(t.Kind, t.Event); err != nil {
		return err
	}
	var problems []apperr.Field
	refuse := func(when bool, field, format string, args ...any) {
		if when {
			problems = append(problems, apperr.Field{Path: field, Message: fmt.Sprintf(format, args...)})
		}
	}
	refuse(t.Kind == message.Email && strings.TrimSpace(t.Subject) == "", "subject", "Enter a subject.")
	refuse(t.Kind != message.Email && t.Subject != "", "subject", "Only e-mails have a subject.")
	refuse(strings.ContainsAny(t.Subject, "\r\n"), "subject", "Enter one line.")
	refuse(utf8.RuneCountInString(t.Subject) > MaxSubject, "subject", "Enter at most %d characters.", MaxSubject)
	refuse(strings.TrimSpace(t.Body) == "", "body", "Enter a text.")
	refuse(utf8.RuneCountInString(t.Body) > MaxBody, "body", "Enter at most %d characters.", MaxBody)
	if len(problems) == 0 {
		problems = append(t.problems("subject", t.Subject), t.problems("body", t.Body)...)
		if t.Kind == message.Webhook {
			if _, err := jsonTemplate(t.Body); err != nil {
				problems = append(problems, apperr.Field{Path: "body", Message: err.Error()})
			}
		}
	}
	return apperr.InvalidFields("The notification template has invalid values.", problems)
}

// Templates returns the templates of the current project.
func (s *Service) Templates(ctx context.Context) ([]Template, error) {
	subject, err := reader(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.ListNotificationTemplates(ctx, subject.ProjectID)
	if err != nil {
		return nil, fmt.Errorf("list notification templates: %w", err)
	}
	list := make([]Template, len(rows))
	for i, row := range rows {
		list[i] = templateOf(row)
	}
	return list, nil
}

// Template returns a template of the current project, or apperr.NotFound.
func (s *Service) Template(ctx context.Context, kind string, event Event) (Template, error) {
	subject, err := reader(ctx)
	if err != nil {
		return Template{}, err
	}
	if err := checkPlace(kind, event); err != nil {
		return Template{}, err
	}
	row, err := s.queries.GetNotificationTemplate(ctx, subject.ProjectID, kind, string(event))
	if db.IsNoRows(err) {
		return Template{}, absentTemplate(kind, event)
	}
	if err != nil {
		return Template{}, fmt.Errorf("get notification template: %w", err)
	}
	return templateOf(row), nil
}

func absentTemplate(kind string, event Event) error {
	return apperr.New(apperr.NotFound, "This project has no template for %s in channels of the kind %s.", string(event), kind)
}

// PutTemplate creates or replaces a template of the current project. Errors: Invalid with fields.
func (s *Service) PutTemplate(ctx context.Context, t Template) (Template, error) {
	subject, err := editor(ctx)
	if err != nil {
		return Template{}, err
	}
	if err := t.check(); err != nil {
		return Template{}, err
	}
	t.UpdatedAt, t.UpdatedBy = s.now(), subject.Name
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		var before any
		row, err := q.LockNotificationTemplate(ctx, subject.ProjectID, t.Kind, string(t.Event))
		switch {
		case err == nil:
			before = templateFacts{row.Subject, row.Body}
		case !db.IsNoRows(err):
			return err
		}
		if err := q.PutNotificationTemplate(ctx, db.PutNotificationTemplateParams{
			TenantID: subject.TenantID, ProjectID: subject.ProjectID, Kind: t.Kind, Event: string(t.Event), Subject: t.Subject, Body: t.Body,
			UpdatedAt: t.UpdatedAt, UpdatedBy: t.UpdatedBy,
		}); err != nil {
			return err
		}
		return audit.Record(ctx, q, templateEntry("notification_template.put", t, subject.TenantID, subject.ProjectID, before, templateFacts{t.Subject, t.Body}))
	})
	if err != nil {
		return Template{}, fmt.Errorf("store notification template: %w", err)
	}
	return t, nil
}

// DeleteTemplate removes a template from the current project, or returns apperr.NotFound. Later
// messages are the built-in ones.
func (s *Service) DeleteTemplate(ctx context.Context, kind string, event Event) error {
	subject, err := editor(ctx)
	if err != nil {
		return err
	}
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockNotificationTemplate(ctx, subject.ProjectID, kind, string(event))
		if db.IsNoRows(err) {
			return absentTemplate(kind, event)
		}
		if err != nil {
			return fmt.Errorf("lock notification template: %w", err)
		}
		if err := q.DeleteNotificationTemplate(ctx, subject.ProjectID, kind, string(event)); err != nil {
			return fmt.Errorf("delete notification template: %w", err)
		}
		return audit.Record(ctx, q, templateEntry("notification_template.delete", templateOf(row), row.TenantID, row.ProjectID, templateFacts{row.Subject, row.Body}, nil))
	})
}

// templateFacts are the fields for the audit log.
type templateFacts struct {
	Subject string `json:"subject,omitempty"`
	Body    string `json:"body"`
}

func templateEntry(action string, t Template, tenant, project uuid.UUID, before, after any) audit.Entry {
	name := t.Kind + "/" + string(t.Event)
	return audit.Entry{Action: action, Kind: "notification_template", ID: name, Name: name, TenantID: tenant, ProjectID: project, Old: before, New: after}
}

func templateOf(row db.NotificationTemplate) Template {
	return Template{Kind: row.Kind, Event: Event(row.Event), Subject: row.Subject, Body: row.Body, UpdatedAt: row.UpdatedAt, UpdatedBy: row.UpdatedBy}
}
