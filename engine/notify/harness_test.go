package notify_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/outgoing"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/notify"
)

// receiver is a webhook that records requests and answers with status.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	got    []request
}

type request struct {
	id, signature, at string
	raw               []byte
	body              struct {
		Type string         `json:"type"`
		Data map[string]any `json:"data"`
	}
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusNoContent}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		raw, _ := io.ReadAll(req.Body)
		got := request{id: req.Header.Get("Webhook-Id"), signature: req.Header.Get("Webhook-Signature"), at: req.Header.Get("Webhook-Timestamp"), raw: raw}
		_ = json.Unmarshal(raw, &got.body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, got)
		w.WriteHeader(r.status)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) answers(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

func (r *receiver) requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request{}, r.got...)
}

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

type bundle struct {
	t        *testing.T
	pool     *pgxpool.Pool
	clock    *clock
	config   notify.Config
	service  *notify.Service
	links    *connection.Service
	admin    context.Context
	dev      context.Context
	system   context.Context
	workflow uuid.UUID
}

const signing = "a signing secret of the tests"

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, pool: dbtest.New(t), clock: &clock{at: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)}, system: auth.AsSystem(t.Context()), workflow: uuid.New()}
	ring, err := secret.NewKeyring([]byte(strings.Repeat("k", 32)))
	require.NoError(t, err)
	dialer := outgoing.Dialer{OwnHosts: true}
	b.links = connection.NewService(connection.Config{Pool: b.pool, Keys: ring, Now: b.clock.now, Dialer: dialer})
	b.config = notify.Config{Pool: b.pool, Channels: b.links, Dialer: dialer, PublicURL: "https://flowforge.example", Now: b.clock.now}
	b.service = notify.New(b.config)
	as := func(role string) context.Context {
		return auth.WithSubject(t.Context(), auth.Subject{
			ID: uuid.New(), Name: role, Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, Policy: auth.Everywhere(role),
		})
	}
	b.admin, b.dev = as(auth.TeamAdmin), as(auth.ProjectDev)
	return b
}

// webhook adds a channel that leads to r.
func (b *bundle) webhook(name string, r *receiver) {
	b.t.Helper()
	_, err := b.links.Put(b.admin, connection.Edit{Name: name, Kind: "webhook", Values: map[string]any{"url": r.URL + "/hook", "signing_secret": signing}})
	require.NoError(b.t, err, "%v", apperr.FieldsOf(err))
}

func (b *bundle) rule(r notify.Rule) notify.Rule {
	b.t.Helper()
	r.Enabled = true
	rule, err := b.service.Put(b.admin, "", r)
	require.NoError(b.t, err, "%v", apperr.FieldsOf(err))
	return rule
}

// ended inserts an execution that took some time and has ended now, and reports its end.
func (b *bundle) ended(status string, took time.Duration) uuid.UUID {
	b.t.Helper()
	b.clock.add(took)
	id := uuid.Must(uuid.NewV7())
	now := b.clock.now()
	var failure any
	if status == "FAILED" {
		failure = `{"message": "train failed: out of memory"}`
	}
	_, err := b.pool.Exec(b.system, `INSERT INTO executions (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, status, priority, inputs, error,
			submitted_by, submitted_by_name, created_at, started_at, finished_at, total, pending, succeeded, levels)
		VALUES ($1, $2, $3, $4, $4, 'digits.train', '1.0.0', $5, 50, '{}', $6, $4, 'ada', $7, $7, $8, 1, 0, 1, 1)`,
		id, auth.LocalTenant, auth.LocalProject, b.workflow, status, failure, now.Add(-took), now)
	require.NoError(b.t, err)
	require.NoError(b.t, b.service.ExecutionEnded(b.system, id))
	return id
}

// send makes one attempt for each due message and returns all messages, oldest first.
func (b *bundle) send() []notify.Notification {
	b.t.Helper()
	require.NoError(b.t, b.service.SendDue(b.system))
	return b.messages()
}

func (b *bundle) messages() []notify.Notification {
	b.t.Helper()
	page, err := b.service.List(b.dev, "", nil, notify.MaxPage)
	require.NoError(b.t, err)
	list := page.Notifications
	for i, k := 0, len(list)-1; i < k; i, k = i+1, k-1 {
		list[i], list[k] = list[k], list[i]
	}
	return list
}
