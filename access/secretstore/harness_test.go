package secretstore_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/access/secretstore"
	"github.com/flowforge/flowforge/data/outgoing"
	"github.com/flowforge/flowforge/db/dbtest"
)

// value is a value of a store that no answer, row or error may have.
const value = "correct-horse-battery-staple"

// clock is the time of a test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// testBundle is a service with a project, and the secrets of the project.
type testBundle struct {
	pool    *pgxpool.Pool
	clock   *clock
	config  secretstore.Config
	stores  *secretstore.Service
	secrets *secret.Service
	admin   context.Context // of the installation, in the local project
	team    context.Context // a team administrator
	other   context.Context // a team administrator of another project
	system  context.Context
	pauses  []time.Duration // that reads waited
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	keys, err := secret.NewKeyring([]byte(strings.Repeat("k", 32)))
	require.NoError(t, err)
	b := &testBundle{pool: dbtest.New(t), clock: &clock{now: time.Now().UTC().Truncate(time.Microsecond)}, system: auth.AsSystem(context.Background())}
	b.config = secretstore.Config{
		Pool: b.pool, Keys: keys, Now: b.clock.Now, Dialer: outgoing.Dialer{OwnHosts: true}, Environ: []string{"TEAM_TRACKER=" + value, "TEAMWORK=x", "FLOWFORGE_KEY=secret"},
		Wait: func(_ context.Context, d time.Duration) error { b.pauses = append(b.pauses, d); return nil },
	}
	b.use(b.config, keys)
	as := func(role string, project uuid.UUID) context.Context {
		return auth.WithSubject(context.Background(), auth.Subject{
			ID: uuid.New(), Name: role, Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: project, Policy: auth.Everywhere(role),
		})
	}
	b.admin, b.team = auth.WithSubject(context.Background(), auth.Local()), as(auth.TeamAdmin, auth.LocalProject)
	elsewhere := uuid.New()
	_, err = b.pool.Exec(b.admin, `INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, namespace)
		SELECT $1::uuid, 'project', id, kind, tenant_id, path || $1::uuid, 'other', 'other' FROM tenancy_nodes WHERE id = $2`, elsewhere, auth.LocalTeam)
	require.NoError(t, err)
	b.other = as(auth.TeamAdmin, elsewhere)
	return b
}

func (b *testBundle) use(c secretstore.Config, keys secret.Keyring) {
	b.stores = secretstore.New(c)
	b.secrets = secret.NewService(b.pool, keys, b.clock.Now).WithStores(b.stores)
}

type values = map[string]any

// register registers the store "managed" for every project.
func (b *testBundle) register(t *testing.T, kind string, v values) {
	t.Helper()
	if v["projects"] == nil {
		v["projects"] = "*"
	}
	_, err := b.stores.Put(b.admin, secretstore.Edit{Name: "managed", Kind: kind, Values: v})
	require.NoError(t, err)
}

// refer stores the secret "tracker" that refers to the store "managed".
func (b *testBundle) refer(t *testing.T, path, key, version string) {
	t.Helper()
	_, err := b.secrets.Put(b.team, secret.Edit{Name: "tracker", Reference: &secret.Reference{Store: "managed", Path: path, Key: key, Version: version}})
	require.NoError(t, err)
}

// attempt is the value of "tracker" for an attempt that starts now.
func (b *testBundle) attempt() (string, error) {
	return b.secrets.RevealNow(b.system, auth.LocalProject, "tracker")
}

func (b *testBundle) requireValue(t *testing.T, want string) {
	t.Helper()
	got, err := b.attempt()
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// requireNoTrace checks that no row has one of the texts.
func (b *testBundle) requireNoTrace(t *testing.T, texts ...string) {
	t.Helper()
	var dump string
	require.NoError(t, b.pool.QueryRow(b.admin, `SELECT (SELECT coalesce(string_agg(s::text, ' '), '') FROM secrets s)
		|| (SELECT coalesce(string_agg(s::text, ' '), '') FROM secret_stores s) || (SELECT coalesce(string_agg(a::text, ' '), '') FROM audit_log a)`).Scan(&dump))
	require.Contains(t, dump, "managed")
	for _, text := range texts {
		require.NotContains(t, dump, text)
		require.NotContains(t, dump, fmt.Sprintf("%x", text))
	}
}

// status answers with a status and a JSON body.
func status(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body))
}

// quick is a dialer whose clients wait only a moment.
type quick struct{}

func (quick) Client(time.Duration) *http.Client {
	return outgoing.Dialer{OwnHosts: true}.Client(200 * time.Millisecond)
}

// guarded is the dialer of a server with sign-in, which reaches private addresses only if they are listed.
func guarded(hosts ...string) outgoing.Dialer { return outgoing.Dialer{Hosts: hosts} }
