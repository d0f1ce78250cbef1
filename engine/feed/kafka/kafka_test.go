package kafka_test

import (
	"encoding/json"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/engine/feed/consumer"
	"github.com/flowforge/flowforge/engine/feed/kafka"
	"github.com/flowforge/flowforge/engine/feed/sink"
	"github.com/flowforge/flowforge/engine/feed/sink/sinktest"
	"github.com/flowforge/flowforge/platform/certificate"
	"github.com/flowforge/flowforge/platform/certificate/certtest"
)

const topic = "forge.events"

type bundle struct {
	*sinktest.Feed
	folder string // of the cluster's records
	port   int
}

func setup(t *testing.T) *bundle {
	t.Helper()
	return &bundle{Feed: sinktest.New(t, sink.Kafka), folder: t.TempDir()}
}

// cluster starts a broker that speaks the protocol of Kafka, on the port that it had before.
func (b *bundle) cluster(options ...kfake.Opt) *kfake.Cluster {
	b.Helper()
	options = append(options, kfake.NumBrokers(1), kfake.DataDir(b.folder), kfake.SyncWrites(), kfake.DefaultNumPartitions(3))
	if b.port != 0 {
		options = append(options, kfake.Ports(b.port))
	}
	c, err := kfake.NewCluster(options...)
	require.NoError(b, err)
	b.Cleanup(c.Close)
	_, port, err := net.SplitHostPort(c.ListenAddrs()[0])
	require.NoError(b, err)
	b.port, err = strconv.Atoi(port)
	require.NoError(b, err)
	return c
}

func (b *bundle) address() string { return "127.0.0.1:" + strconv.Itoa(b.port) }

func (b *bundle) run(change func(*kafka.Config)) (end func()) {
	b.Helper()
	c := kafka.Config{Consumers: b.Consumers, Brokers: []string{b.address()}, Topic: topic}
	if change != nil {
		change(&c)
	}
	return b.Run(kafka.New(c))
}

// records reads n records of the topic.
func (b *bundle) records(n int, options ...kgo.Opt) (list []*kgo.Record) {
	b.Helper()
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(b.address()), kgo.ConsumeTopics(topic))...)
	require.NoError(b, err)
	defer client.Close()
	for len(list) < n {
		fetches := client.PollFetches(b.Ctx)
		require.NoError(b, fetches.Err())
		list = append(list, fetches.Records()...)
	}
	return list
}

// createTopic creates the topic in a running cluster.
func (b *bundle) createTopic() {
	b.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.address()))
	require.NoError(b, err)
	defer client.Close()
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: topic, NumPartitions: 3, ReplicationFactor: 1}}
	response, err := request.RequestWith(b.Ctx, client)
	require.NoError(b, err)
	require.NoError(b, kerr.ErrorForCode(response.Topics[0].ErrorCode))
}

// idsOf are the IDs of the records with a key, in the order of their partition.
func idsOf(t *testing.T, records []*kgo.Record, key string) (ids []string) {
	t.Helper()
	for _, r := range records {
		var e feed.CloudEvent
		require.NoError(t, json.Unmarshal(r.Value, &e))
		if string(r.Key) == key {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// TestEventsAreSent as CloudEvents, with the execution as their key.
func TestEventsAreSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.cluster(kfake.SeedTopics(3, topic))
	x := uuid.New()
	b.Record("a", &x, 1)
	b.Record("b", nil, 1)
	b.run(nil)
	b.Until(sinktest.Sent(2))
	records := b.records(2)
	require.Equal(t, []string{"a"}, idsOf(t, records, x.String()))
	require.Equal(t, []string{"b"}, idsOf(t, records, auth.LocalProject.String()))
	require.Equal(t, []kgo.RecordHeader{{Key: "content-type", Value: []byte("application/cloudevents+json")}}, records[0].Headers)
}

// TestAKillBeforeTheCursorMoves: the next leader sends the events again, in their order.
func TestAKillBeforeTheCursorMoves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.cluster(kfake.SeedTopics(3, topic))
	x := uuid.New()
	want := []string{"x0"} // stored, but its leader is killed before the cursor moves
	for n := range 20 {
		want = append(want, "x"+strconv.Itoa(n))
		b.Record(want[n+1], &x, 1)
	}
	stored, killed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	b.run(func(c *kafka.Config) {
		c.Crash = func(string) { // the first sink stops permanently after the cluster has stored an event
			once.Do(func() { close(stored) })
			<-killed
		}
	})
	t.Cleanup(func() { close(killed) })
	<-stored
	b.EndLeases()
	b.run(nil)
	b.Until(sinktest.Sent(20))
	require.Equal(t, want, idsOf(t, b.records(21), x.String()))
}

// TestTheClusterStops, and the consumer shows it. After its restart, the sink continues without a loss.
func TestTheClusterStops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x, y := uuid.New(), uuid.New()
	b.cluster().Close()
	b.run(nil)
	b.Record("x1", &x, 1)
	c := b.Until(sinktest.Stopped)
	require.Contains(t, c.Problem, "The Kafka cluster at "+b.address()+" cannot be reached: ")
	running := b.cluster()
	c = b.Until(func(now consumer.Consumer) bool { return now.Problem != "" && now.Problem != c.Problem })
	require.Contains(t, c.Problem, "has no topic forge.events. Create it: kafka-topics.sh --bootstrap-server "+b.address()+" --create --topic forge.events")
	require.Zero(t, c.DeadLetters, "the events are not at fault")
	b.createTopic()
	b.Until(sinktest.Sent(1))
	running.Close()
	b.Record("x2", &x, 1)
	b.Record("y1", &y, 1)
	b.Until(sinktest.Stopped)
	b.cluster()
	b.Until(sinktest.Sent(3))
	records := b.records(3)
	require.Equal(t, []string{"x1", "x2"}, idsOf(t, records, x.String()))
	require.Equal(t, []string{"y1"}, idsOf(t, records, y.String()))
}

// TestAnEventThatIsTooLarge becomes a dead letter, also when the cluster refuses it with others, which it
// accepts.
func TestAnEventThatIsTooLarge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.cluster(kfake.SeedTopics(1, topic), kfake.BrokerConfigs(map[string]string{"message.max.bytes": "65536"}))
	x, y, z := uuid.New(), uuid.New(), uuid.New()
	b.Record("large", &x, 100<<10)
	b.Record("small", &x, 1)
	b.Record("y", &y, 40<<10)
	b.Record("z", &z, 40<<10)
	b.run(nil)
	c := b.Until(sinktest.Sent(3))
	require.EqualValues(t, 1, c.DeadLetters)
	records := b.records(3)
	require.Equal(t, [][]string{{"small"}, {"y"}, {"z"}}, [][]string{idsOf(t, records, x.String()), idsOf(t, records, y.String()), idsOf(t, records, z.String())})
	page, err := b.Consumers.DeadLetters(b.Ctx, sink.Kafka.Ref(), "", 10)
	require.NoError(t, err)
	require.Contains(t, page.Letters[0].Error, "more than the topic forge.events accepts")
}

// TestTLSAndSASL: the sink trusts the CA alone, and authenticates.
func TestTLSAndSASL(t *testing.T) {
	t.Parallel()
	b := setup(t)
	authority, dir := certtest.New(t), t.TempDir()
	cert, key := authority.Issue(t, dir, "127.0.0.1", time.Now().Add(time.Hour))
	pair, err := certificate.Load(certificate.Files{Cert: cert, Key: key})
	require.NoError(t, err)
	b.cluster(kfake.SeedTopics(1, topic), kfake.TLS(pair.Server()), kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-512", "forge", "right"))
	b.Record("a", nil, 1)
	secured := func(password string) func(*kafka.Config) {
		return func(c *kafka.Config) {
			c.TLS, c.CA, c.Mechanism, c.User, c.Password = true, authority.File, "SCRAM-SHA-512", "forge", password
		}
	}
	end := b.run(nil)
	plain := b.Until(sinktest.Stopped).Problem
	require.Contains(t, plain, "is TLS missing.")
	end()
	end = b.run(secured("wrong"))
	b.Until(func(c consumer.Consumer) bool {
		t.Log(c.Problem)
		return sinktest.Stopped(c) && c.Problem != plain
	})
	end()
	b.run(secured("right"))
	b.Until(sinktest.Sent(1))
}

func TestProblemsOfSettings(t *testing.T) {
	t.Parallel()
	require.Empty(t, kafka.Config{}.Problems())
	require.Empty(t, kafka.Config{Brokers: []string{"a:9092", "b:9092"}, Topic: "forge.events", User: "u", Password: "p", Mechanism: "PLAIN", Topics: []string{"audit"}}.Problems())
	a := []string{"a:9092"}
	for want, c := range map[string]kafka.Config{
		"FLOWFORGE_EVENTS_KAFKA_BROKERS": {Brokers: []string{"kafka://a"}}, "FLOWFORGE_EVENTS_KAFKA_TOPIC": {Brokers: a, Topic: "a b"},
		"FLOWFORGE_EVENTS_KAFKA_FEED_TOPICS": {Brokers: a, Topics: []string{"moon"}}, "FLOWFORGE_EVENTS_KAFKA_PASSWORD": {Brokers: a, User: "u"},
		"FLOWFORGE_EVENTS_KAFKA_SASL": {Brokers: a, User: "u", Password: "p", Mechanism: "MD5"}, "FLOWFORGE_EVENTS_KAFKA_CA": {Brokers: a, TLS: true, CA: "/absent"},
		"FLOWFORGE_EVENTS_KAFKA_KEY": {Brokers: a, TLS: true, Cert: "/absent"},
	} {
		problems := c.Problems()
		require.Len(t, problems, 1, want)
		require.ErrorContains(t, problems[0], want)
	}
}
