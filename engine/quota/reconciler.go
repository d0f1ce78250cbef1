package quota

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

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

// Reconciler corrects the counters: it compares them with the reservations, and releases
// abandoned reservations.
type Reconciler struct {
	pool   *pgxpool.Pool
	levels *Levels
	now    func() time.Time
	log    *slog.Logger

	mu    sync.Mutex
	drift Drift
}

// Drift returns the results of comparisons, for the administrator's page and for
// readiness. It requires QuotaRead at the installation.
func (rec *Reconciler) Drift(ctx context.Context) (Drift, error) {
	if _, err := auth.AuthorizeIn(ctx, auth.QuotaRead, auth.Installation, apperr.New(apperr.NotFound, "There is no such page.")); err != nil {
		return Drift{}, err
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return rec.drift, nil
}

// alarmFor is how long drift makes Ready fail.
const alarmFor = time.Hour

// Ready returns an error when counters were wrong within the last hour: they have been
// corrected, but an operator should check the log. It requires no right.
func (rec *Reconciler) Ready(context.Context) error {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.drift.FoundAt.IsZero() || rec.now().Sub(rec.drift.FoundAt) > alarmFor {
		return nil
	}
	return fmt.Errorf("%d quota counters were wrong at %s and have been corrected", len(rec.drift.Levels), rec.drift.FoundAt.Format(time.RFC3339))
}

// collectBatch is the maximum number of reservations that one transaction releases.
const collectBatch = 500

// Collect releases abandoned reservations, whose lease has expired and that no live
// execution knows. It returns their number.
func (rec *Reconciler) Collect(ctx context.Context) (int, error) {
	n := 0
	err := db.Tx(ctx, rec.pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := lockRoot(ctx, q); err != nil {
			return err
		}
		rows, err := q.DeleteAbandoned(ctx, rec.now(), collectBatch)
		if err != nil {
			return fmt.Errorf("delete abandoned reservations: %w", err)
		}
		n = len(rows)
		freed := map[uuid.UUID]fair.Vector{}
		for _, r := range rows {
			freed[r.ProjectID] = freed[r.ProjectID].Minus(amountOf(r).Vector())
		}
		for project, delta := range freed {
			l, err := rec.levels.lock(ctx, q, project)
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
		rec.log.Warn("abandoned reservations were released", "count", n)
		rec.mu.Lock()
		rec.drift.Abandoned += n
		rec.mu.Unlock()
	}
	return n, nil
}

// Reconcile compares every counter with the sum of the live reservations, under the
// lock that every change takes, and corrects errors.
func (rec *Reconciler) Reconcile(ctx context.Context) error {
	var found []LevelDrift
	err := db.Tx(ctx, rec.pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := lockRoot(ctx, q); err != nil {
			return err
		}
		tree, err := rec.levels.load(ctx, q)
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
	rec.note(found)
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
func (rec *Reconciler) note(found []LevelDrift) {
	for _, d := range found {
		rec.log.Error("a quota counter was wrong and has been corrected", "level", d.Level, "counted", d.Counted.String(), "reserved", d.Reserved.String())
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.drift.CheckedAt = rec.now()
	if len(found) > 0 {
		rec.drift.FoundAt, rec.drift.Levels = rec.drift.CheckedAt, found
	}
}
