// Package sink sends the events of the feed to a message broker, as CloudEvents. A sink is a consumer of
// the feed like any other: its cursor moves when the broker has stored an event, so it resumes after
// either side stops (docs/events.md). Packages jetstream and kafka implement brokers.
package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/engine/feed/consumer"
)

const (
	// ContentType is the media type of an event.
	ContentType = "application/cloudevents+json"
	// Confirm limits how long a broker may take to confirm the events of one call of Publish.
	Confirm = 10 * time.Second

	batch       = 200
	lease       = 2 * time.Minute
	readWait    = 5 * time.Second
	settleLimit = 5 * time.Second // to store the results of a round; the lease expires otherwise
	firstPause  = time.Second
	longPause   = 30 * time.Second
	maxReported = 500
)

// Broker is a connection to a message broker, which reconnects by itself. Errors of type *OutageError are
// problems of the broker that no event caused: the events are sent again later.
type Broker interface {
	// Ready returns why the broker cannot be used at the moment.
	Ready(ctx context.Context) error
	// Publish sends events, at most one of each execution, and waits until the broker has stored them.
	// It returns the IDs of those that it stored, and why it can never store the others, by ID. Events
	// that are in neither result are sent again.
	Publish(ctx context.Context, events []consumer.Delivery) (stored []string, refused map[string]string, err error)
	Close()
}

// Config configures a Sink. Consumers, System and Connect are required.
type Config struct {
	Consumers *consumer.Service
	System    System
	Topics    []string // of events that are sent; none: all but audit
	Connect   func() (Broker, error)

	// Crash, when set, is called with the name of each point where a crash must be harmless.
	Crash  func(point string)
	Logger *slog.Logger
}

// System is a kind of broker. Its value is the name of the consumer of all projects that the sink reads.
type System string

// The kinds of brokers.
const (
	NATS  System = "nats"
	Kafka System = "kafka"
)

// String returns the name that people read.
func (s System) String() string {
	switch s {
	case NATS:
		return "NATS"
	case Kafka:
		return "Kafka"
	}
	return string(s)
}

// Ref identifies the consumer of a sink.
func (s System) Ref() consumer.Ref { return consumer.Ref{Name: string(s), Installation: true} }

// TopicProblems describes topics of the feed in a setting that do not exist.
func TopicProblems(setting string, topics []string) (problems []error) {
	for _, t := range topics {
		if !slices.Contains(feed.Topics(), t) {
			problems = append(problems, fmt.Errorf("%s contains %q, which is not a topic. The topics are %s", setting, t, strings.Join(feed.Topics(), ", ")))
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

// Run sends events until ctx ends. The leader calls it. After a crash, events whose confirmation was not
// stored are sent again.
func (s *Sink) Run(ctx context.Context) {
	ctx = auth.AsSystem(ctx)
	var b Broker
	defer func() {
		if b != nil {
			b.Close()
		}
	}()
	pause := firstPause
	for ctx.Err() == nil {
		err := s.config.Consumers.EnsureSink(ctx, string(s.config.System), s.config.Topics)
		if err == nil && b == nil {
			b, err = s.config.Connect()
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

// OutageError is a problem of a broker that no event caused.
type OutageError struct{ Message string }

// NewOutage returns an outage whose message ends with the text of its cause.
func NewOutage(cause error, format string, arguments ...any) *OutageError {
	return &OutageError{Message: fmt.Sprintf(format, arguments...) + ": " + strings.TrimRight(cause.Error(), ".?! ") + "."}
}

func (o *OutageError) Error() string { return o.Message }

// report logs a problem and shows it with the consumer, once for each new problem. nil means
// that there is none.
func (s *Sink) report(ctx context.Context, err error) {
	text := ""
	if broken, ok := errors.AsType[*OutageError](err); ok {
		text = broken.Message
	} else if err != nil { // of the database, which keeps the state of the consumer
		s.config.Logger.Warn("events could not be read for a broker; retrying", "broker", s.config.System, "error", err)
		return
	}
	if len(text) > maxReported {
		text = strings.ToValidUTF8(text[:maxReported], "") + "…"
	}
	if text == s.problem {
		return
	}
	if text != "" {
		s.config.Logger.Warn("a broker does not accept events; they wait in the feed", "broker", s.config.System, "problem", text)
	}
	if err := s.config.Consumers.ReportSink(ctx, string(s.config.System), text); err != nil {
		s.config.Logger.Warn("the state of an event sink could not be stored", "broker", s.config.System, "error", err)
		return
	}
	s.problem = text
}

// send reads events and sends them. The error is an outage, or an error of the database.
func (s *Sink) send(ctx context.Context, b Broker) error {
	if err := b.Ready(ctx); err != nil {
		return err
	}
	l, err := s.config.Consumers.ReadSink(ctx, string(s.config.System), consumer.Batch{Limit: batch, Lease: lease, Wait: readWait})
	if err != nil {
		return err
	}
	if err := s.sendAll(ctx, b, l); err != nil { // also when ctx ended: the next leader sends the rest at once
		return errors.Join(err, s.release(ctx, l))
	}
	s.report(ctx, nil)
	return nil
}

// release returns a lease with the events that were not sent.
func (s *Sink) release(ctx context.Context, l consumer.Lease) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	_, err := s.config.Consumers.Release(ctx, s.config.System.Ref(), l.ID)
	return err
}

// sendAll sends the events of a lease in rounds. A round has at most one event of each execution, so that
// the broker never stores an event before an earlier one of its execution.
func (s *Sink) sendAll(ctx context.Context, b Broker, l consumer.Lease) error {
	for _, round := range rounds(l.Events) {
		limit, cancel := context.WithTimeout(ctx, Confirm)
		stored, refused, err := b.Publish(limit, round)
		cancel()
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
		if _, err := s.config.Consumers.Acknowledge(ctx, s.config.System.Ref(), l.ID, stored); err != nil {
			return err
		}
	}
	for id, reason := range refused {
		failure := consumer.Failure{Events: []string{id}, Reason: reason, Final: true}
		if _, err := s.config.Consumers.Fail(ctx, s.config.System.Ref(), l.ID, failure); err != nil {
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
