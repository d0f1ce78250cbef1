package main

import (
	"github.com/flowforge/flowforge/app"
	"github.com/flowforge/flowforge/cmd/flowforge/settings"
	"github.com/flowforge/flowforge/engine/feed/jetstream"
	"github.com/flowforge/flowforge/engine/feed/kafka"
)

// eventsFrom returns the brokers that receive events.
func eventsFrom(s settings.Events) app.Events {
	return app.Events{
		NATS: jetstream.Config{URL: s.NATSURL, Subject: s.NATSSubject, Credentials: s.NATSCredentials, CA: s.NATSCA, Topics: s.NATSTopics},
		Kafka: kafka.Config{
			Brokers: s.KafkaBrokers, Topic: s.KafkaTopic, Topics: s.KafkaFeedTopics, TLS: bool(s.KafkaTLS), CA: s.KafkaCA, Cert: s.KafkaCert, Key: s.KafkaKey,
			Mechanism: s.KafkaSASL, User: s.KafkaUser, Password: s.KafkaPassword,
		},
	}
}
