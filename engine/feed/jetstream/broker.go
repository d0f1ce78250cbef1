package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/engine/feed/consumer"
	"github.com/flowforge/flowforge/engine/feed/sink"
)

// The error code of JetStream for a message that is larger than the stream allows.
const tooLargeForStream jetstream.ErrorCode = 10054

// broker is a connection to NATS, which reconnects by itself.
type broker struct {
	connection *nats.Conn
	stream     jetstream.JetStream
	prefix     string // of subjects
	hosts      string // without credentials
}

// connect returns a connection that may still be trying to reach the broker. The error is an outage.
func (c Config) connect() (sink.Broker, error) {
	options := []nats.Option{
		nats.Name("flowforge"), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(time.Second),
		nats.ReconnectBufSize(-1), // events that the client would keep and send later could overtake others
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.Logger.Debug("NATS", "error", err) }),
	}
	if c.Credentials != "" {
		options = append(options, nats.UserCredentials(c.Credentials))
	}
	if c.CA != "" {
		options = append(options, nats.RootCAs(c.CA))
	}
	b := &broker{prefix: c.Subject, hosts: hosts(c.URL)}
	var err error
	if b.connection, err = nats.Connect(c.URL, options...); err != nil {
		return nil, sink.NewOutage(err, "The NATS server at %s cannot be used", b.hosts)
	}
	if b.stream, err = jetstream.New(b.connection); err != nil {
		b.connection.Close()
		return nil, fmt.Errorf("open JetStream: %w", err)
	}
	return b, nil
}

// hosts are the hosts of addresses, which may contain credentials.
func hosts(addresses string) string {
	var list []string
	for one := range strings.SplitSeq(addresses, ",") {
		if u, err := url.Parse(strings.TrimSpace(one)); err == nil {
			list = append(list, u.Host)
		}
	}
	return strings.Join(list, ", ")
}

func (b *broker) Close() { b.connection.Close() }

// Ready returns why NATS is not connected.
func (b *broker) Ready(context.Context) error {
	if b.connection.IsConnected() {
		return nil
	}
	reason := cmp.Or(b.connection.LastError(), errors.New("the connection is being opened"))
	return sink.NewOutage(reason, "The NATS server at %s cannot be reached", b.hosts)
}

// confirmation is a sent event. err is set if it could not be sent.
type confirmation struct {
	id     string
	size   int
	future jetstream.PubAckFuture
	err    error
}

// Publish sends events with their IDs, by which the stream recognizes repetitions.
func (b *broker) Publish(ctx context.Context, events []consumer.Delivery) (stored []string, refused map[string]string, err error) {
	refused = map[string]string{}
	waiting := make([]*confirmation, 0, len(events))
	for _, e := range events {
		data, err := json.Marshal(e.CloudEvent())
		if err != nil {
			return nil, nil, fmt.Errorf("encode event %s: %w", e.ID, err)
		}
		m := &nats.Msg{Subject: b.subject(e.Event), Header: nats.Header{"Content-Type": {sink.ContentType}}, Data: data}
		future, err := b.stream.PublishMsgAsync(m, jetstream.WithMsgID(e.ID))
		waiting = append(waiting, &confirmation{id: e.ID, size: len(data), future: future, err: err})
	}
	for _, w := range waiting {
		switch reason, broken := b.result(ctx, w); {
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

// result waits until the broker has stored an event. refused is the reason why it never can; the
// error is an outage.
func (b *broker) result(ctx context.Context, c *confirmation) (refused string, err error) {
	err = c.err
	if err == nil {
		select {
		case <-c.future.Ok():
			return "", nil
		case err = <-c.future.Err():
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	answer, answered := errors.AsType[*jetstream.APIError](err)
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Sprintf("The event has %d bytes, and the NATS server accepts messages of at most %d bytes.", c.size, b.connection.MaxPayload()), nil
	case answered && answer.ErrorCode == tooLargeForStream:
		return fmt.Sprintf("The event has %d bytes, more than the stream accepts.", c.size), nil
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		subjects := b.prefix + ".>"
		return "", &sink.OutageError{Message: fmt.Sprintf("No stream of the NATS server at %s stores the subjects %s. Create one: nats stream add FLOWFORGE --subjects '%s'", b.hosts, subjects, subjects)}
	case answered:
		return "", &sink.OutageError{Message: fmt.Sprintf("The stream does not store events: %s.", answer.Description)}
	case !b.connection.IsConnected():
		return "", b.Ready(ctx)
	}
	if last := b.connection.LastError(); last != nil { // such as a missing permission, which NATS reports separately
		err = last
	}
	return "", sink.NewOutage(err, "The NATS server at %s does not confirm events", b.hosts)
}

var outsideSubject = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// subject is prefix.topic.project.type; the project of events above the projects is "_".
func (b *broker) subject(e feed.Event) string {
	project := "_"
	if e.ProjectID != nil {
		project = e.ProjectID.String()
	}
	kind := strings.Trim(outsideSubject.ReplaceAllString(e.Type, "_"), ".")
	return strings.Join([]string{b.prefix, e.Topic, project, strings.ReplaceAll(kind, "..", "._.")}, ".")
}
