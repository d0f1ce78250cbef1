package quota

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// Drift is the result of comparing counters with reservations. Any drift is an alarm:
// it is corrected at once, and should never happen.
type Drift struct {
	CheckedAt time.Time    // of the last comparison; zero before the first
	FoundAt   time.Time    // when drift was last found; zero: never
	Levels    []LevelDrift // the drift found then
	Abandoned int          // abandoned reservations that were released, in total
}

// LevelDrift is the error of a counter.
type LevelDrift struct {
	Level    uuid.UUID
	Counted  fair.Vector
	Reserved fair.Vector
}

// Drift returns the results of comparisons, for the administrator's page and for
// readiness. It requires QuotaRead at the installation.
func (s *Service) Drift(ctx context.Context) (Drift, error) {
	if _, err := auth.AuthorizeIn(ctx, auth.QuotaRead, auth.Installation, apperr.New(apperr.NotFound, "There is no such page.")); err != nil {
		return Drift{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drift, nil
}

// alarmFor is how long drift makes Ready fail.
const alarmFor = time.Hour

// Ready returns an error when counters were wrong within the last hour: they have been
// corrected, but an operator should check the log. It requires no right.
func (s *Service) Ready(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drift.FoundAt.IsZero() || s.now().Sub(s.drift.FoundAt) > alarmFor {
		return nil
	}
	return fmt.Errorf("%d quota counters were wrong at %s and have been corrected", len(s.drift.Levels), s.drift.FoundAt.Format(time.RFC3339))
}

// Maintain is what Run does every minute in the leader: it releases abandoned
// reservations, compares counters with reservations, corrects the image in memory,
// drops requests that wait elsewhere, and stores samples.
func (s *Service) Maintain(ctx context.Context) error {
	_, err := s.Collect(ctx)
	return errors.Join(err, s.Reconcile(ctx), s.refreshStorage(ctx), s.refresh(ctx), s.forgetForeign(ctx), s.sample(ctx))
}

// forgetForeign removes requests of executions from the queue that have ended or that
// another server drives now: no loop here would claim their offers.
func (s *Service) forgetForeign(ctx context.Context) error {
	waiting := s.fair.WaitingExecutions()
	if len(waiting) == 0 {
		return nil
	}
	ids, err := s.queries.DrivenElsewhere(ctx, waiting, s.config.Instance+"/")
	if err != nil {
		return fmt.Errorf("find requests that wait elsewhere: %w", err)
	}
	for _, id := range ids {
		s.fair.WithdrawAll(id)
	}
	return nil
}

// collectBatch is the maximum number of reservations that one transaction releases.
const collectBatch = 500

// Collect releases abandoned reservations, whose lease has expired and that no live
// execution knows. It returns their number.
func (s *Service) Collect(ctx context.Context) (int, error) {
	n := 0
	err := db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := s.lockRoot(ctx, q); err != nil {
			return err
		}
		rows, err := q.DeleteAbandoned(ctx, s.now(), collectBatch)
		if err != nil {
			return fmt.Errorf("delete abandoned reservations: %w", err)
		}
		n = len(rows)
		freed := map[uuid.UUID]fair.Vector{}
		for _, r := range rows {
			freed[r.ProjectID] = freed[r.ProjectID].Minus(amountOf(r).Vector())
		}
		for project, delta := range freed {
			l, err := s.lock(ctx, q, project)
			if err != nil {
				return err
			}
			if err := l.add(ctx, delta, 0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("collect abandoned reservations: %w", err)
	}
	if n > 0 {
		s.config.Logger.Warn("abandoned reservations were released", "count", n)
		s.mu.Lock()
		s.drift.Abandoned += n
		s.mu.Unlock()
	}
	return n, nil
}

// Reconcile compares every counter with the sum of the live reservations, under the
// lock that every change takes, and corrects errors.
func (s *Service) Reconcile(ctx context.Context) error {
	var found []LevelDrift
	err := db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := s.lockRoot(ctx, q); err != nil {
			return err
		}
		tree, err := s.loadTree(ctx, q)
		if err != nil {
			return err
		}
		reserved, err := reservedByLevel(ctx, q, tree)
		if err != nil {
			return err
		}
		counted, err := q.QuotaUse(ctx)
		if err != nil {
			return fmt.Errorf("read the counters: %w", err)
		}
		var rows []counter
		for _, c := range counted {
			used, err := vectorOf(c.Used)
			if err != nil {
				return fmt.Errorf("the counters of %s: %w", c.NodeID, err)
			}
			if want := reserved[c.NodeID]; len(used.Minus(want)) > 0 {
				found = append(found, LevelDrift{c.NodeID, used, want})
				rows = append(rows, counter{c.NodeID, fair.Vector{}.Plus(want), c.StorageBytes})
			}
		}
		if len(rows) == 0 {
			return nil
		}
		encoded, err := json.Marshal(rows)
		if err != nil {
			return fmt.Errorf("encode counters: %w", err)
		}
		return q.WriteQuotaUse(ctx, encoded)
	})
	if err != nil {
		return fmt.Errorf("compare counters with reservations: %w", err)
	}
	s.note(found)
	return nil
}

// reservedByLevel sums live reservations at every level.
func reservedByLevel(ctx context.Context, q *db.Queries, tree *fair.Tree) (map[uuid.UUID]fair.Vector, error) {
	sums, err := q.SumReservations(ctx)
	if err != nil {
		return nil, fmt.Errorf("sum reservations: %w", err)
	}
	reserved := map[uuid.UUID]fair.Vector{}
	for _, r := range sums {
		v := fair.Vector{}.Plus(fair.Vector{
			fair.CPU: r.Cpu, fair.Memory: r.Memory, fair.GPU: r.Gpus, fair.Pods: r.Pods, fair.Executions: r.Executions,
		})
		if r.GpuType != "" {
			v = v.Plus(fair.Vector{fair.OfType(r.GpuType): r.Gpus})
		}
		maps.DeleteFunc(v, func(_ fair.Resource, n int64) bool { return n == 0 })
		for _, id := range tree.Path(r.ProjectID) {
			reserved[id] = reserved[id].Plus(v)
		}
	}
	return reserved, nil
}

// note stores and logs the result of a comparison.
func (s *Service) note(found []LevelDrift) {
	for _, d := range found {
		s.config.Logger.Error("a quota counter was wrong and has been corrected", "level", d.Level, "counted", d.Counted.String(), "reserved", d.Reserved.String())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drift.CheckedAt = s.now()
	if len(found) > 0 {
		s.drift.FoundAt, s.drift.Levels = s.drift.CheckedAt, found
	}
}
