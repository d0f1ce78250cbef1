package kafka

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/engine/feed/consumer"
	"github.com/flowforge/flowforge/engine/feed/sink"
	"github.com/flowforge/flowforge/platform/certificate"
)

const (
	dialLimit = 5 * time.Second
	pingLimit = 5 * time.Second
	// deliver is how long the client retries an event. It is shorter than sink.Confirm, so that the client
	// reports why the cluster does not store the event.
	deliver = 8 * time.Second
)

// broker is a client of a Kafka cluster. After an outage, it is replaced: a client keeps an event whose
// result is unknown until the cluster responds, and would store it late.
type broker struct {
	config Config
	client *kgo.Client // nil: not connected
}

// Close ends the client, if there is one.
func (b *broker) Close() {
	if b.client != nil {
		b.client.Close()
		b.client = nil
	}
}

// Ready connects to the cluster, and returns why it cannot be reached.
func (b *broker) Ready(ctx context.Context) error {
	if b.client != nil {
		return nil
	}
	client, err := b.config.open()
	if err != nil {
		return sink.NewOutage(err, "The Kafka cluster at %s cannot be used", b.hosts())
	}
	ctx, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	if err := client.Ping(ctx); err != nil {
		client.Close()
		return sink.NewOutage(err, "The Kafka cluster at %s cannot be reached", b.hosts())
	}
	b.client = client
	return nil
}

func (b *broker) hosts() string { return strings.Join(b.config.Brokers, ", ") }

// open returns a client, which connects when it is used.
func (c Config) open() (*kgo.Client, error) {
	options := []kgo.Opt{
		kgo.ClientID("flowforge"), kgo.SeedBrokers(c.Brokers...), kgo.DefaultProduceTopic(c.Topic), kgo.DialTimeout(dialLimit),
		kgo.ProducerLinger(0), kgo.RecordDeliveryTimeout(deliver), kgo.UnknownTopicRetries(0), kgo.RequestTimeoutOverhead(deliver),
	}
	if m := c.mechanism(); m != nil {
		options = append(options, kgo.SASL(m))
	}
	if c.TLS {
		pair, err := certificate.Load(c.files())
		if err != nil {
			return nil, err
		}
		options = append(options, kgo.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			config, err := pair.Client(host)
			if err != nil {
				return nil, err
			}
			return (&tls.Dialer{NetDialer: &net.Dialer{Timeout: dialLimit}, Config: config}).DialContext(ctx, network, address)
		}))
	}
	return kgo.NewClient(options...)
}

// Publish sends events. The cluster stores events with the same key, such as those of an execution, in one
// partition.
func (b *broker) Publish(ctx context.Context, events []consumer.Delivery) (stored []string, refused map[string]string, err error) {
	refused = map[string]string{}
	var tooLarge []consumer.Delivery
	results, err := b.produce(ctx, events)
	for i, e := range events {
		switch failure := results[i]; {
		case failure == nil:
			stored = append(stored, e.ID)
		case errors.Is(failure, kerr.MessageTooLarge):
			tooLarge = append(tooLarge, e)
		case err == nil:
			err = b.outage(failure)
		}
	}
	for _, e := range tooLarge {
		switch {
		case len(events) == 1:
			refused[e.ID] = fmt.Sprintf("The event has %d bytes, more than the topic %s accepts.", len(e.Data), b.config.Topic)
		case err == nil: // the cluster refused a batch of events, each of which it may accept
			var one []string
			var never map[string]string
			one, never, err = b.Publish(ctx, []consumer.Delivery{e})
			stored = append(stored, one...)
			maps.Copy(refused, never)
		}
	}
	if err != nil {
		b.Close()
	}
	return stored, refused, err
}

// errUnknown is the result of an event that the cluster has neither stored nor refused in time.
var errUnknown = errors.New("it does not respond")

// produce sends events, and returns the result of each: nil if the cluster has stored it.
func (b *broker) produce(ctx context.Context, events []consumer.Delivery) ([]error, error) {
	type result struct {
		index int
		err   error
	}
	results := slices.Repeat([]error{errUnknown}, len(events))
	finished := make(chan result, len(events))
	for i, e := range events {
		data, err := json.Marshal(e.CloudEvent())
		if err != nil {
			return results, fmt.Errorf("encode event %s: %w", e.ID, err)
		}
		record := &kgo.Record{Key: key(e.Event), Value: data, Headers: []kgo.RecordHeader{{Key: "content-type", Value: []byte(sink.ContentType)}}}
		b.client.Produce(ctx, record, func(_ *kgo.Record, err error) { finished <- result{i, err} })
	}
	for range events {
		select {
		case r := <-finished:
			results[r.index] = r.err
		case <-ctx.Done():
			return results, nil
		}
	}
	return results, nil
}

// key is the execution of an event, or else its project. Other events have none.
func key(e feed.Event) []byte {
	id := cmp.Or(e.ExecutionID, e.ProjectID)
	if id == nil {
		return nil
	}
	return []byte(id.String())
}

// outage describes why the cluster did not store an event.
func (b *broker) outage(err error) error {
	topic := b.config.Topic
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID):
		return &sink.OutageError{Message: fmt.Sprintf("The Kafka cluster at %s has no topic %s. Create it: kafka-topics.sh --bootstrap-server %s --create --topic %s", b.hosts(), topic, b.config.Brokers[0], topic)}
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return &sink.OutageError{Message: fmt.Sprintf("The Kafka cluster at %s does not allow the user to write to the topic %s.", b.hosts(), topic)}
	}
	return sink.NewOutage(err, "The Kafka cluster at %s does not store events", b.hosts())
}
