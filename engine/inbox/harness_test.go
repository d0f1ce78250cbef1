package inbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/data/outgoing"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/engine/notify"
)

const site = "https://flowforge.example"

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// bundle is an installation with users, whose permissions are those of the policies in the database.
type bundle struct {
	t        *testing.T
	pool     *pgxpool.Pool
	clock    *clock
	config   inbox.Config
	service  *inbox.Service
	feed     *feed.Service
	policies *auth.Policies
	system   context.Context
	workflow uuid.UUID
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, pool: dbtest.New(t), clock: &clock{at: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)}, system: auth.AsSystem(t.Context()), workflow: uuid.New()}
	var err error
	b.policies, err = auth.NewPolicies(t.Context(), b.pool)
	require.NoError(t, err)
	b.feed = feed.New(feed.Config{Pool: b.pool, Now: b.clock.now})
	b.config = inbox.Config{
		Pool: b.pool, Notifications: notify.New(notify.Config{Pool: b.pool, PublicURL: site, Now: b.clock.now}), PublicURL: site, Now: b.clock.now,
		MayRead: func(user, project uuid.UUID) bool { return b.policies.For(user).May(auth.ExecutionRead, project) },
		Dialer:  outgoing.Dialer{OwnHosts: true},
	}
	b.service = inbox.New(b.config)
	b.receive() // what the migrations did
	return b
}

// with replaces the service by one with changed configuration.
func (b *bundle) with(change func(*inbox.Config)) {
	change(&b.config)
	b.service = inbox.New(b.config)
}

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	_, err := b.pool.Exec(b.system, sql, args...)
	require.NoError(b.t, err)
}

// someone is a person with their own context.
type someone struct {
	context.Context
	id uuid.UUID
}

// person adds a person with a role in the local project; "": none.
func (b *bundle) person(name, role string) someone {
	b.t.Helper()
	id := uuid.New()
	b.exec("INSERT INTO users (id, name, kind, issuer, subject, email) VALUES ($1, $2, 'person', 'https://login.example', $2, $2 || '@example.com')", id, name)
	if role != "" {
		b.exec("INSERT INTO memberships (id, user_id, node_id, role) VALUES ($1, $2, $3, $4)", uuid.New(), id, auth.LocalProject, role)
	}
	require.NoError(b.t, b.policies.Reload(b.t.Context()))
	return someone{auth.WithSubject(b.t.Context(), auth.Subject{
		ID: id, Name: name, Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, Policy: b.policies.For(id),
	}), id}
}

// launched inserts a running execution of digits.train.
func (b *bundle) launched(by someone) uuid.UUID {
	b.t.Helper()
	id := uuid.Must(uuid.NewV7())
	b.exec(`INSERT INTO executions (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, status, priority, inputs,
			submitted_by, submitted_by_name, created_at, started_at, total, pending, running, levels)
		VALUES ($1, $2, $3, $4, $4, 'digits.train', '1.0.0', 'RUNNING', 50, '{}', $5, 'ada', $6, $6, 1, 0, 1, 1)`,
		id, auth.LocalTenant, auth.LocalProject, b.workflow, by.id, b.clock.now())
	return id
}

// event records an event of an execution, about its only node for kinds that begin with "node.".
func (b *bundle) event(id uuid.UUID, kind, text string, data any) {
	b.t.Helper()
	var node *int
	if strings.HasPrefix(kind, "node.") {
		node = new(0)
		b.exec(`INSERT INTO nodes (execution_id, node_index, name, level, state, pending_dependencies, attempt) VALUES ($1, 0, 'review', 0, 'RUNNING', 0, 1) ON CONFLICT DO NOTHING`, id)
	}
	raw, err := json.Marshal(data)
	require.NoError(b.t, err)
	b.exec(`WITH counted AS (UPDATE executions SET event_seq = event_seq + 1 WHERE id = $1 RETURNING id, event_seq)
		INSERT INTO events (execution_id, seq, at, kind, node_index, message, data) SELECT id, event_seq, $2, $3, $4, $5, $6 FROM counted`, id, b.clock.now(), kind, node, text, raw)
}

// ends ends an execution after some time.
func (b *bundle) ends(id uuid.UUID, status string, took time.Duration) {
	b.t.Helper()
	b.clock.add(took)
	var failure any
	if status == "FAILED" {
		failure = `{"message": "train failed: out of memory"}`
	}
	b.exec("UPDATE executions SET status = $2, error = $3, finished_at = $4, running = 0, succeeded = 1 WHERE id = $1", id, status, failure, b.clock.now())
	b.event(id, "execution."+strings.ToLower(status), "", nil)
}

// ran launches an execution that waits for nine minutes and runs for one.
func (b *bundle) ran(by someone, status string) uuid.UUID {
	b.t.Helper()
	id := b.launched(by)
	b.exec("UPDATE executions SET created_at = created_at - interval '9 minutes' WHERE id = $1", id)
	b.ends(id, status, time.Minute)
	return id
}

// record writes an entry of the audit log.
func (b *bundle) record(ctx context.Context, e audit.Entry) {
	b.t.Helper()
	e.TenantID, e.ProjectID = auth.LocalTenant, auth.LocalProject
	require.NoError(b.t, audit.Record(ctx, db.New(b.pool), e))
}

// receive passes everything that happened to inboxes.
func (b *bundle) receive() {
	b.t.Helper()
	_, err := b.feed.Relay(b.system)
	require.NoError(b.t, err)
	for more := true; more; {
		more, err = b.service.Receive(b.system)
		require.NoError(b.t, err)
	}
}

// items returns the items of a person, oldest first.
func (b *bundle) items(of someone) []inbox.Item {
	b.t.Helper()
	page, err := b.service.List(of, inbox.Filter{Limit: inbox.MaxPage})
	require.NoError(b.t, err)
	list := page.Items
	for i, k := 0, len(list)-1; i < k; i, k = i+1, k-1 {
		list[i], list[k] = list[k], list[i]
	}
	return list
}

func (b *bundle) events(of someone) []notify.Event {
	b.t.Helper()
	var list []notify.Event
	for _, i := range b.items(of) {
		list = append(list, i.Event)
	}
	return list
}

func (b *bundle) set(of someone, change func(*inbox.Settings)) {
	b.t.Helper()
	a, err := b.service.Account(of)
	require.NoError(b.t, err)
	change(&a.Settings)
	_, err = b.service.Put(of, a.Settings)
	require.NoError(b.t, err)
}

// letter is an e-mail that the mail server received.
type letter struct{ to, text string }

// mailServer is a real SMTP server.
type mailServer struct {
	mu      sync.Mutex
	refuse  *smtp.SMTPError // the answer to recipients; nil accepts them
	letters []letter
}

type delivery struct {
	server *mailServer
	to     string
}

func (m *mailServer) NewSession(*smtp.Conn) (smtp.Session, error) { return &delivery{server: m}, nil }

func (d *delivery) Mail(string, *smtp.MailOptions) error { return nil }

func (d *delivery) Rcpt(to string, _ *smtp.RcptOptions) error {
	d.server.mu.Lock()
	defer d.server.mu.Unlock()
	if d.server.refuse != nil {
		return d.server.refuse
	}
	d.to = to
	return nil
}

func (d *delivery) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	d.server.mu.Lock()
	defer d.server.mu.Unlock()
	text := bytes.ReplaceAll(raw, []byte("=\r\n"), nil) // soft line breaks
	d.server.letters = append(d.server.letters, letter{d.to, string(text)})
	return err
}

func (d *delivery) Reset() {}

func (d *delivery) Logout() error { return nil }

func (m *mailServer) answers(e *smtp.SMTPError) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuse = e
}

func (m *mailServer) got() []letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]letter{}, m.letters...)
}

// mail starts a mail server, and makes it that of the installation.
func (b *bundle) mail() *mailServer {
	b.t.Helper()
	m := &mailServer{}
	server := smtp.NewServer(m)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b.t, err)
	go func() { _ = server.Serve(listener) }()
	b.t.Cleanup(func() { _ = server.Close() })
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	b.with(func(c *inbox.Config) {
		c.Mail = inbox.Mail{Host: "127.0.0.1", Port: port, Security: message.Plain, From: "FlowForge <flowforge@example.com>"}
	})
	return m
}

func (b *bundle) send() {
	b.t.Helper()
	require.NoError(b.t, b.service.SendDue(b.system))
}
