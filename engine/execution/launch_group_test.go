package execution_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/enginetest"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// groupWorkflows are two workflows with inputs: one node, and several of all kinds.
var groupWorkflows = []string{
	`{name: one, version: 1.0.0, inputs: [{name: n, type: "Integer(max=5)", default: 1}, {name: text, type: String, default: ""}], operators: [{name: a, type: noop}]}`,
	`{name: several, version: 1.0.0, parallelism: 2, inputs: [{name: n, type: Integer, default: 1}, {name: text, type: String, default: ""}],
		operators: [{name: a, type: noop}, {name: b, type: noop, depends_on: [a]}, {name: c, type: noop, depends_on: [a, b], when: "inputs.n > 2"}]}`,
}

// writtenByLaunch selects everything that a launch writes, except for IDs and times.
const writtenByLaunch = `SELECT jsonb_build_object(
	'execution', to_jsonb(e) - '{id,created_at,drive_requested_at}'::text[],
	'requested', e.drive_requested_at IS NOT NULL,
	'nodes', (SELECT jsonb_agg(to_jsonb(n) - '{execution_id,ready_at}'::text[] || jsonb_build_object('ready', n.ready_at = e.created_at) ORDER BY n.node_index) FROM nodes n WHERE n.execution_id = e.id),
	'events', (SELECT jsonb_agg(to_jsonb(v) - '{execution_id,at,tx}'::text[] || jsonb_build_object('then', v.at = e.created_at, 'fed', v.tx IS NOT NULL)) FROM events v WHERE v.execution_id = e.id),
	'audit', (SELECT jsonb_agg(to_jsonb(a) - '{id,at,tx,object_id}'::text[] || jsonb_build_object('fed', a.tx IS NOT NULL)) FROM audit_log a WHERE a.object_id = e.id::text),
	'jobs', (SELECT jsonb_agg(to_jsonb(j) - '{id,args,unique_key,created_at,scheduled_at}'::text[] || jsonb_build_object('epoch', j.args -> 'epoch', 'unique', j.unique_key IS NOT NULL)) FROM river_job j WHERE j.args ->> 'execution_id' = e.id::text),
	'keys', (SELECT count(*) FROM execution_idempotency_keys k WHERE k.execution_id = e.id),
	'indexed', (SELECT count(*) FROM execution_changes c WHERE c.execution_id = e.id))::text
FROM executions e WHERE e.id = $1`

// randomRequest returns a request that sets some of the fields.
func randomRequest(random *rand.Rand, i int, earlier uuid.UUID, people []auth.Subject) execution.LaunchRequest {
	sometimes := func() bool { return random.IntN(3) == 0 }
	r := execution.LaunchRequest{
		Workflow: []string{"one", "several"}[random.IntN(2)], Name: fmt.Sprintf("run %d", i), Priority: query.Declared,
		Inputs: map[string]any{"n": json.Number(fmt.Sprint(random.IntN(6))), "text": []string{"", "Ä\"<&>", "{{x}}"}[random.IntN(3)]},
	}
	if sometimes() {
		r.Priority = query.Priority(random.IntN(101))
	}
	if sometimes() {
		r.ScheduledAt = new(time.Date(2026, 11, 24, 12, 0, 0, random.IntN(1000)*1000, time.UTC))
	}
	if sometimes() {
		r.Purpose = query.ListOptions
	}
	if sometimes() {
		r.TTL = workflow.TTL{Success: new(time.Hour)}
	}
	if sometimes() {
		r.Cache = execution.CacheUse{Mode: execution.CacheOff}
	}
	if sometimes() {
		r.RelaunchOf = &earlier
	}
	if sometimes() {
		r.By = "schedule nightly"
	}
	if sometimes() {
		r.As = &people[random.IntN(len(people))]
	}
	return r
}

// TestGroupsWriteWhatLaunchesWrite: executions that are launched together have the same rows as those
// that are launched one by one.
func TestGroupsWriteWhatLaunchesWrite(t *testing.T) {
	t.Parallel()
	e := enginetest.New(t)
	e.Register(groupWorkflows...)
	first, _, err := e.Service.Launches.Launch(e.Ctx, execution.LaunchRequest{Workflow: "one", Priority: query.Normal})
	require.NoError(t, err)
	ada, bob := auth.Local(), auth.Local()
	ada.Name, bob.ID, bob.Name = "Ada", uuid.New(), "Bob"
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	group := execution.LaunchGroup{}
	for i := range 60 {
		r := randomRequest(random, i, first.ID, []auth.Subject{ada, bob})
		if random.IntN(4) == 0 {
			r.IdempotencyKey = fmt.Sprintf("group %d", i)
		}
		group.Requests = append(group.Requests, r)
	}
	written := func(id uuid.UUID) (rows string) {
		require.NoError(t, e.Pool.QueryRow(e.Ctx, writtenByLaunch, id).Scan(&rows))
		return rows
	}
	for i, outcome := range e.Service.Launches.LaunchAll(e.Ctx, group) {
		require.NoError(t, outcome.Err)
		require.True(t, outcome.Created)
		r := group.Requests[i]
		if r.IdempotencyKey != "" {
			r.IdempotencyKey = fmt.Sprintf("single %d", i)
		}
		single, created, err := e.Service.Launches.Launch(e.Ctx, r)
		require.NoError(t, err)
		require.True(t, created)
		require.JSONEq(t, written(single.ID), written(outcome.ID), "%+v", r)
	}
}

// TestGroupsRefuseOnlyBadRequests: a request that is refused, before or in the transaction, writes
// nothing and does not prevent the others.
func TestGroupsRefuseOnlyBadRequests(t *testing.T) {
	t.Parallel()
	e := enginetest.New(t)
	e.Register(groupWorkflows...)
	archived := uuid.New()
	_, err := e.Pool.Exec(e.Ctx, `INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, namespace)
		SELECT $1, 'project', id, kind, tenant_id, path || $1::uuid, 'old', 'ff-old' FROM tenancy_nodes WHERE id = $2`, archived, auth.LocalTeam)
	require.NoError(t, err)
	other := auth.Local()
	other.ProjectID = archived
	_, _, err = e.Workflows.Register(auth.WithSubject(e.Ctx, other), []byte(groupWorkflows[0]))
	require.NoError(t, err)
	_, err = e.Pool.Exec(e.Ctx, "UPDATE tenancy_nodes SET archived_at = now() WHERE id = $1", archived)
	require.NoError(t, err)

	errWithin, errClaimed := errors.New("within"), errors.New("claimed")
	inputs := func(name string, value any) map[string]any { return map[string]any{name: value} }
	cases := []struct {
		name    string
		request execution.LaunchRequest
		claim   error
		want    func(error) bool
	}{
		{name: "valid", request: execution.LaunchRequest{Workflow: "one"}},
		{name: "no workflow", request: execution.LaunchRequest{Workflow: "none"}, want: isCode(apperr.NotFound)},
		{name: "wrong input", request: execution.LaunchRequest{Workflow: "one", Inputs: inputs("n", json.Number("6"))}, want: isCode(apperr.Invalid)},
		{name: "unstorable input", request: execution.LaunchRequest{Workflow: "one", Inputs: inputs("text", "a\x00b")}, want: isCode(apperr.Invalid)},
		{name: "refused by its caller", request: execution.LaunchRequest{Workflow: "one", Within: func(context.Context, *db.Queries, uuid.UUID) error { return errWithin }},
			want: func(err error) bool { return errors.Is(err, errWithin) }},
		{name: "key", request: execution.LaunchRequest{Workflow: "one", IdempotencyKey: "k"}},
		{name: "key of another request", request: execution.LaunchRequest{Workflow: "one", IdempotencyKey: "k", Inputs: inputs("n", json.Number("2"))}, want: isCode(apperr.Conflict)},
		{name: "refused by the claim", request: execution.LaunchRequest{Workflow: "one"}, claim: errClaimed, want: func(err error) bool { return errors.Is(err, errClaimed) }},
		{name: "key refused by the claim", request: execution.LaunchRequest{Workflow: "one", IdempotencyKey: "unused"}, claim: errClaimed, want: func(err error) bool { return errors.Is(err, errClaimed) }},
		{name: "archived project", request: execution.LaunchRequest{Workflow: "one", As: &other}, want: isCode(apperr.Conflict)},
		{name: "valid too", request: execution.LaunchRequest{Workflow: "several"}},
	}
	group := execution.LaunchGroup{Claim: func(_ context.Context, _ *db.Queries, ids map[int]uuid.UUID) (map[int]error, error) {
		refused := map[int]error{}
		for i := range ids {
			if cases[i].claim != nil {
				refused[i] = cases[i].claim
			}
		}
		return refused, nil
	}}
	for _, c := range cases {
		c.request.Priority = query.Normal
		group.Requests = append(group.Requests, c.request)
	}
	created := map[uuid.UUID]bool{}
	for i, outcome := range e.Service.Launches.LaunchAll(e.Ctx, group) {
		if c := cases[i]; c.want != nil {
			require.Error(t, outcome.Err, c.name)
			require.True(t, c.want(outcome.Err), "%s: %v", c.name, outcome.Err)
			continue
		}
		require.NoError(t, outcome.Err, cases[i].name)
		require.True(t, outcome.Created, cases[i].name)
		created[outcome.ID] = true
	}
	require.Len(t, created, 3)
	for count, want := range map[string]int{
		"executions": 3, "nodes": 5, "events": 3, "audit_log WHERE action = 'execution.launch'": 3,
		"river_job WHERE kind = 'drive'": 3, "execution_idempotency_keys": 1,
	} {
		var n int
		require.NoError(t, e.Pool.QueryRow(e.Ctx, "SELECT count(*) FROM "+count).Scan(&n))
		require.Equal(t, want, n, count)
	}
	again := e.Service.Launches.LaunchAll(e.Ctx, execution.LaunchGroup{Requests: group.Requests[5:6]})[0]
	require.NoError(t, again.Err)
	require.False(t, again.Created, "the key was used before")
	require.True(t, created[again.ID])
}

func isCode(code apperr.Code) func(error) bool {
	return func(err error) bool { return apperr.Is(err, code) }
}

// TestGroupsKeepLimits: executions that are launched together wait for the quota like others.
func TestGroupsKeepLimits(t *testing.T) {
	t.Parallel()
	all := setup(t)
	b := all.as(all.team("vision", fair.Vector{fair.Executions: 2}, nil))
	stop := t.TempDir() + "/stop"
	v := b.register(fmt.Sprintf("name: wait\nversion: 1.0.0\noperators: [{name: a, type: shell, code: {script: 'while [ ! -e %s ]; do sleep 0.01; done'}}]", stop))
	group := execution.LaunchGroup{}
	for range 5 {
		group.Requests = append(group.Requests, execution.LaunchRequest{Workflow: v.Name, Priority: query.Normal})
	}
	outcomes := b.engine.Launches.LaunchAll(b.ctx, group)
	count := func(where string) (n int) {
		require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM executions WHERE "+where).Scan(&n))
		return n
	}
	require.Eventually(t, func() bool {
		return count("status = 'RUNNING'") == 2 && count("status = 'PENDING' AND reason IS NOT NULL") == 3
	}, time.Minute, 10*time.Millisecond)
	touch(t, stop)
	for _, outcome := range outcomes {
		require.NoError(t, outcome.Err)
		require.Equal(t, query.Succeeded, b.finish(outcome.ID).Status)
	}
}
