package pool_test

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/pool"
	"github.com/flowforge/flowforge/db/dbtest"
)

// lab is a pool with two teams, each with a project.
type lab struct {
	t        *testing.T
	ctx      context.Context
	database *pgxpool.Pool
	pools    *pool.Service
	token    string
	vision   uuid.UUID // a team
	speech   uuid.UUID
	projects map[uuid.UUID]uuid.UUID // by team
	queued   int
}

func newLab(t *testing.T) *lab {
	t.Helper()
	signer, err := auth.NewSigner(bytes.Repeat([]byte("s"), 32))
	require.NoError(t, err)
	l := &lab{t: t, ctx: auth.WithSubject(t.Context(), auth.Local()), database: dbtest.New(t), projects: map[uuid.UUID]uuid.UUID{}}
	l.pools = pool.New(pool.Config{Pool: l.database, Signer: signer, Now: time.Now})
	_, err = l.pools.Create(l.ctx, "lab", "")
	require.NoError(t, err)
	_, l.token, err = l.pools.CreateToken(l.ctx, "lab")
	require.NoError(t, err)
	l.vision, l.speech = l.team("vision"), l.team("speech")
	return l
}

func (l *lab) exec(query string, args ...any) {
	l.t.Helper()
	_, err := l.database.Exec(l.ctx, query, args...)
	require.NoError(l.t, err)
}

// team adds a team with a project.
func (l *lab) team(name string) uuid.UUID {
	l.t.Helper()
	team, project := uuid.New(), uuid.New()
	const insert = `INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, namespace)
		SELECT $1::uuid, $2::text, p.id, p.kind, p.tenant_id, p.path || $1::uuid, $3::text, $5::text FROM tenancy_nodes p WHERE p.id = $4::uuid`
	l.exec(insert, team, "team", name, auth.LocalTenant, nil)
	l.exec(insert, project, "project", name+"-project", team, "flowforge-"+name)
	l.projects[team] = project
	return team
}

// queue adds attempts of the project of a team.
func (l *lab) queue(team uuid.UUID, n, gpus int) {
	l.t.Helper()
	for range n {
		execution := uuid.New()
		l.queued++
		l.exec(`WITH r AS (INSERT INTO reservations (execution_id, node_index, attempt, project_id, launcher, cpu_millis, memory_mib, priority, created_at, expires_at)
				VALUES ($1, 0, 1, $2, 'test', 0, 0, 50, now(), now() + interval '1 hour'))
			INSERT INTO pool_work (task_id, pool, execution_id, node_index, attempt, tenant_id, project_id, labels, cpu_millis, memory_mib, gpus, gpu_type, priority, spec, queued_at)
			VALUES ($3, 'lab', $1, 0, 1, $4, $2, '{}', 0, 0, $5, '', 50, '', now() + make_interval(secs => $6))`,
			execution, l.projects[team], execution.String()+".0.1", auth.LocalTenant, gpus, float64(l.queued)/1000)
	}
}

// machine joins a worker and returns its polls.
func (l *lab) machine(slots, gpus int) func(done ...string) int {
	l.t.Helper()
	session := uuid.New()
	lost := func(context.Context, string, []string) error { return nil }
	joined, err := l.pools.Join(l.t.Context(), l.token, pool.Joining{Session: session, Name: "rack", Capacity: pool.Amount{Slots: slots, GPUs: gpus}}, lost)
	require.NoError(l.t, err)
	held := []string{}
	return func(done ...string) int {
		held = slices.DeleteFunc(held, func(id string) bool { return slices.Contains(done, id) })
		polled, err := l.pools.Poll(context.WithoutCancel(l.t.Context()), l.token, pool.Polling{Worker: joined.Worker, Session: session, Held: held, Done: done})
		if err != nil {
			l.t.Error(err)
			return 0
		}
		rows, err := l.database.Query(context.WithoutCancel(l.t.Context()), "SELECT task_id FROM pool_work WHERE worker = $1", joined.Worker)
		if err != nil {
			l.t.Error(err)
			return 0
		}
		defer rows.Close()
		held = held[:0]
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				l.t.Error(err)
			}
			held = append(held, id)
		}
		return len(polled.Specs)
	}
}

func (l *lab) running(team uuid.UUID) (n int) {
	l.t.Helper()
	require.NoError(l.t, l.database.QueryRow(l.ctx, "SELECT count(*) FROM pool_work WHERE worker IS NOT NULL AND project_id = $1", l.projects[team]).Scan(&n))
	return n
}

func (l *lab) share(team uuid.UUID) pool.Share {
	l.t.Helper()
	list, err := l.pools.Shares(l.ctx, "lab")
	require.NoError(l.t, err)
	i := slices.IndexFunc(list, func(s pool.Share) bool { return s.Node.ID == team })
	require.GreaterOrEqual(l.t, i, 0, "%v", list)
	return list[i]
}

// TestLimitsOfAPool: a team gets at most its limit, the rest goes to others, and its waiting attempts show
// the reason.
func TestLimitsOfAPool(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	require.NoError(t, l.pools.SetLimit(l.ctx, "lab", l.vision, pool.Limit{GPUs: new(2)}))
	require.NoError(t, l.pools.SetLimit(l.ctx, "lab", l.projects[l.speech], pool.Limit{Tasks: new(1)}))
	l.queue(l.vision, 3, 1)
	l.queue(l.speech, 2, 1)
	poll := l.machine(8, 8)
	require.Equal(t, 3, poll())
	require.Equal(t, []int{2, 1}, []int{l.running(l.vision), l.running(l.speech)})
	share := l.share(l.vision)
	require.Equal(t, []int{2, 2, 1, 2}, []int{share.Running, share.GPUs, share.Queued, *share.Limit.GPUs})

	var reasons []string
	ctx, cancel := context.WithCancel(auth.AsSystem(t.Context()))
	defer cancel()
	l.pools.Run(ctx, func(_ context.Context, seen []launcher.Observation) error {
		for _, o := range seen {
			reasons = append(reasons, o.Waiting.Code+" "+o.Waiting.Message)
		}
		cancel()
		return nil
	})
	require.ElementsMatch(t, []string{
		"POOL_LIMIT The team vision has reached its limit in the pool lab: 2 of 2 GPUs are in use, and the task requests 1.",
		"POOL_LIMIT The project speech-project has reached its limit in the pool lab: 1 of 1 running tasks.",
	}, reasons)

	require.NoError(t, l.pools.SetLimit(l.ctx, "lab", l.vision, pool.Limit{GPUs: new(3)}))
	require.Equal(t, 1, poll())
	require.NoError(t, l.pools.SetLimit(l.ctx, "lab", l.projects[l.speech], pool.Limit{}))
	require.Equal(t, 1, poll())
	for _, node := range []uuid.UUID{uuid.New(), auth.Installation} {
		err := l.pools.SetLimit(l.ctx, "lab", node, pool.Limit{Tasks: new(1)})
		require.True(t, apperr.Is(err, apperr.Invalid), "%v", err)
	}
	require.True(t, apperr.Is(l.pools.SetLimit(l.ctx, "lab", l.vision, pool.Limit{Tasks: new(-1)}), apperr.Invalid))
	require.True(t, apperr.Is(l.pools.SetLimit(l.ctx, "absent", l.vision, pool.Limit{Tasks: new(1)}), apperr.NotFound))
}

// TestLimitsHoldForManyWorkers: workers that poll at the same time do not exceed a limit.
func TestLimitsHoldForManyWorkers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	require.NoError(t, l.pools.SetLimit(l.ctx, "lab", l.vision, pool.Limit{Tasks: new(5)}))
	l.queue(l.vision, 40, 0)
	var all sync.WaitGroup
	for range 8 {
		poll := l.machine(4, 0)
		all.Go(func() {
			for range 3 {
				poll()
			}
		})
	}
	all.Wait()
	require.Equal(t, 5, l.running(l.vision))
}

// TestPoolsAreSharedFairly: the team that uses least of the pool is next, whenever its attempts were queued. A
// team with twice the weight gets twice as much.
func TestPoolsAreSharedFairly(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.queue(l.vision, 20, 0)
	l.queue(l.speech, 20, 0)
	require.Equal(t, 6, l.machine(6, 0)())
	require.Equal(t, []int{3, 3}, []int{l.running(l.vision), l.running(l.speech)})
	l.exec("INSERT INTO quotas (node_id, weight) VALUES ($1, 2)", l.speech)
	require.Equal(t, 6, l.machine(6, 0)())
	require.Equal(t, []int{4, 8}, []int{l.running(l.vision), l.running(l.speech)})
}

// TestUseOfAPool: the hours of attempts belong to their project and to all levels above it.
func TestUseOfAPool(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.queue(l.vision, 2, 2)
	poll := l.machine(8, 8)
	require.Equal(t, 2, poll())
	l.exec("UPDATE pool_work SET taken_at = now() - interval '30 minutes'")
	require.InDelta(t, 2, l.share(l.vision).GPUHours, 0.1, "running attempts count")
	var one string
	require.NoError(t, l.database.QueryRow(l.ctx, "SELECT min(task_id) FROM pool_work").Scan(&one))
	require.Zero(t, poll(one))
	share := l.share(l.vision)
	require.Equal(t, []int{1, 1}, []int{share.Running, share.Ended})
	require.InDelta(t, 2, share.GPUHours, 0.1)
	require.InDelta(t, 1, share.TaskHours, 0.1)
	require.InDelta(t, 2, l.share(auth.LocalTenant).GPUHours, 0.1)
	require.InDelta(t, 2, l.share(l.projects[l.vision]).GPUHours, 0.1)
}
