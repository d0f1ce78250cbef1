package app

import (
	"time"

	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/engine/feed/consumer"
	"github.com/flowforge/flowforge/engine/feed/jetstream"
	"github.com/flowforge/flowforge/engine/feed/kafka"
	"github.com/flowforge/flowforge/engine/trigger"
)

// Events configures the brokers that receive events; App fills in what they need of the server.
type Events struct {
	NATS  jetstream.Config
	Kafka kafka.Config
}

// openTriggers creates the services of triggers and of the feed of events. The job that reports the end of
// an execution and the endpoint of webhooks call triggers; the leader copies events to the feed, from which
// triggers and consumers receive them, and sends them to brokers.
func (a *App) openTriggers(p *parts) {
	p.triggers = trigger.New(trigger.Config{
		Pool: p.pool, Workflows: p.workflows, Executions: p.executions.Launches, Secrets: p.secrets, Connections: p.connections, Dialer: a.cfg.dialer(), Acting: p.users.Acting, Watch: p.watch, Logger: a.cfg.Log, Now: time.Now,
	})
	p.feed = feed.New(feed.Config{Pool: p.pool, Reads: p.reads, Keep: a.cfg.Retention.Events, Copied: p.wakeReaders, Watch: p.watch, Logger: a.cfg.Log, Now: time.Now})
	p.consumers = consumer.New(consumer.Config{Pool: p.pool, Keep: a.cfg.Retention.Events, Now: time.Now})
	if c := a.cfg.Events.NATS; c.URL != "" {
		c.Consumers, c.Logger = p.consumers, a.cfg.Log
		p.sinks = append(p.sinks, jetstream.New(c))
	}
	if c := a.cfg.Events.Kafka; len(c.Brokers) > 0 {
		c.Consumers, c.Logger = p.consumers, a.cfg.Log
		p.sinks = append(p.sinks, kafka.New(c))
	}
}

// wakeReaders makes those read the feed that this process runs.
func (p *parts) wakeReaders() {
	p.triggers.Wake()
	p.inbox.Wake()
}
