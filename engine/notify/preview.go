package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
)

// Preview is a message as a template writes it.
type Preview struct {
	Subject string
	Text    string // of an e-mail, Slack or Teams
	HTML    string // of an e-mail
	JSON    string // of a webhook, indented
	Event   Event  // of the message
	At      time.Time
	Sample  bool // the project has no message about the event of the last 30 days
}

// Preview renders a template, which need not be stored, with the latest message about its event.
// Errors: Invalid with fields.
func (s *Service) Preview(ctx context.Context, t Template) (Preview, error) {
	subject, err := editor(ctx)
	if err != nil {
		return Preview{}, err
	}
	m, sample, err := s.rendered(ctx, subject.ProjectID, t)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Subject: m.Custom.Subject, Text: m.Custom.Text, HTML: m.Custom.HTML, Event: Event(m.Event), At: m.At, Sample: sample}
	if len(m.Custom.JSON) > 0 {
		var out bytes.Buffer
		if err := json.Indent(&out, m.Custom.JSON, "", "  "); err != nil {
			return Preview{}, fmt.Errorf("indent preview: %w", err)
		}
		p.JSON = out.String()
	}
	return p, nil
}

// rendered returns the message of a template about the latest event, or about a sample.
func (s *Service) rendered(ctx context.Context, project uuid.UUID, t Template) (m message.Message, sample bool, err error) {
	if err := t.check(); err != nil {
		return m, false, err
	}
	row, err := s.queries.LatestNotification(ctx, project, string(t.Event))
	switch {
	case db.IsNoRows(err):
		m, sample = s.sampleOf(t.Event), true
	case err != nil:
		return m, false, fmt.Errorf("latest notification: %w", err)
	default:
		if err := json.Unmarshal(row.Message, &m); err != nil {
			return m, false, fmt.Errorf("message of notification %s: %w", row.ID, err)
		}
	}
	if m.Custom, err = t.render(m); err != nil {
		return m, false, apperr.InvalidFields("The template cannot be rendered.", []apperr.Field{{Path: "body", Message: apperr.MessageOf(err)}})
	}
	return m, sample, nil
}

// TestResult is the response to a test message.
type TestResult struct {
	OK     bool
	Detail string // what the receiver answered, or what failed
}

// SendTest sends what Preview shows to a channel of the kind of the template, once. Errors: Invalid with
// fields.
func (s *Service) SendTest(ctx context.Context, t Template, channel string) (TestResult, error) {
	subject, err := editor(ctx)
	if err != nil {
		return TestResult{}, err
	}
	m, _, err := s.rendered(ctx, subject.ProjectID, t)
	if err != nil {
		return TestResult{}, err
	}
	// The engine reads the secrets of the channel. They stay in it: the caller sees what it answers.
	c, err := s.config.Channels.Channel(auth.AsSystem(ctx), subject.ProjectID, channel)
	if code := apperr.CodeOf(err); code == apperr.NotFound || code == apperr.Conflict {
		return TestResult{}, apperr.InvalidFields("The test message was not sent.", []apperr.Field{{Path: "channel", Message: apperr.MessageOf(err)}})
	}
	if err != nil {
		return TestResult{}, fmt.Errorf("channel %s: %w", channel, err)
	}
	if c.Kind != t.Kind {
		return TestResult{}, apperr.InvalidFields("The test message was not sent.", []apperr.Field{{Path: "channel", Message: fmt.Sprintf("%s is a channel of the kind %s. Choose one of the kind %s.", channel, c.Kind, t.Kind)}})
	}
	id, err := uuid.NewV7()
	if err != nil {
		return TestResult{}, fmt.Errorf("make message id: %w", err)
	}
	m.ID, m.Incident = id.String(), "" // not the thread of a real incident
	answer, err := message.Send(ctx, s.config.Dialer, c, m)
	result := TestResult{OK: err == nil, Detail: answer}
	if err != nil {
		result.Detail = err.Error()
	}
	if result.OK {
		if err := s.config.Channels.Works(ctx, s.queries, subject.TenantID, subject.ProjectID, channel); err != nil {
			return result, err
		}
	}
	record := templateEntry("notification_template.test", t, subject.TenantID, subject.ProjectID, nil, map[string]any{"channel": channel, "accepted": result.OK})
	if err := audit.Record(ctx, s.queries, record); err != nil {
		return result, fmt.Errorf("record the test message: %w", err)
	}
	return result, nil
}

// fill sets the message that the template of the project writes. If the template fails with the values
// of this message, the built-in message is sent, and the note says why: a message about a failure must
// not be lost.
func (s *Service) fill(ctx context.Context, project uuid.UUID, kind string, m *message.Message) (note string, err error) {
	row, err := s.queries.TemplateOfMessage(ctx, project, kind, m.Event)
	if db.IsNoRows(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("template of %s: %w", m.Event, err)
	}
	custom, err := templateOf(row).render(*m)
	if err != nil {
		return " The template failed, so the built-in message was sent: " + apperr.MessageOf(err), nil
	}
	m.Custom = custom
	return "", nil
}
