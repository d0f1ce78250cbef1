package connection

import (
	"context"
	"fmt"
	"net/mail"
	"net/url"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
)

// channelKinds are the kinds that receive messages.
func channelKinds() []Kind {
	return []Kind{
		{Name: message.Slack, Label: "Slack", Summary: "An incoming webhook of a Slack channel.", Tested: true, Channel: true, Fields: []Field{
			{Name: "webhook_url", Label: "Webhook URL", Type: "String", Secret: true, Required: true, Help: "The URL that Slack shows for the incoming webhook of an app."},
		}},
		{Name: message.Teams, Label: "Microsoft Teams", Summary: "A webhook of a Teams channel.", Tested: true, Channel: true, Fields: []Field{
			{Name: "webhook_url", Label: "Webhook URL", Type: "String", Secret: true, Required: true, Help: "The URL of the channel's workflow “Send webhook alerts to a channel”."},
		}},
		{Name: message.Email, Label: "E-mail", Summary: "Recipients, and the mail server that sends to them.", Tested: true, Channel: true, Fields: []Field{
			{Name: "to", Label: "Recipients", Type: "String(max_length=2000)", Required: true, Help: "Addresses, separated by commas."},
			{Name: "from", Label: "Sender", Type: "String(max_length=320)", Required: true, Help: "For example: FlowForge <flowforge@example.com>."},
			{Name: "host", Type: "String(max_length=253)", Required: true, Help: "Name of the mail server, such as smtp.example.com."},
			{Name: "port", Type: "Integer(min=1, max=65535)", Default: 587},
			{Name: "security", Type: `Enum("starttls": "STARTTLS", "tls": "TLS", "none": "None")`, Default: message.StartTLS, Help: "Port 587 usually requires STARTTLS, and port 465 TLS."},
			{Name: "ca_certificate", Label: "CA certificate", Type: "String(multiline=true, max_length=20000)", Help: "PEM certificates to trust for this server, in addition to those of the system."},
			{Name: "username", Label: "User name", Type: "String(max_length=320)", Help: "Leave empty for a server without sign-in."},
			{Name: "password", Type: "String", Secret: true},
		}},
		{Name: message.PagerDuty, Label: "PagerDuty", Summary: "A service of PagerDuty. A recovery resolves the incident.", Tested: true, Channel: true, Fields: []Field{
			{Name: "routing_key", Label: "Integration key", Type: "String", Secret: true, Required: true, Help: "The key of the service's integration “Events API V2”."},
			{Name: "endpoint", Type: "String(max_length=500)", Default: "https://events.pagerduty.com/v2/enqueue"},
		}},
		{Name: message.Webhook, Label: "Webhook", Summary: "An HTTP endpoint. Requests are signed.", Tested: true, Channel: true, Fields: []Field{
			{Name: "url", Label: "URL", Type: "String(max_length=2000)", Required: true, Help: "Receives a POST with JSON for each message."},
			{Name: "signing_secret", Label: "Signing secret", Type: "String", Secret: true, Required: true, Help: "The receiver verifies the header Webhook-Signature with it. “whsec_” and base64, or any text."},
		}},
	}
}

// checkChannel returns problems of the fields of a channel. secrets has the values that it will have.
func checkChannel(kind string, settings map[string]any, secrets map[string]string) []apperr.Field {
	var problems []apperr.Field
	add := func(path, message string) { problems = append(problems, apperr.Field{Path: path, Message: message}) }
	text := func(name string) string { value, _ := settings[name].(string); return value }
	switch kind {
	case message.Slack, message.Teams:
		if u, err := url.Parse(secrets["webhook_url"]); secrets["webhook_url"] != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
			add("webhook_url", "Enter an http or https address.")
		}
	case message.PagerDuty:
		if text("endpoint") != "" && !WebAddress(text("endpoint")) {
			add("endpoint", "Enter an http or https address, such as https://events.eu.pagerduty.com/v2/enqueue.")
		}
	case message.Webhook:
		u, err := url.Parse(text("url"))
		switch {
		case text("url") == "": // the check of required fields reports this
		case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
			add("url", "Enter an http or https address.")
		case u.User != nil || u.Fragment != "":
			add("url", "Enter an address without user name and fragment.")
		}
	case message.Email:
		if _, err := mail.ParseAddress(text("from")); text("from") != "" && err != nil {
			add("from", "Enter one e-mail address, such as FlowForge <flowforge@example.com>.")
		}
		for _, address := range message.Recipients(text("to")) {
			if _, err := mail.ParseAddress(address); err != nil {
				add("to", address+" is not an e-mail address.")
			}
		}
		if err := message.CheckCertificates(text("ca_certificate")); err != nil {
			add("ca_certificate", "Enter certificates in PEM format, which begin with -----BEGIN CERTIFICATE-----.")
		}
		if text("username") != "" && secrets["password"] == "" {
			add("password", "Enter the user's password.")
		}
		if text("username") != "" && text("security") == message.Plain {
			add("security", "Choose STARTTLS or TLS: without encryption the password can be read on the network.")
		}
	}
	return problems
}

// Channel returns a connection as a channel for messages. Only the engine may call it. It returns
// apperr.NotFound for a name that does not exist and Conflict for a connection that is no channel.
func (s *Service) Channel(ctx context.Context, project uuid.UUID, name string) (message.Channel, error) {
	row, err := s.system(ctx, project, name)
	if err != nil {
		return message.Channel{}, err
	}
	c, err := fromRow(row)
	if err != nil {
		return message.Channel{}, err
	}
	if kind, _ := KindNamed(c.Kind); !kind.Channel {
		return message.Channel{}, apperr.New(apperr.Conflict, "The connection %q is of kind %s, which cannot receive messages.", name, c.Kind)
	}
	secrets, err := s.unseal(row)
	if err != nil {
		return message.Channel{}, err
	}
	return message.Channel{Kind: c.Kind, Settings: c.Settings, Secrets: secrets}, nil
}

// Works records that a channel accepted a message, and reports the end of its failures. Only the engine and tests of
// channels may call it.
func (s *Service) Works(ctx context.Context, q *db.Queries, tenant, project uuid.UUID, name string) error {
	recovered, err := q.RecoverChannel(ctx, project, name)
	if err == nil {
		err = q.NoteChannelWorks(ctx, project, name, new(s.Now().UTC()))
	}
	if err != nil {
		return fmt.Errorf("record that channel %s works: %w", name, err)
	}
	if recovered == 0 {
		return nil
	}
	return audit.Record(ctx, q, entry("channel.recover", secret.Owner{TenantID: tenant, ProjectID: project}, name, nil, nil))
}

// channel sends a test message.
func (a *attempt) channel(ctx context.Context) {
	id, err := uuid.NewV7()
	if err != nil {
		a.step("Create the message", err, "")
		return
	}
	answer, err := message.Send(ctx, a.dialer, message.Channel{Kind: a.Kind, Settings: a.Settings, Secrets: a.secrets}, message.Message{
		ID: id.String(), Event: "test", Level: message.Info, Title: "Test message from FlowForge", At: a.at, Incident: "test/" + id.String(),
		Text: "The connection " + a.Name + " can receive messages.",
	})
	a.step("Send a test message", err, "The receiver accepted it: "+answer+".")
}
