package jetstream

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The error code of JetStream for a message that is larger than the stream allows.
const tooLargeForStream jetstream.ErrorCode = 10054

// broker is a connection to NATS, which reconnects by itself.
type broker struct {
	connection *nats.Conn
	stream     jetstream.JetStream
	subjects   string // of all events
	hosts      string // without credentials
}

// connect returns a connection that may still be trying to reach the broker. The error is an outage.
func (s *Sink) connect() (*broker, error) {
	options := []nats.Option{
		nats.Name("flowforge"), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(time.Second),
		nats.ReconnectBufSize(-1), // events that the client would keep and send later could overtake others
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { s.config.Logger.Debug("NATS", "error", err) }),
	}
	if s.config.Credentials != "" {
		options = append(options, nats.UserCredentials(s.config.Credentials))
	}
	if s.config.CA != "" {
		options = append(options, nats.RootCAs(s.config.CA))
	}
	b := &broker{subjects: s.config.Subject + ".>", hosts: hosts(s.config.URL)}
	var err error
	if b.connection, err = nats.Connect(s.config.URL, options...); err != nil {
		return nil, &outage{fmt.Sprintf("The NATS server at %s cannot be used: %v.", b.hosts, err)}
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

func (b *broker) unreachable() error {
	reason := "the connection is being opened"
	if err := b.connection.LastError(); err != nil {
		reason = err.Error()
	}
	return &outage{fmt.Sprintf("The NATS server at %s cannot be reached: %s.", b.hosts, reason)}
}

// confirmation is a sent event. err is set if it could not be sent.
type confirmation struct {
	id     string
	size   int
	future jetstream.PubAckFuture
	err    error
}

// publish sends an event, whose ID lets the broker recognize a repetition.
func (b *broker) publish(id string, m *nats.Msg) *confirmation {
	future, err := b.stream.PublishMsgAsync(m, jetstream.WithMsgID(id))
	return &confirmation{id: id, size: len(m.Data), future: future, err: err}
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
		return "", &outage{fmt.Sprintf("No stream of the NATS server at %s stores the subjects %s. Create one: nats stream add FLOWFORGE --subjects '%s'", b.hosts, b.subjects, b.subjects)}
	case answered:
		return "", &outage{fmt.Sprintf("The stream does not store events: %s.", answer.Description)}
	case !b.connection.IsConnected():
		return "", b.unreachable()
	}
	if last := b.connection.LastError(); last != nil { // such as a missing permission, which NATS reports separately
		err = last
	}
	return "", &outage{fmt.Sprintf("The NATS server at %s does not confirm events: %v.", b.hosts, err)}
}
