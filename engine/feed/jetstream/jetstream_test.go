package jetstream_test

import (
	"encoding/json"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	client "github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/engine/feed/consumer"
	"github.com/flowforge/flowforge/engine/feed/jetstream"
	"github.com/flowforge/flowforge/engine/feed/sink"
	"github.com/flowforge/flowforge/engine/feed/sink/sinktest"
)

type bundle struct {
	*sinktest.Feed
	folder string // of the broker's streams
	port   int    // of the broker
}

func setup(t *testing.T) *bundle {
	t.Helper()
	return &bundle{Feed: sinktest.New(t, sink.NATS), folder: t.TempDir(), port: server.RANDOM_PORT}
}

// broker starts the NATS server, on the port that it had before.
func (b *bundle) broker() *server.Server {
	b.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: b.port, JetStream: true, StoreDir: b.folder, NoSigs: true, NoLog: true, MaxPayload: 64 << 10})
	require.NoError(b, err)
	s.Start()
	require.True(b, s.ReadyForConnections(time.Minute))
	b.port = s.Addr().(*net.TCPAddr).Port
	b.Cleanup(func() { stop(s) })
	return s
}

func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// stream creates the stream of the events, or opens it.
func (b *bundle) stream() client.Stream {
	b.Helper()
	nc, err := nats.Connect("nats://127.0.0.1:" + strconv.Itoa(b.port))
	require.NoError(b, err)
	b.Cleanup(nc.Close)
	js, err := client.New(nc)
	require.NoError(b, err)
	s, err := js.CreateOrUpdateStream(b.Ctx, client.StreamConfig{Name: "FLOWFORGE", Subjects: []string{"forge.>"}})
	require.NoError(b, err)
	return s
}

func (b *bundle) run(crash func(point string)) (end func()) {
	b.Helper()
	return b.Run(jetstream.New(jetstream.Config{Consumers: b.Consumers, URL: "nats://127.0.0.1:" + strconv.Itoa(b.port), Subject: "forge", Crash: crash}))
}

// messages are the messages of the stream in their order.
func (b *bundle) messages(s client.Stream) (list []*client.RawStreamMsg) {
	b.Helper()
	info, err := s.Info(b.Ctx)
	require.NoError(b, err)
	for seq := uint64(1); seq <= info.State.LastSeq; seq++ {
		m, err := s.GetMsg(b.Ctx, seq)
		require.NoError(b, err)
		list = append(list, m)
	}
	return list
}

func (b *bundle) ids(s client.Stream) (list []string) {
	b.Helper()
	for _, m := range b.messages(s) {
		list = append(list, m.Header.Get("Nats-Msg-Id"))
	}
	return list
}

// TestEventsAreSent as CloudEvents, on subjects by topic, project and type.
func TestEventsAreSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.broker()
	s := b.stream()
	id := uuid.New()
	b.Record("a", &id, 1)
	b.run(nil)
	b.Until(sinktest.Sent(1))
	m := b.messages(s)[0]
	require.Equal(t, "forge.task."+auth.LocalProject.String()+".node.started", m.Subject)
	require.Equal(t, []string{"a", "application/cloudevents+json"}, []string{m.Header.Get("Nats-Msg-Id"), m.Header.Get("Content-Type")})
	var e feed.CloudEvent
	require.NoError(t, json.Unmarshal(m.Data, &e))
	require.Equal(t, []any{"1.0", "a", "node.started", "train", "1", id}, []any{e.SpecVersion, e.ID, e.Type, e.Subject, e.Cursor, *e.ExecutionID})
	_, err := b.Consumers.Read(b.Ctx, sink.NATS.Ref(), consumer.Batch{})
	require.ErrorContains(t, err, "The server itself reads")
}

// TestAKillBeforeTheCursorMoves: the next leader sends the events again, and the stream has each once.
func TestAKillBeforeTheCursorMoves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.broker()
	s := b.stream()
	x := uuid.New()
	var want []string
	for n := range 20 {
		want = append(want, "x"+strconv.Itoa(n))
		b.Record(want[n], &x, 1)
	}
	stored, killed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	b.run(func(string) { // the first sink stops permanently after the broker has stored an event
		once.Do(func() { close(stored) })
		<-killed
	})
	t.Cleanup(func() { close(killed) })
	<-stored
	require.Equal(t, []string{"x0"}, b.ids(s))
	b.EndLeases()
	b.run(nil)
	b.Until(sinktest.Sent(20))
	require.Equal(t, want, b.ids(s), "each once, in order")
}

// TestTheBrokerStops, and the consumer shows it. After its restart, the sink continues without a loss.
func TestTheBrokerStops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x, y := uuid.New(), uuid.New()
	first := b.broker()
	b.run(nil)
	b.Record("x1", &x, 1)
	c := b.Until(sinktest.Stopped)
	require.Contains(t, c.Problem, "nats stream add FLOWFORGE --subjects 'forge.>'")
	require.Zero(t, c.DeadLetters, "the events are not at fault")
	b.stream()
	b.Until(sinktest.Sent(1))
	stop(first)
	b.Record("x2", &x, 1)
	b.Record("y1", &y, 1)
	c = b.Until(sinktest.Stopped)
	require.Contains(t, c.Problem, "127.0.0.1:"+strconv.Itoa(b.port)+" cannot be reached")
	require.NotNil(t, c.ProblemAt)
	b.broker()
	b.Until(sinktest.Sent(3))
	require.Equal(t, []string{"x1", "x2", "y1"}, b.ids(b.stream()))
}

// TestAnEventThatIsTooLarge becomes a dead letter at once and holds nothing back.
func TestAnEventThatIsTooLarge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.broker()
	s := b.stream()
	x := uuid.New()
	b.Record("large", &x, 100<<10)
	b.Record("small", &x, 1)
	b.run(nil)
	c := b.Until(sinktest.Sent(1))
	require.EqualValues(t, 1, c.DeadLetters)
	require.Equal(t, []string{"small"}, b.ids(s))
	page, err := b.Consumers.DeadLetters(b.Ctx, sink.NATS.Ref(), "", 10)
	require.NoError(t, err)
	require.Contains(t, page.Letters[0].Error, "accepts messages of at most 65536 bytes")
}

func TestProblemsOfSettings(t *testing.T) {
	t.Parallel()
	require.Empty(t, jetstream.Config{}.Problems())
	require.Empty(t, jetstream.Config{URL: "nats://a:4222, tls://user:secret@b:4222", Subject: "forge.events", Topics: []string{"audit"}}.Problems())
	for want, c := range map[string]jetstream.Config{
		"FLOWFORGE_EVENTS_NATS_URL": {URL: "http://user:secret@a"}, "FLOWFORGE_EVENTS_NATS_SUBJECT": {URL: "nats://a", Subject: "a b"}, "FLOWFORGE_EVENTS_NATS_TOPICS": {URL: "nats://a", Topics: []string{"moon"}},
		"FLOWFORGE_EVENTS_NATS_CREDENTIALS": {URL: "nats://a", Credentials: "/absent"}, "FLOWFORGE_EVENTS_NATS_CA": {URL: "nats://a", CA: "/absent"},
	} {
		problems := c.Problems()
		require.Len(t, problems, 1, want)
		require.ErrorContains(t, problems[0], want)
		require.NotContains(t, problems[0].Error(), "secret")
	}
}
