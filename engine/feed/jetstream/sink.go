// Package jetstream sends the events of the feed to a stream of NATS JetStream, as CloudEvents. It is a
// consumer of the feed like any other: its cursor moves when the broker has stored an event, so it resumes
// after either side stops (docs/events.md).
package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/engine/feed/consumer"
)

const (
	// Consumer is the name of the consumer of all projects that the sink reads.
	Consumer = "nats"
	// DefaultSubject begins the subjects of events.
	DefaultSubject = "flowforge.events"

	batch       = 200
	lease       = 2 * time.Minute
	confirm     = 10 * time.Second // for the broker to confirm an event
	readWait    = 5 * time.Second
	settleLimit = 5 * time.Second // to store the results of a round; the lease expires otherwise
	firstPause  = time.Second
	longPause   = 30 * time.Second
	maxReported = 500
)

// Config configures a Sink. Consumers and URL are required.
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
	for _, t := range c.Topics {
		if !slices.Contains(feed.Topics(), t) {
			problems = append(problems, fmt.Errorf("FLOWFORGE_EVENTS_NATS_TOPICS contains %q, which is not a topic. The topics are %s", t, strings.Join(feed.Topics(), ", ")))
		}
	}
	return problems
}

// Sink sends events. One Run may work at a time.
type Sink struct {
	config  Config
	problem string // reported last
}

// New returns a Sink.
func New(c Config) *Sink {
	if c.Subject == "" {
		c.Subject = DefaultSubject
	}
	if c.Topics == nil {
		c.Topics = []string{}
	}
	if c.Crash == nil {
		c.Crash = func(string) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Sink{config: c, problem: "unknown"}
}

// Run sends events until ctx ends. The leader calls it; a second loop would send no event twice, because
// the broker recognizes repeated IDs.
func (s *Sink) Run(ctx context.Context) {
	ctx = auth.AsSystem(ctx)
	var b *broker
	defer func() {
		if b != nil {
			b.connection.Close()
		}
	}()
	pause := firstPause
	for ctx.Err() == nil {
		err := s.config.Consumers.EnsureSink(ctx, Consumer, s.config.Topics)
		if err == nil && b == nil {
			b, err = s.connect()
		}
		if err == nil {
			err = s.send(ctx, b)
		}
		if err == nil {
			pause = firstPause
			continue
		}
		if ctx.Err() != nil {
			return
		}
		s.report(ctx, err)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		pause = min(2*pause, longPause)
	}
}

// outage is a problem of the broker that no event caused.
type outage struct{ message string }

func (o *outage) Error() string { return o.message }

// report logs a problem and shows it with the consumer, once for each new problem. nil means
// that there is none.
func (s *Sink) report(ctx context.Context, err error) {
	text := ""
	if broken, ok := errors.AsType[*outage](err); ok {
		text = broken.message
	} else if err != nil { // of the database, which keeps the state of the consumer
		s.config.Logger.Warn("events could not be read for NATS; retrying", "error", err)
		return
	}
	if len(text) > maxReported {
		text = strings.ToValidUTF8(text[:maxReported], "") + "…"
	}
	if text == s.problem {
		return
	}
	if text != "" {
		s.config.Logger.Warn("NATS does not accept events; they wait in the feed", "problem", text)
	}
	if err := s.config.Consumers.ReportSink(ctx, Consumer, text); err != nil {
		s.config.Logger.Warn("the state of the NATS sink could not be stored", "error", err)
		return
	}
	s.problem = text
}

// send reads events and sends them. The error is an outage, or an error of the database.
func (s *Sink) send(ctx context.Context, b *broker) error {
	if !b.connection.IsConnected() {
		return b.unreachable()
	}
	l, err := s.config.Consumers.ReadSink(ctx, Consumer, consumer.Batch{Limit: batch, Lease: lease, Wait: readWait})
	if err != nil {
		return err
	}
	if err := s.sendAll(ctx, b, l); err != nil { // also when ctx ended: the next leader sends the rest at once
		return errors.Join(err, s.release(ctx, l))
	}
	s.report(ctx, nil)
	return nil
}

func ref() consumer.Ref { return consumer.Ref{Name: Consumer, Installation: true} }

// release returns a lease with the events that were not sent.
func (s *Sink) release(ctx context.Context, l consumer.Lease) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	_, err := s.config.Consumers.Release(ctx, ref(), l.ID)
	return err
}

// sendAll sends the events of a lease in rounds. A round has at most one event of each execution, so that
// the broker never stores an event before an earlier one of its execution.
func (s *Sink) sendAll(ctx context.Context, b *broker, l consumer.Lease) error {
	for _, round := range rounds(l.Events) {
		stored, refused, err := s.publish(ctx, b, round)
		s.config.Crash("sink.stored")
		if err := errors.Join(err, s.settle(ctx, l, stored, refused)); err != nil {
			return err
		}
	}
	return nil
}

// settle stores what the broker did with events of a lease, also when ctx has ended.
func (s *Sink) settle(ctx context.Context, l consumer.Lease, stored []string, refused map[string]string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	if len(stored) > 0 {
		if _, err := s.config.Consumers.Acknowledge(ctx, ref(), l.ID, stored); err != nil {
			return err
		}
	}
	for id, reason := range refused {
		failure := consumer.Failure{Events: []string{id}, Reason: reason, Final: true}
		if _, err := s.config.Consumers.Fail(ctx, ref(), l.ID, failure); err != nil {
			return err
		}
	}
	return nil
}

// rounds divides events: the nth event of each execution is in round n.
func rounds(events []consumer.Delivery) (list [][]consumer.Delivery) {
	seen := map[string]int{}
	for _, e := range events {
		n := 0
		if e.ExecutionID != nil {
			key := e.ExecutionID.String()
			n = seen[key]
			seen[key]++
		}
		if n == len(list) {
			list = append(list, nil)
		}
		list[n] = append(list[n], e)
	}
	return list
}

// publish sends events and waits until the broker has stored them. refused are those that it can never
// store, with the reason; the error is an outage.
func (s *Sink) publish(ctx context.Context, b *broker, events []consumer.Delivery) (stored []string, refused map[string]string, err error) {
	refused = map[string]string{}
	waiting := make([]*confirmation, 0, len(events))
	for _, e := range events {
		data, err := json.Marshal(e.CloudEvent())
		if err != nil {
			return nil, nil, fmt.Errorf("encode event %s: %w", e.ID, err)
		}
		m := &nats.Msg{Subject: s.subject(e.Event), Header: nats.Header{"Content-Type": {"application/cloudevents+json"}}, Data: data}
		waiting = append(waiting, b.publish(e.ID, m))
	}
	limit, cancel := context.WithTimeout(ctx, confirm)
	defer cancel()
	for _, w := range waiting {
		switch reason, broken := b.result(limit, w); {
		case broken != nil:
			err = broken
		case reason != "":
			refused[w.id] = reason
		default:
			stored = append(stored, w.id)
		}
	}
	return stored, refused, err
}

var outsideSubject = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// subject is prefix.topic.project.type; the project of events above the projects is "_".
func (s *Sink) subject(e feed.Event) string {
	project := "_"
	if e.ProjectID != nil {
		project = e.ProjectID.String()
	}
	kind := strings.Trim(outsideSubject.ReplaceAllString(e.Type, "_"), ".")
	return strings.Join([]string{s.config.Subject, e.Topic, project, strings.ReplaceAll(kind, "..", "._.")}, ".")
}
