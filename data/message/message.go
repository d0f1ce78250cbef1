// Package message formats and sends one message to a channel: a webhook, Slack, Microsoft Teams,
// PagerDuty or e-mail. It stores nothing and does not retry.
package message

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
	"unicode/utf8"
)

// Kinds of channels. A connection of such a kind is a channel.
const (
	Webhook   = "webhook"
	Slack     = "slack"
	Teams     = "teams"
	PagerDuty = "pagerduty"
	Email     = "email"
)

// Kinds returns all kinds of channels in display order.
func Kinds() []string { return []string{Slack, Teams, Email, PagerDuty, Webhook} }

// Level is the importance of a message.
type Level string

// The levels. A message at level OK resolves the incident that an earlier one opened.
const (
	Info    Level = "info"
	OK      Level = "ok"
	Warning Level = "warning"
	Error   Level = "error"
)

// Message is what a channel receives.
type Message struct {
	ID       string         `json:"id"`    // unique; receivers ignore an ID that they have seen
	Event    string         `json:"event"` // such as "execution.failed"
	Level    Level          `json:"level"`
	Title    string         `json:"title"`          // one line
	Text     string         `json:"text,omitempty"` // plain text, possibly of several lines
	URL      string         `json:"url,omitempty"`  // the page to open
	Facts    []Fact         `json:"facts,omitempty"`
	Incident string         `json:"incident,omitempty"` // messages about the same problem have the same
	At       time.Time      `json:"at"`
	Data     map[string]any `json:"data,omitempty"`     // for programs
	Entries  []Entry        `json:"entries,omitempty"`  // of an e-mail about several things
	Custom   *Custom        `json:"-"`                  // replaces what the channel would write; nil: the built-in message
	Settings string         `json:"settings,omitempty"` // the page on which a person chooses what they receive, in e-mails
}

// Custom is a message that was written by a template of people, with its values escaped for the channel.
type Custom struct {
	Subject string // of an e-mail
	Text    string // of an e-mail, Slack or Teams
	HTML    string // of an e-mail: sanitized
	JSON    []byte // of a webhook
}

// Entry is one of several things that a message is about.
type Entry struct {
	Title string    `json:"title"`
	URL   string    `json:"url"`
	Level Level     `json:"level"`
	At    time.Time `json:"at"`
}

// Fact is a labelled value.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Channel is where a message goes. Settings and Secrets have the fields of the kind.
type Channel struct {
	Kind     string
	Settings map[string]any
	Secrets  map[string]string
}

func (c Channel) text(name string) string {
	if c.Settings[name] == nil {
		return ""
	}
	return fmt.Sprint(c.Settings[name])
}

// Dialer opens connections to addresses that users enter.
type Dialer interface {
	Client(timeout time.Duration) *http.Client
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// SendError is the error of a message that was not accepted.
type SendError struct {
	Reason    string        // a sentence, without values of secret fields
	Permanent bool          // another attempt would fail in the same way
	After     time.Duration // the receiver accepts no attempt before this time; 0: unknown
	Err       error
}

func (f *SendError) Error() string { return f.Reason }

func (f *SendError) Unwrap() error { return f.Err }

// Limit bounds the sending of one message.
const Limit = 15 * time.Second

// Send sends m and returns what the receiver answered. The error is a *SendError.
func Send(ctx context.Context, d Dialer, c Channel, m Message) (answer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	switch c.Kind {
	case Webhook:
		return post(ctx, d, func() (*http.Request, error) { return webhook(ctx, c, m) })
	case Slack:
		return post(ctx, d, func() (*http.Request, error) { return asJSON(ctx, c.Secrets["webhook_url"], slackBody(m)) })
	case Teams:
		return post(ctx, d, func() (*http.Request, error) { return asJSON(ctx, c.Secrets["webhook_url"], teamsBody(m)) })
	case PagerDuty:
		return post(ctx, d, func() (*http.Request, error) {
			return asJSON(ctx, c.text("endpoint"), pagerDutyBody(c.Secrets["routing_key"], m))
		})
	case Email:
		return email(ctx, d, c, m)
	}
	return "", &SendError{Reason: fmt.Sprintf("Connections of kind %s cannot receive messages.", c.Kind), Permanent: true}
}

// cut shortens text to a number of characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
