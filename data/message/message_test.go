package message_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/data/outgoing"
)

func sample() message.Message {
	return message.Message{
		ID: "01900000-0000-7000-8000-000000000001", Event: "execution.failed", Level: message.Error, Title: "digits.train failed", Text: "labels <b>must</b> be 0–9, @channel & `x`",
		URL: "https://flowforge.example/executions/1", Facts: []message.Fact{{Name: "Version", Value: "1.0.0"}}, Incident: "p/digits.train", At: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC),
	}
}

// posted sends m to a server that answers with status, and returns what the server received.
func posted(t *testing.T, status int, header map[string]string, channel func(url string) message.Channel, m message.Message) (map[string]any, string, error) {
	t.Helper()
	var got map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(raw, &got)
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "no_service\n")
	}))
	defer server.Close()
	answer, err := message.Send(t.Context(), outgoing.Dialer{OwnHosts: true}, channel(server.URL), m)
	return got, answer, err
}

func slack(url string) message.Channel {
	return message.Channel{Kind: message.Slack, Secrets: map[string]string{"webhook_url": url + "/services/secret"}}
}

func TestSlack(t *testing.T) {
	t.Parallel()
	got, answer, err := posted(t, http.StatusOK, nil, slack, sample())
	require.NoError(t, err)
	require.Contains(t, answer, "200 OK")
	raw, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "<b>", "text cannot contain markup")
	require.Contains(t, got["text"], "digits.train failed")
	blocks := got["blocks"].([]any)
	require.Len(t, blocks, 3)
	first := blocks[0].(map[string]any)["text"].(map[string]any)["text"]
	require.Equal(t, "🔴 *<https://flowforge.example/executions/1|digits.train failed>*", first)
}

func TestTeams(t *testing.T) {
	t.Parallel()
	got, _, err := posted(t, http.StatusAccepted, nil, func(url string) message.Channel {
		return message.Channel{Kind: message.Teams, Secrets: map[string]string{"webhook_url": url}}
	}, sample())
	require.NoError(t, err)
	card := got["attachments"].([]any)[0].(map[string]any)["content"].(map[string]any)
	require.Equal(t, "AdaptiveCard", card["type"])
	require.Contains(t, card["body"].([]any)[1].(map[string]any)["text"], `\<b\>must\</b\>`)
}

func TestPagerDuty(t *testing.T) {
	t.Parallel()
	channel := func(url string) message.Channel {
		return message.Channel{Kind: message.PagerDuty, Settings: map[string]any{"endpoint": url}, Secrets: map[string]string{"routing_key": "key"}}
	}
	got, _, err := posted(t, http.StatusAccepted, nil, channel, sample())
	require.NoError(t, err)
	require.Equal(t, "trigger", got["event_action"])
	require.Equal(t, "p/digits.train", got["dedup_key"])
	require.Equal(t, "error", got["payload"].(map[string]any)["severity"])
	m := sample()
	m.Level = message.OK
	got, _, err = posted(t, http.StatusAccepted, nil, channel, m)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"routing_key": "key", "event_action": "resolve", "dedup_key": "p/digits.train", "client": "FlowForge"}, got)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status    int
		header    map[string]string
		permanent bool
		after     time.Duration
	}{
		{http.StatusNotFound, nil, true, 0},
		{http.StatusFound, map[string]string{"Location": "http://169.254.169.254/"}, true, 0},
		{http.StatusTooManyRequests, map[string]string{"Retry-After": "30"}, false, 30 * time.Second},
		{http.StatusServiceUnavailable, map[string]string{"Retry-After": "999999"}, false, time.Hour},
		{http.StatusInternalServerError, map[string]string{"Retry-After": "soon"}, false, 0},
	} {
		_, _, err := posted(t, c.status, c.header, slack, sample())
		failure, ok := errors.AsType[*message.SendError](err)
		require.True(t, ok)
		require.Equal(t, c.permanent, failure.Permanent, c.status)
		require.Equal(t, c.after, failure.After, c.status)
		require.Contains(t, failure.Reason, "no_service")
	}
	failure := failureOf(t, outgoing.Dialer{}, slack("http://127.0.0.1:1"))
	require.True(t, failure.Permanent)
	require.Contains(t, failure.Reason, "FLOWFORGE_OUTGOING_HOSTS")
	require.NotContains(t, failure.Reason, "secret")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	failure = failureOf(t, outgoing.Dialer{OwnHosts: true}, slack("http://"+address))
	require.False(t, failure.Permanent)
	require.Contains(t, failure.Reason, "connection refused")
}

func failureOf(t *testing.T, d outgoing.Dialer, c message.Channel) *message.SendError {
	t.Helper()
	_, err := message.Send(t.Context(), d, c, sample())
	failure, ok := errors.AsType[*message.SendError](err)
	require.True(t, ok, "%v", err)
	return failure
}

// mailbox is a mail server that keeps what it receives, and rejects mail to "refused@…".
type mailbox struct {
	from string
	to   []string
	text string
	done chan struct{}
}

func (m *mailbox) NewSession(*smtp.Conn) (smtp.Session, error) { return m, nil }

func (m *mailbox) Mail(from string, _ *smtp.MailOptions) error { m.from = from; return nil }

func (m *mailbox) Rcpt(to string, _ *smtp.RcptOptions) error {
	if strings.HasPrefix(to, "refused@") {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such mailbox"}
	}
	m.to = append(m.to, to)
	return nil
}

func (m *mailbox) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	m.text = string(raw)
	close(m.done)
	return err
}

func (m *mailbox) Reset() {}

func (m *mailbox) Logout() error { return nil }

func newMailbox(t *testing.T) (*mailbox, func(to, security string) message.Channel) {
	t.Helper()
	box := &mailbox{done: make(chan struct{})}
	server := smtp.NewServer(box)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return box, func(to, security string) message.Channel {
		return message.Channel{Kind: message.Email, Settings: map[string]any{
			"host": "127.0.0.1", "port": listener.Addr().(*net.TCPAddr).Port, "security": security, "from": "FlowForge <flowforge@example.com>", "to": to,
		}}
	}
}

func TestEmail(t *testing.T) {
	t.Parallel()
	box, channel := newMailbox(t)
	answer, err := message.Send(t.Context(), outgoing.Dialer{OwnHosts: true}, channel("ada@example.com, mei@example.com", message.Plain), sample())
	require.NoError(t, err)
	require.Contains(t, answer, "accepted by 127.0.0.1")
	<-box.done
	require.Equal(t, "flowforge@example.com", box.from)
	require.Equal(t, []string{"ada@example.com", "mei@example.com"}, box.to)
	require.Contains(t, box.text, "Subject: digits.train failed")
	require.Contains(t, box.text, "Message-ID: <01900000-0000-7000-8000-000000000001@flowforge>")
	require.Contains(t, box.text, "text/plain")
	require.Contains(t, box.text, "text/html")
	text := strings.ReplaceAll(box.text, "=\r\n", "") // soft line breaks
	require.Contains(t, text, "labels &lt;b&gt;must&lt;/b&gt;", "the HTML part shows text as it is")
}

func TestEmailRefusals(t *testing.T) {
	t.Parallel()
	_, channel := newMailbox(t)
	own := outgoing.Dialer{OwnHosts: true}
	failure := failureOf(t, own, channel("refused@example.com", message.Plain))
	require.True(t, failure.Permanent)
	require.Contains(t, failure.Reason, "550")
	failure = failureOf(t, own, channel("ada@example.com", message.StartTLS))
	require.Contains(t, failure.Reason, "STARTTLS", "a server without encryption is refused")
	failure = failureOf(t, own, channel("not an address", message.Plain))
	require.True(t, failure.Permanent)
	failure = failureOf(t, own, channel("ada@example.com", message.TLS))
	require.Contains(t, failure.Reason, "The connection failed")
	failure = failureOf(t, outgoing.Dialer{}, channel("ada@example.com", message.Plain))
	require.Contains(t, failure.Reason, "FLOWFORGE_OUTGOING_HOSTS")
}
