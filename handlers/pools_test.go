package handlers_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/pool"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

const pooledDocument = `
name: pooled
version: 1.0.0
operators:
  - {name: one, type: shell, pool: lab, labels: {zone: a}, resources: {cpu: 1, memory: 100Mi}, code: {script: "true"}}
  - {name: two, type: shell, pool: lab, labels: {zone: a}, resources: {cpu: 1, memory: 100Mi}, code: {script: "true"}}
`

// machine is a worker of a pool that runs nothing.
type machine struct {
	t       *testing.T
	client  flowforgev1connect.WorkerServiceClient
	token   string
	id      string
	session string
}

func (b *testBundle) machine(t *testing.T, token string, join *flowforgev1.JoinRequest) *machine {
	t.Helper()
	m := &machine{t: t, client: flowforgev1connect.NewWorkerServiceClient(http.DefaultClient, b.server.URL), token: token, session: uuid.NewString()}
	join.Session, join.Name, join.Version = m.session, "rack", "test"
	resp, err := m.client.Join(t.Context(), bearing(join, token))
	require.NoError(t, err)
	require.Equal(t, "lab", resp.Msg.Pool)
	m.id = resp.Msg.WorkerId
	return m
}

func bearing[T any](message *T, token string) *connect.Request[T] {
	req := connect.NewRequest(message)
	req.Header().Set("Authorization", "Bearer "+token)
	return req
}

// poll returns the attempts of one response.
func (m *machine) poll(held, done []string, wait int64) []*flowforgev1.AttemptSpec {
	m.t.Helper()
	resp, err := m.client.Poll(m.t.Context(), bearing(&flowforgev1.PollRequest{WorkerId: m.id, Session: m.session, Held: held, Done: done, WaitMs: wait}, m.token))
	require.NoError(m.t, err)
	var specs []*flowforgev1.AttemptSpec
	for _, data := range resp.Msg.Specs {
		spec := &flowforgev1.AttemptSpec{}
		require.NoError(m.t, proto.Unmarshal(data, spec))
		specs = append(specs, spec)
	}
	return specs
}

func (b *testBundle) poolToken(t *testing.T) string {
	t.Helper()
	_, err := b.pools.Create(b.ctx, "lab", "")
	require.NoError(t, err)
	_, secret, err := b.pools.CreateToken(b.ctx, "lab")
	require.NoError(t, err)
	return secret
}

func capacity(slots int32) *flowforgev1.WorkerCapacity {
	return &flowforgev1.WorkerCapacity{Slots: slots, CpuMillis: 1500}
}

// A worker gets what fits, gets it again when the response was lost, and gets the next attempt when
// it has delivered the first one.
func TestWorkerService(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := b.poolToken(t)
	b.start(t)
	b.register(t, pooledDocument)
	labels := map[string]string{"zone": "a", "disk": "fast"}
	other := b.machine(t, token, &flowforgev1.JoinRequest{Capacity: capacity(8), Labels: map[string]string{"zone": "b"}})
	m := b.machine(t, token, &flowforgev1.JoinRequest{Capacity: capacity(8), Labels: labels})
	launched := b.admin.send(t, http.MethodPost, "/api/v1/executions", "application/json", `{"workflow": "pooled"}`).object(t, http.StatusCreated)
	require.NotEmpty(t, launched["execution_id"])

	var got []*flowforgev1.AttemptSpec
	for len(got) == 0 { // until the engine has queued the attempts
		got = m.poll(nil, nil, 300)
	}
	require.Len(t, got, 1, "1.5 cores hold one of them")
	first := got[0]
	require.Equal(t, "lab", first.Pool)
	require.NotEmpty(t, first.Token)
	require.EqualValues(t, 1000, first.GetResources().GetCpuMillis())
	require.Empty(t, other.poll(nil, nil, 0), "its zone is another one")

	again := m.poll(nil, nil, 0)
	require.Len(t, again, 1)
	require.Equal(t, first.TaskId, again[0].TaskId)
	require.Empty(t, m.poll([]string{first.TaskId}, nil, 0))
	for got = nil; len(got) == 0; { // the second operator may be queued later
		got = m.poll(nil, []string{first.TaskId}, 300)
	}
	require.NotEqual(t, first.TaskId, got[0].TaskId)

	// A new process of the worker holds nothing: its attempt is lost and queued again.
	session := uuid.NewString()
	resp, err := m.client.Join(t.Context(), bearing(&flowforgev1.JoinRequest{WorkerId: m.id, Session: session, Name: "rack", Capacity: capacity(8), Labels: labels}, token))
	require.NoError(t, err)
	require.Equal(t, m.id, resp.Msg.WorkerId)
	lost := got[0].TaskId
	former := m.session
	m.session = session
	// It runs again after a pause. The first attempt may be queued again, too: the worker reported no
	// result, so the engine starts it again when it resumes the execution.
	for got = nil; len(got) == 0 || got[0].TaskId == first.TaskId; {
		got = m.poll(nil, []string{first.TaskId}, 300)
	}
	require.Equal(t, strings.TrimSuffix(lost, ".1")+".2", got[0].TaskId)
	_, err = m.client.Poll(t.Context(), bearing(&flowforgev1.PollRequest{WorkerId: m.id, Session: former}, token))
	require.Equal(t, connect.CodeFailedPrecondition, connect.CodeOf(err), "the former process is refused: %v", err)
}

// A restricted pool runs tasks only of the projects at and below its nodes.
func TestPoolAccess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.poolToken(t)
	b.start(t)
	b.register(t, pooledDocument)
	send := func(method, path, mediaType, body string, status int) string {
		r := b.admin.send(t, method, path, mediaType, body)
		require.Equal(t, status, r.status, r.body)
		return r.body
	}
	launch := func(status int) string {
		return send(http.MethodPost, "/api/v1/executions", "application/json", `{"workflow": "pooled"}`, status)
	}
	set := func(body string, status int) string {
		return send(http.MethodPut, "/api/v1/pools/lab/access", "application/json", body, status)
	}
	launch(http.StatusCreated)
	require.Contains(t, set(`{"restricted": true}`, http.StatusOK), `"nodes":[]`)
	require.Contains(t, launch(http.StatusUnprocessableEntity), "restricted to other projects")
	require.Contains(t, set(`{"restricted": true, "nodes": ["`+uuid.NewString()+`"]}`, http.StatusUnprocessableEntity), "does not exist")
	require.Contains(t, set(`{"restricted": true, "nodes": ["`+auth.Installation.String()+`"]}`, http.StatusUnprocessableEntity), "allow every project")
	require.Contains(t, set(`{"restricted": false, "nodes": ["`+auth.LocalTenant.String()+`"]}`, http.StatusUnprocessableEntity), "Nodes need restricted: true.")
	require.Contains(t, launch(http.StatusUnprocessableEntity), "restricted to other projects", "a refused change changes nothing")
	tenant := auth.LocalTenant.String()
	require.Contains(t, set(`{"restricted": true, "nodes": ["`+tenant+`", "`+tenant+`"]}`, http.StatusOK), `"kind":"tenant"`)
	launch(http.StatusCreated)

	page := func() string { return send(http.MethodGet, "/admin/pools/lab", "", "", http.StatusOK) }
	change := func(form string, status int) {
		send(http.MethodPost, "/admin/pools/lab/access", "application/x-www-form-urlencoded", form, status)
	}
	require.Contains(t, page(), `name="remove" value="`+tenant+`"`)
	change("remove="+tenant, http.StatusSeeOther)
	require.Contains(t, page(), "No project can use this pool.")
	change("nodes=", http.StatusUnprocessableEntity)
	change("nodes="+auth.LocalProject.String(), http.StatusSeeOther)
	launch(http.StatusCreated)
	change("everyone=1", http.StatusSeeOther)
	require.Contains(t, page(), "Every project can use this pool.")
	launch(http.StatusCreated)
}

// Tokens of pools are checked at every call, and unknown workers must join again.
func TestWorkerTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := b.poolToken(t)
	client := flowforgev1connect.NewWorkerServiceClient(http.DefaultClient, b.server.URL)
	join := func(token string, capacity *flowforgev1.WorkerCapacity) error {
		_, err := client.Join(context.Background(), bearing(&flowforgev1.JoinRequest{Session: uuid.NewString(), Name: "m", Capacity: capacity}, token))
		return err
	}
	for _, bad := range []string{"", "ffw_", "ffw_aaaaaaaaaaaa_x", adminToken, token + "x", strings.ToUpper(token)} {
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(join(bad, capacity(1))), bad)
	}
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(join(token, capacity(0))))
	require.NoError(t, join(token, capacity(1)))
	_, err := client.Poll(t.Context(), bearing(&flowforgev1.PollRequest{WorkerId: uuid.NewString(), Session: uuid.NewString()}, token))
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	tokens, err := b.pools.Tokens(b.ctx, "lab")
	require.NoError(t, err)
	require.NotNil(t, tokens[0].LastUsedAt)
	require.NoError(t, b.pools.RevokeToken(b.ctx, "lab", tokens[0].ID))
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(join(token, capacity(1))))
	requireHidden(t, b.dump(t), token)
}

// A pool that has work cannot be deleted, and a launch needs an existing pool.
func TestPoolAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, pooledDocument)
	launch := func() reply {
		return b.admin.send(t, http.MethodPost, "/api/v1/executions", "application/json", `{"workflow": "pooled"}`)
	}
	require.NotEmpty(t, at(launch().problem(t, http.StatusUnprocessableEntity), "operators.one.pool"))
	b.admin.send(t, http.MethodPost, "/api/v1/pools", "application/json", `{"name": "lab"}`).object(t, http.StatusCreated)
	b.start(t)
	launch().object(t, http.StatusCreated)
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	reasons := make(chan struct{})
	go func() { defer close(reasons); b.pools.Run(ctx, b.observe) }()
	for {
		body := b.admin.get(t, "/admin/pools/lab").body
		if strings.Count(body, "No worker of the pool lab is connected.") >= 2 {
			break
		}
		require.NoError(t, t.Context().Err())
	}
	cancel()
	<-reasons
	b.admin.send(t, http.MethodDelete, "/api/v1/pools/lab", "", "").problem(t, http.StatusConflict)
	require.Contains(t, b.admin.send(t, http.MethodPost, "/admin/pools/lab/delete", formType, "").body, "Nothing was changed.")
	state, err := b.pools.State(b.ctx)
	require.NoError(t, err)
	require.Equal(t, 2, state[0].Queued)
	require.Equal(t, pool.Amount{}, state[0].Capacity)
}
