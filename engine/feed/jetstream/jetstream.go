// Package jetstream sends the events of the feed to a stream of NATS JetStream.
package jetstream

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/feed/consumer"
	"github.com/flowforge/flowforge/engine/feed/sink"
)

// DefaultSubject begins the subjects of events.
const DefaultSubject = "flowforge.events"

// Config configures a sink. Consumers and URL are required.
type Config struct {
	Consumers   *consumer.Service
	URL         string   // nats://host:4222, tls://…; several separated by commas
	Subject     string   // prefix of subjects; "": DefaultSubject
	Credentials string   // path of a credentials file; "": none, or those of the URL
	CA          string   // path of a PEM file with the CA of the broker; "": the system's
	Topics      []string // none: all but audit

	// Crash, when set, is called with the name of each point where a crash must be harmless.
	Crash  func(point string)
	Logger *slog.Logger
}

var subjectForm = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// Problems describes the errors in the settings, one error per problem. Without a URL there is
// no sink.
func (c Config) Problems() (problems []error) {
	if c.URL == "" {
		return nil
	}
	for one := range strings.SplitSeq(c.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			// The text may contain a password.
			problems = append(problems, errors.New("FLOWFORGE_EVENTS_NATS_URL is not an address such as nats://nats.example.com:4222, or several separated by commas"))
			break
		}
	}
	if c.Subject != "" && !subjectForm.MatchString(c.Subject) {
		problems = append(problems, fmt.Errorf("FLOWFORGE_EVENTS_NATS_SUBJECT %q is not a subject of letters, digits, hyphens and underscores separated by dots, such as %s", c.Subject, DefaultSubject))
	}
	for name, path := range map[string]string{"FLOWFORGE_EVENTS_NATS_CREDENTIALS": c.Credentials, "FLOWFORGE_EVENTS_NATS_CA": c.CA} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	return append(problems, sink.TopicProblems("FLOWFORGE_EVENTS_NATS_TOPICS", c.Topics)...)
}

// New returns a sink.
func New(c Config) *sink.Sink {
	c.Subject = cmp.Or(c.Subject, DefaultSubject)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return sink.New(sink.Config{Consumers: c.Consumers, System: sink.NATS, Topics: c.Topics, Connect: c.connect, Crash: c.Crash, Logger: c.Logger})
}
