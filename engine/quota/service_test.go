package quota_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

var errRollback = errors.New("roll back")

func TestReserveCountsOnEveryLevelAndReleaseOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	team, project := b.project("vision")
	e := uuid.New()
	amount := fair.Amount{CPUMillis: 1000, GPUs: 2, GPUType: "A100", Pods: 1}
	require.Nil(t, b.reserve(grant(project, e, 0, amount), grant(project, e, 1, amount)))
	want := fair.Vector{fair.CPU: 2000, fair.GPU: 4, fair.OfType("A100"): 4, fair.Pods: 2}
	for _, level := range []uuid.UUID{project, team, auth.LocalTenant, auth.Installation} {
		require.Equal(t, want, b.used(level))
	}
	slot := quota.Slot{Execution: e, Node: 0, Attempt: 1}
	require.Equal(t, 1, b.release(project, slot))
	require.Zero(t, b.release(project, slot), "a second release finds no reservation")
	require.Equal(t, 1, b.release(project, slot, quota.Slot{Execution: e, Node: 1, Attempt: 1}))
	require.Empty(t, b.used(auth.Installation))
	require.NoError(t, b.Reconciler.Reconcile(b.ctx))
	d, err := b.Reconciler.Drift(b.ctx)
	require.NoError(t, err)
	require.True(t, d.FoundAt.IsZero())
}

func TestAGangIsReservedAsAWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	b := setup(t)
	team, project := b.project("vision")
	b.limit(team, fair.Vector{fair.GPU: 4}, nil)
	e := uuid.New()
	one := fair.Amount{GPUs: 2, Pods: 1}
	reason := b.reserve(grant(project, e, 0, one), grant(project, e, 1, one), grant(project, e, 2, one))
	require.NotNil(t, reason)
	require.Equal(t, fair.GPU, reason.Resource)
	require.Equal(t, team, reason.Level.ID)
	require.Empty(t, b.used(project))
	require.Nil(t, b.reserve(grant(project, e, 0, one), grant(project, e, 1, one)))
}

// TestALimitHoldsFromItsCommitOn: a scheduler with outdated limits in memory cannot
// reserve beyond a new limit.
func TestALimitHoldsFromItsCommitOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	team, project := b.project("vision")
	e := uuid.New()
	require.Nil(t, b.reserve(grant(project, e, 0, fair.Amount{CPUMillis: 3000})))
	b.limit(team, fair.Vector{fair.CPU: 4000}, nil)
	reason := b.reserve(grant(project, e, 1, fair.Amount{CPUMillis: 2000}))
	require.NotNil(t, reason)
	require.Equal(t, fair.QuotaExceeded, reason.Code)
	b.limit(team, fair.Vector{fair.CPU: 4000}, fair.Vector{fair.CPU: 1000})
	require.Nil(t, b.reserve(grant(project, e, 1, fair.Amount{CPUMillis: 2000})), "borrows from the tenant")
	b.limit(team, fair.Vector{fair.CPU: 1000}, nil)
	require.NotNil(t, b.reserve(grant(project, e, 2, fair.Amount{CPUMillis: 1})))
	require.Equal(t, 1, b.release(project, quota.Slot{Execution: e, Node: 0, Attempt: 1}), "a release is always possible")
}

func TestACrashBeforeTheCommitLeavesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, project := b.project("vision")
	err := b.tx(func(q *db.Queries) error {
		_, err := b.Reservations.Reserve(b.ctx, q, []fair.Grant{grant(project, uuid.New(), 0, fair.Amount{CPUMillis: 1})})
		require.NoError(t, err)
		return errRollback
	})
	require.ErrorIs(t, err, errRollback)
	require.Empty(t, b.used(project))
}

// TestALeaseRunsOut: the reservations of a dead holder are released.
func TestALeaseRunsOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, project := b.project("vision")
	require.Nil(t, b.reserve(grant(project, uuid.New(), 0, fair.Amount{CPUMillis: 1000})))
	n, err := b.Reconciler.Collect(b.ctx)
	require.NoError(t, err)
	require.Zero(t, n, "its lease is still valid")
	b.clock.add(61 * time.Second)
	n, err = b.Reconciler.Collect(b.ctx)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Empty(t, b.used(project))
}

func TestDriftIsAnAlarmAndCorrected(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, project := b.project("vision")
	require.Nil(t, b.reserve(grant(project, uuid.New(), 0, fair.Amount{CPUMillis: 1000, GPUs: 1, GPUType: "A100"})))
	b.exec(`UPDATE quota_usage SET used = '{"cpu": 7, "storage": 3}' WHERE node_id = $1`, project)
	require.NoError(t, b.Reconciler.Reconcile(b.ctx))
	d, err := b.Reconciler.Drift(b.ctx)
	require.NoError(t, err)
	require.Len(t, d.Levels, 1)
	require.Equal(t, project, d.Levels[0].Level)
	require.ErrorContains(t, b.Reconciler.Ready(b.ctx), "1 quota counters were wrong")
	require.Equal(t, b.clock.Now(), d.FoundAt)
	require.Equal(t, fair.Vector{fair.CPU: 1000, fair.GPU: 1, fair.OfType("A100"): 1}, b.used(project))
	_, err = b.Reconciler.Drift(auth.WithSubject(b.ctx, auth.Subject{Role: auth.RoleUser}))
	require.True(t, apperr.Is(err, apperr.NotFound))
}

func TestStorageIsRefusedWithTheNumbers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	team, project := b.project("vision")
	b.limit(team, fair.Vector{fair.Storage: 2}, nil)
	keep := func(bytes int64, refuse bool) error {
		return b.tx(func(q *db.Queries) error { return b.Storage.Add(b.ctx, q, project, bytes, refuse) })
	}
	require.NoError(t, keep(2<<20-1, true))
	err := keep(2, true)
	require.True(t, apperr.Is(err, apperr.Quota))
	require.EqualError(t, err, "Not enough storage for 1 MiB: team vision uses 2 MiB of 2 MiB.")
	require.NoError(t, keep(5<<20, false), "the outputs of an attempt are kept")
	var bytes int64
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT storage_bytes FROM quota_usage WHERE node_id = $1", auth.Installation).Scan(&bytes))
	require.Equal(t, int64(7<<20-1), bytes)
}

// TestAMachineSmallerThanItsLimits: limits above the capacity are capped at it, and the
// tree stays valid.
func TestAMachineSmallerThanItsLimits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	team, project := b.project("vision")
	b.limit(auth.Installation, fair.Vector{fair.CPU: 900_000}, nil)
	b.limit(team, fair.Vector{fair.CPU: 500_000}, nil)
	require.NoError(t, b.Levels.Reload(b.ctx))
	require.NotNil(t, b.reserve(grant(project, uuid.New(), 0, fair.Amount{CPUMillis: 100_001})))
	require.Nil(t, b.reserve(grant(project, uuid.New(), 0, fair.Amount{CPUMillis: 100_000})))
}

// TestSamplesAndHistoryAreKept: for the charts, and for the next process.
func TestSamplesAndHistoryAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, project := b.project("vision")
	require.NoError(t, b.Levels.Reload(b.ctx))
	round := quota.Round{Execution: uuid.New(), Project: project}
	round.Want = []fair.Request{grant(project, round.Execution, 0, fair.Amount{CPUMillis: 2000, Pods: 1}).Request}
	var granted []fair.Grant
	require.NoError(t, b.tx(func(q *db.Queries) (err error) {
		if granted, _, err = b.Admit(b.ctx, q, round); err != nil {
			return err
		}
		_, err = q.InsertReservations(b.ctx, "test", b.clock.Now(), row(t, granted[0], b.clock.Now().Add(time.Hour)))
		return err
	}))
	require.Len(t, granted, 1)
	b.clock.add(10 * time.Minute)
	require.NoError(t, b.Maintain(b.ctx))
	var used fair.Vector
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT used FROM quota_samples WHERE node_id = $1", project).Scan(&used))
	require.Equal(t, int64(2000), used[fair.CPU])
	_, history := b.open().Scheduler().History()
	require.Positive(t, history[project][fair.CPU])

	b.clock.add(8*24*time.Hour + time.Minute)
	require.NoError(t, b.Maintain(b.ctx))
	b.exec("DELETE FROM quota_samples")
	b.exec("INSERT INTO quota_samples (node_id, at, used) SELECT $1, $2::timestamptz + make_interval(mins => n), '{}' FROM generate_series(0, 59) n",
		project, b.clock.Now().Add(-(7*24+12)*time.Hour).Truncate(time.Hour))
	require.NoError(t, b.Maintain(b.ctx))
	var left int
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM quota_samples WHERE node_id = $1 AND at < $2", project, b.clock.Now().Add(-7*24*time.Hour)).Scan(&left))
	require.InDelta(t, 6, left, 2, "one sample per ten minutes")
}

// row is a reservation in the format of a drive loop.
func row(t *testing.T, g fair.Grant, expires time.Time) []byte {
	t.Helper()
	raw, err := json.Marshal([]map[string]any{{
		"execution_id": g.Execution, "i": g.Node, "attempt": 1, "project_id": g.Project, "cpu": g.Amount.CPUMillis, "memory": 0, "gpus": 0, "gpu_type": "",
		"pods": g.Amount.Pods, "executions": 0, "machine": "", "preemptible": true, "priority": 0, "expires_at": expires,
	}})
	require.NoError(t, err)
	return raw
}

// TestMemoryThatBelievedInMoreStartsOver: another process changed the limit; the rows
// refuse, and memory is corrected.
func TestMemoryThatBelievedInMoreStartsOver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	team, project := b.project("vision")
	require.NoError(t, b.Levels.Reload(b.ctx))
	b.limit(team, fair.Vector{fair.CPU: 1000}, nil)
	round := quota.Round{Execution: uuid.New(), Project: project}
	round.Want = []fair.Request{grant(project, round.Execution, 0, fair.Amount{CPUMillis: 2000}).Request}
	admit := func() (refused []fair.Refusal, err error) {
		err = b.tx(func(q *db.Queries) error {
			var granted []fair.Grant
			granted, refused, err = b.Admit(b.ctx, q, round)
			if err != nil {
				b.Undo(round, granted)
			}
			return err
		})
		return refused, err
	}
	_, err := admit()
	require.True(t, apperr.Is(err, apperr.Unavailable), "%v", err)
	refused, err := admit()
	require.NoError(t, err)
	require.Len(t, refused, 1)
	require.Equal(t, fair.QuotaExceeded, refused[0].Reason.Code)
	require.Empty(t, b.used(project))
}

// TestANewProjectIsKnownAtOnce: a request does not wait for the next load of the tree.
func TestANewProjectIsKnownAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, project := b.project("vision")
	request := grant(project, uuid.New(), 0, fair.Amount{CPUMillis: 1000, Pods: 1}).Request
	require.Nil(t, b.NeverFits(request))
	_, other := b.project("speech")
	request.Project = other
	require.Equal(t, fair.FitsNow, b.Forecast([]fair.Request{request}).Verdict)
}

// TestCapacityOfACluster: the root has no limit until the cluster reports its capacity;
// all servers follow the capacity that one stores; GPUs are not placed here.
func TestCapacityOfACluster(t *testing.T) {
	t.Parallel()
	b := setup(t)
	open := func() *quota.Service {
		s, err := quota.New(quota.Config{Pool: b.pool, Instance: "cluster", Cluster: true, Now: b.clock.Now, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		require.NoError(t, s.Prepare(b.ctx))
		return s
	}
	watcher, follower := open(), open()
	check := func(s *quota.Service, gpus int, kind string) *fair.Reason {
		return s.NeverFits(fair.Request{Project: auth.LocalProject, Amount: fair.Amount{CPUMillis: 1000, GPUs: gpus, GPUType: kind, Pods: 1}, Preemptible: true})
	}
	require.Nil(t, check(follower, 64, "A100"), "not reported yet")
	require.NoError(t, watcher.Levels.SetCapacity(b.ctx, quota.Capacity{CPUMillis: 64_000, MemoryMiB: 1 << 20, Pods: 100, ClusterGPUs: map[string]int{"A100": 4, "H100": 2, "": 1}}))
	require.NoError(t, follower.Levels.Reload(b.ctx))
	require.Nil(t, check(follower, 4, "A100"))
	require.NotNil(t, check(follower, 5, "A100"))
	require.Nil(t, check(follower, 7, ""), "of all types in total")
	require.NotNil(t, check(watcher, 8, ""))
	var before, after int64
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT revision FROM quota_usage WHERE depth = 1").Scan(&before))
	require.NoError(t, watcher.Levels.SetCapacity(b.ctx, quota.Capacity{CPUMillis: 64_000, MemoryMiB: 1 << 20, Pods: 100, ClusterGPUs: map[string]int{"A100": 4, "H100": 2, "": 1}}))
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT revision FROM quota_usage WHERE depth = 1").Scan(&after))
	require.Equal(t, before, after, "the same capacity again is no change")
	taken := &quota.Capacity{CPUMillis: 8000, Pods: 2, ClusterGPUs: map[string]int{"A100": 4}}
	require.NoError(t, watcher.Levels.SetCapacity(b.ctx, quota.Capacity{CPUMillis: 64_000, MemoryMiB: 1 << 20, Pods: 100, ClusterGPUs: map[string]int{"A100": 4, "H100": 2, "": 1}, InUse: taken}))
	require.NoError(t, follower.Levels.Reload(b.ctx))
	require.Nil(t, check(follower, 4, "A100"), "the other workloads will end")
	forecast := follower.Forecast([]fair.Request{{Project: auth.LocalProject, Amount: fair.Amount{CPUMillis: 1000, GPUs: 1, GPUType: "A100", Pods: 1}, Preemptible: true}})
	require.Equal(t, fair.WouldWait, forecast.Verdict)
	require.Equal(t, "Waiting for A100 GPUs: requests 1 A100 GPU; the cluster has 0 left of 4; other workloads use 4.", forecast.Reason.Message)
	require.NoError(t, watcher.Levels.SetCapacity(b.ctx, quota.Capacity{CPUMillis: 64_000, MemoryMiB: 1 << 20, Pods: 100}))
	require.NoError(t, follower.Levels.Reload(b.ctx))
	require.NotNil(t, check(follower, 1, "A100"), "they have ended")
	require.Equal(t, 64_000, follower.Levels.Capacity().CPUMillis)
}
