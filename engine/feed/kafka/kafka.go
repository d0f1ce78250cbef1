// Package kafka sends the events of the feed to a topic of Apache Kafka, or of a broker with its protocol.
package kafka

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/flowforge/flowforge/engine/feed/consumer"
	"github.com/flowforge/flowforge/engine/feed/sink"
	"github.com/flowforge/flowforge/platform/certificate"
)

// DefaultTopic is the topic that receives the events.
const DefaultTopic = "flowforge.events"

// Config configures a sink. Consumers and Brokers are required.
type Config struct {
	Consumers *consumer.Service
	Brokers   []string // host:port of some brokers of the cluster, which name the others
	Topic     string   // of Kafka; "": DefaultTopic
	Topics    []string // of the feed; none: all but audit

	TLS       bool
	CA        string // path of a PEM file with the CA of the brokers; "": the system's
	Cert, Key string // paths of PEM files with a client certificate; "": none

	Mechanism      string // one of Mechanisms; "": PLAIN if there is a user
	User, Password string // "": no SASL

	// Crash, when set, is called with the name of each point where a crash must be harmless.
	Crash  func(point string)
	Logger *slog.Logger
}

// Mechanisms are the supported SASL mechanisms.
func Mechanisms() []string { return []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} }

var topicForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)

// Problems describes the errors in the settings, one error per problem. Without brokers there is
// no sink.
func (c Config) Problems() (problems []error) {
	if len(c.Brokers) == 0 {
		return nil
	}
	for _, address := range c.Brokers {
		host, port, err := net.SplitHostPort(address)
		if _, number := strconv.ParseUint(port, 10, 16); err != nil || host == "" || number != nil {
			problems = append(problems, fmt.Errorf("FLOWFORGE_EVENTS_KAFKA_BROKERS contains %q, which is not an address such as kafka.example.com:9092", address))
		}
	}
	if c.Topic != "" && !topicForm.MatchString(c.Topic) {
		problems = append(problems, fmt.Errorf("FLOWFORGE_EVENTS_KAFKA_TOPIC %q is not a topic of letters, digits, dots, hyphens and underscores, such as %s", c.Topic, DefaultTopic))
	}
	if (c.User == "") != (c.Password == "") {
		problems = append(problems, errors.New("set FLOWFORGE_EVENTS_KAFKA_USER and FLOWFORGE_EVENTS_KAFKA_PASSWORD together"))
	}
	if c.Mechanism != "" && !slices.Contains(Mechanisms(), c.Mechanism) {
		problems = append(problems, fmt.Errorf("FLOWFORGE_EVENTS_KAFKA_SASL %q is not one of %s", c.Mechanism, strings.Join(Mechanisms(), ", ")))
	}
	if (c.Cert == "") != (c.Key == "") {
		problems = append(problems, errors.New("set FLOWFORGE_EVENTS_KAFKA_CERT and FLOWFORGE_EVENTS_KAFKA_KEY together"))
	} else if _, err := certificate.Load(c.files()); err != nil {
		problems = append(problems, fmt.Errorf("FLOWFORGE_EVENTS_KAFKA_CA, FLOWFORGE_EVENTS_KAFKA_CERT: %w", err))
	}
	if !c.TLS && (c.CA != "" || c.Cert != "") {
		problems = append(problems, errors.New("FLOWFORGE_EVENTS_KAFKA_CA and FLOWFORGE_EVENTS_KAFKA_CERT need FLOWFORGE_EVENTS_KAFKA_TLS=on"))
	}
	return append(problems, sink.TopicProblems("FLOWFORGE_EVENTS_KAFKA_FEED_TOPICS", c.Topics)...)
}

func (c Config) files() certificate.Files {
	return certificate.Files{Cert: c.Cert, Key: c.Key, CA: c.CA}
}

// mechanism returns how connections authenticate, or nil.
func (c Config) mechanism() sasl.Mechanism {
	switch {
	case c.User == "":
		return nil
	case c.Mechanism == "SCRAM-SHA-256":
		return scram.Auth{User: c.User, Pass: c.Password}.AsSha256Mechanism()
	case c.Mechanism == "SCRAM-SHA-512":
		return scram.Auth{User: c.User, Pass: c.Password}.AsSha512Mechanism()
	}
	return plain.Auth{User: c.User, Pass: c.Password}.AsMechanism()
}

// New returns a sink.
func New(c Config) *sink.Sink {
	c.Topic = cmp.Or(c.Topic, DefaultTopic)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return sink.New(sink.Config{
		Consumers: c.Consumers, System: sink.Kafka, Topics: c.Topics, Crash: c.Crash, Logger: c.Logger,
		Connect: func() (sink.Broker, error) { return &broker{config: c}, nil },
	})
}
