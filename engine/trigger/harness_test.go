package trigger_test

import (
	"bytes"
	"context"
	"net/http"
	"sync/atomic"
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
	"github.com/flowforge/flowforge/engine/enginetest"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/trigger"
)

// secrets has one secret, or fails.
type secrets struct{ err *error }

const signing = "a signing secret of the tests"

func (secrets) Exists(_ context.Context, name string) (bool, error) { return name == "hook", nil }

func (s secrets) Reveal(_ context.Context, _ uuid.UUID, name string) (string, error) {
	if *s.err != nil {
		return "", *s.err
	}
	if name != "hook" {
		return "", apperr.New(apperr.NotFound, "There is no secret %q.", name)
	}
	return signing, nil
}

// bundle is a service on its own database. Its executions are launched and do not run.
type bundle struct {
	t        *testing.T
	ctx      context.Context
	pool     *pgxpool.Pool
	engine   *execution.Service
	triggers *trigger.Service
	config   trigger.Config

	connections *connection.Service
	denied      *atomic.Bool
	unread      error // of reading a secret
	now         time.Time
}

const target = `{name: retrain, version: 1.0.0, inputs: [
	{name: ref, type: String, default: none}, {name: accuracy, type: Float, default: 0}, {name: files, type: "List<String>", default: []}],
	operators: [{name: one, type: noop}]}`

func setup(t *testing.T) *bundle {
	t.Helper()
	e := enginetest.New(t)
	b := &bundle{t: t, ctx: e.Ctx, pool: e.Pool, engine: e.Service, denied: &e.Denied, now: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)}
	keys, err := secret.NewKeyring(bytes.Repeat([]byte("s"), 32))
	require.NoError(t, err)
	b.connections = connection.NewService(connection.Config{Pool: e.Pool, Keys: keys, Now: time.Now})
	b.config = trigger.Config{
		Connections: b.connections, Dialer: outgoing.Dialer{OwnHosts: true},
		Pool: e.Pool, Workflows: e.Workflows, Executions: e.Service.Launches, Secrets: secrets{&b.unread}, Logger: e.Log, Now: func() time.Time { return b.now }, Acting: e.Acting,
	}
	b.triggers = trigger.New(b.config)
	e.Register(target)
	return b
}

func (b *bundle) put(sp trigger.Spec) trigger.Trigger {
	b.t.Helper()
	sp.Workflow, sp.Enabled = "retrain", true
	t, err := b.triggers.Put(b.ctx, "", sp)
	require.NoError(b.t, err, "%v", apperr.FieldsOf(err))
	return t
}

// deliveries are those of a trigger, newest first.
func (b *bundle) deliveries(name string) []trigger.Delivery {
	b.t.Helper()
	page, err := b.triggers.Deliveries(b.ctx, name, nil, trigger.MaxPage)
	require.NoError(b.t, err)
	return page.Deliveries
}

// inputsOf returns the inputs of a launched execution.
func (b *bundle) inputsOf(d trigger.Delivery) map[string]any {
	b.t.Helper()
	require.Equal(b.t, trigger.Launched, d.Outcome, "%s", d.Message)
	e, err := b.engine.Get(b.ctx, *d.ExecutionID)
	require.NoError(b.t, err)
	return e.Inputs
}

// ended is an execution of a workflow that has ended.
func (b *bundle) ended(workflow, state string, outputs map[string]any) query.Execution {
	at := b.now.Add(time.Minute)
	return query.Execution{
		ID: uuid.Must(uuid.NewV7()), TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, WorkflowName: workflow, Version: "1.0.0",
		Status: query.State(state), Outputs: outputs, CreatedAt: b.now, StartedAt: &b.now, FinishedAt: &at,
	}
}

func (b *bundle) executions() (n int) {
	b.t.Helper()
	require.NoError(b.t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM executions").Scan(&n))
	return n
}

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// crashes calls f, which stops at a point.
func (b *bundle) crashes(point string, f func()) {
	b.t.Helper()
	require.PanicsWithValue(b.t, point, f)
}

func (b *bundle) eventually(ok func() bool) {
	b.t.Helper()
	require.Eventually(b.t, ok, time.Minute, 10*time.Millisecond)
}
