package quota_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

const (
	soakSchedulers = 64
	soakOperations = 10_000 // FLOWFORGE_SOAK sets another number; `make quota-soak` a million
	soakProjects   = 12
)

// soak is a tree in which many schedulers reserve at random.
type soak struct {
	*testBundle

	teams, projects []uuid.UUID
	levels          []uuid.UUID
	left            atomic.Int64 // operations left
	refused         atomic.Int64
	crashed         atomic.Int64

	// Both are guarded by the lock of the root's row.
	ceiling map[uuid.UUID]fair.Vector
	allowed map[uuid.UUID]fair.Vector // the ceiling, or what was in use when it was lowered
}

// TestSoak runs reservations, releases, crashes and limit changes of 64 schedulers
// at random. No level is ever above its limit, except by reservations from
// before the limit was lowered; counters always equal the reservations; and the
// reservations of crashed holders are released once their leases have expired.
func TestSoak(t *testing.T) {
	t.Parallel()
	operations := soakOperations
	if text := os.Getenv("FLOWFORGE_SOAK"); text != "" {
		var err error
		operations, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	s := newSoak(t, operations)
	var schedulers, auditor sync.WaitGroup
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	for i := range soakSchedulers {
		schedulers.Go(func() { s.schedule(ctx, rand.New(rand.NewPCG(7, uint64(i)))) })
	}
	audited := 0
	auditor.Go(func() {
		for ctx.Err() == nil && s.left.Load() > 0 {
			s.audit()
			s.clock.add(5 * time.Second) // leases of crashed holders expire
			if _, err := s.Reconciler.Collect(s.ctx); err != nil {
				t.Errorf("collect: %v", err)
				return
			}
			audited++
		}
	})
	schedulers.Wait()
	auditor.Wait()
	s.audit()
	t.Logf("%d operations, %d refused, %d crashes, %d audits", operations, s.refused.Load(), s.crashed.Load(), audited)
	require.Positive(t, s.refused.Load(), "limits were reached")
	require.Positive(t, s.crashed.Load())

	s.clock.add(61 * time.Second)
	for n := 1; n > 0; {
		var err error
		n, err = s.Reconciler.Collect(s.ctx)
		require.NoError(t, err)
	}
	for _, level := range s.levels {
		require.Empty(t, s.used(level), "nothing leaks")
	}
	require.NoError(t, s.Reconciler.Reconcile(s.ctx))
	d, err := s.Reconciler.Drift(s.ctx)
	require.NoError(t, err)
	require.True(t, d.FoundAt.IsZero(), "%+v", d)
}

func newSoak(t *testing.T, operations int) *soak {
	s := &soak{testBundle: setup(t), levels: []uuid.UUID{auth.Installation, auth.LocalTenant}, ceiling: map[uuid.UUID]fair.Vector{}, allowed: map[uuid.UUID]fair.Vector{}}
	s.left.Store(int64(operations))
	for i := range soakProjects {
		team, project := s.project("t" + strconv.Itoa(i))
		s.teams, s.projects = append(s.teams, team), append(s.projects, project)
	}
	s.levels = append(append(s.levels, s.teams...), s.projects...)
	for _, level := range s.levels[1:] {
		s.allowed[level], s.ceiling[level] = fair.Vector{fair.CPU: 100_000, fair.GPU: 8}, fair.Vector{fair.CPU: 100_000, fair.GPU: 8}
	}
	s.allowed[auth.Installation] = fair.Vector{fair.CPU: 100_000, fair.GPU: 8}
	s.ceiling[auth.Installation] = s.allowed[auth.Installation]
	for i, team := range s.teams {
		if i%2 == 0 {
			s.changeLimit(rand.New(rand.NewPCG(1, uint64(i))), team)
		}
	}
	require.NoError(t, s.Levels.Reload(s.ctx))
	return s
}

// schedule is one scheduler: it holds reservations of one project at a time.
func (s *soak) schedule(ctx context.Context, rng *rand.Rand) {
	service := s.open() // its own memory, like another server
	project := s.projects[rng.IntN(len(s.projects))]
	var held []quota.Slot
	for s.left.Load() > 0 && ctx.Err() == nil {
		var err error
		switch n := rng.IntN(100); {
		case n < 50:
			held, err = s.reserveSome(service, rng, project, held)
		case n < 95:
			held, err = s.releaseSome(service, rng, project, held)
		case n < 99 || rng.IntN(3) > 0: // the holder dies: these are never released
			s.crashed.Add(1)
			held, project = nil, s.projects[rng.IntN(len(s.projects))]
		default:
			s.changeLimit(rng, s.levels[1+rng.IntN(len(s.levels)-1)])
		}
		if err != nil && !errors.Is(err, errRollback) {
			s.t.Errorf("scheduler: %v", err)
			return
		}
	}
	for len(held) > 0 {
		n := min(len(held), 50)
		_ = s.transact(func(q *db.Queries) error {
			_, err := service.Reservations.Release(s.ctx, q, project, held[:n])
			return err
		})
		held = held[n:]
	}
}

func (s *soak) transact(do func(*db.Queries) error) error {
	return db.Tx(s.ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error { return do(q) })
}

// crash abandons one transaction in twenty.
func (s *soak) crash(rng *rand.Rand) error {
	if rng.IntN(20) > 0 {
		return nil
	}
	s.crashed.Add(1)
	return errRollback
}

func (s *soak) reserveSome(service *quota.Service, rng *rand.Rand, project uuid.UUID, held []quota.Slot) ([]quota.Slot, error) {
	execution := uuid.New()
	amount := fair.Amount{CPUMillis: 100 * (1 + rng.IntN(20)), Pods: 1, GPUs: rng.IntN(2)}
	if amount.GPUs > 0 {
		amount.GPUType = "A100"
	}
	grants := make([]fair.Grant, 1+rng.IntN(8))
	slots := make([]quota.Slot, len(grants))
	for i := range grants {
		grants[i] = grant(project, execution, i, amount)
		slots[i] = quota.Slot{Execution: execution, Node: i, Attempt: 1}
	}
	var reason *fair.Reason
	err := s.transact(func(q *db.Queries) (err error) {
		if reason, err = service.Reservations.Reserve(s.ctx, q, grants); err != nil {
			return err
		}
		return s.crash(rng)
	})
	s.left.Add(-int64(len(grants)))
	switch {
	case err != nil:
		return held, err
	case reason != nil:
		s.refused.Add(1)
		return held, nil
	}
	return append(held, slots...), nil
}

func (s *soak) releaseSome(service *quota.Service, rng *rand.Rand, project uuid.UUID, held []quota.Slot) ([]quota.Slot, error) {
	if len(held) == 0 {
		return held, nil
	}
	n := 1 + rng.IntN(min(len(held), 12))
	err := s.transact(func(q *db.Queries) error {
		if _, err := service.Reservations.Release(s.ctx, q, project, held[:n]); err != nil {
			return err
		}
		return s.crash(rng)
	})
	s.left.Add(-int64(n))
	if err != nil {
		return held, err
	}
	if rng.IntN(10) == 0 { // the answer was lost: release again
		return held, nil
	}
	return held[n:], nil
}

// changeLimit sets a new limit, under the lock, so that an audit sees limit and use at
// the same time. The level may keep its reservations.
func (s *soak) changeLimit(rng *rand.Rand, level uuid.UUID) {
	limit := fair.Vector{fair.CPU: int64(1000 * (5 + rng.IntN(90))), fair.GPU: int64(1 + rng.IntN(8))}
	borrow := fair.Vector{fair.CPU: int64(1000 * rng.IntN(10))}
	err := db.Tx(s.ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error {
		rows, err := q.LockQuotaPath(s.ctx, []uuid.UUID{auth.Installation, level})
		if err != nil {
			return err
		}
		_, err = tx.Exec(s.ctx, `INSERT INTO quotas (node_id, limits, borrow) VALUES ($1, $2, $3)
			ON CONFLICT (node_id) DO UPDATE SET limits = excluded.limits, borrow = excluded.borrow`, level, limit, borrow)
		if err != nil {
			return err
		}
		var used fair.Vector
		if err := json.Unmarshal(rows[len(rows)-1].Used, &used); err != nil {
			return err
		}
		s.ceiling[level] = limit.Plus(borrow) // the lock guards both maps
		s.allowed[level] = most(s.ceiling[level], used)
		return nil
	})
	if err != nil {
		s.t.Errorf("change a limit: %v", err)
	}
}

// most returns, for every resource of ceiling, the larger of ceiling and used.
func most(ceiling, used fair.Vector) fair.Vector {
	v := fair.Vector{}
	for r, n := range ceiling {
		v[r] = max(n, used[r])
	}
	return v
}

// audit compares, under the lock, the counters of all levels with the reservations and
// with the ceilings.
func (s *soak) audit() {
	err := db.Tx(s.ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error {
		if _, err := q.LockQuotaPath(s.ctx, []uuid.UUID{auth.Installation}); err != nil {
			return err
		}
		rows, err := tx.Query(s.ctx, `SELECT u.node_id, u.used, coalesce(sum(r.cpu_millis), 0)::bigint, coalesce(sum(r.gpus), 0)::bigint
			FROM quota_usage u
			LEFT JOIN tenancy_nodes n ON u.node_id = ANY (n.path) AND n.kind = 'project'
			LEFT JOIN reservations r ON r.project_id = n.id
			GROUP BY u.node_id, u.used`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var level uuid.UUID
			var used fair.Vector
			var cpu, gpu int64
			if err := rows.Scan(&level, &used, &cpu, &gpu); err != nil {
				return err
			}
			if used[fair.CPU] != cpu || used[fair.GPU] != gpu {
				s.t.Errorf("level %s counts %v, reserved are %d and %d", level, used, cpu, gpu)
			}
			for r, n := range s.allowed[level] {
				if used[r] > n {
					s.t.Errorf("level %s uses %d of %s, allowed are %d", level, used[r], r, n)
				}
			}
			s.allowed[level] = most(s.ceiling[level], used)
		}
		return rows.Err()
	})
	if err != nil {
		s.t.Errorf("audit: %v", err)
	}
}
