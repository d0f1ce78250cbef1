package pool

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

const (
	maxName   = 253
	maxLabels = 50
	maxSlots  = 10_000
	// maxTaken limits how many attempts one response assigns.
	maxTaken = 16
	// pollLimit is the maximum wait for an attempt.
	pollLimit = 20 * time.Second
	// pollInterval is the interval at which a waiting worker checks for attempts that were added
	// through another server.
	pollInterval = time.Second
	// heartbeats is the number of heartbeats within the time after which a worker is lost.
	heartbeats = 3
)

var (
	labelName  = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_./-]{0,61}[A-Za-z0-9])?$`)
	labelValue = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{0,63}$`)
)

// CheckLabels returns Invalid unless labels can be those of a worker or of an operator.
func CheckLabels(labels map[string]string) error {
	if len(labels) > maxLabels {
		return apperr.New(apperr.Invalid, "There are %d labels; at most %d are allowed.", len(labels), maxLabels)
	}
	for key, value := range labels {
		if !labelName.MatchString(key) || !labelValue.MatchString(value) {
			return apperr.New(apperr.Invalid, "The label %s=%s is not valid: use letters, digits, _, ., / and -, at most 63 characters each.", key, value)
		}
	}
	return nil
}

// Joining is the description of a worker that joins.
type Joining struct {
	Worker   uuid.UUID // from an earlier Join of the machine; uuid.Nil: a new worker
	Session  uuid.UUID // of the process
	Name     string
	Labels   map[string]string
	Capacity Amount
	Version  string
	Held     []string // results of an earlier process that are not delivered yet
}

func (j Joining) check() error {
	c := j.Capacity
	switch {
	case j.Session == uuid.Nil:
		return apperr.New(apperr.Invalid, "The session of a worker must be a UUID.")
	case j.Name == "" || len(j.Name) > maxName || len(j.Version) > maxName || len(c.GPUType) > maxName:
		return apperr.New(apperr.Invalid, "The name of a worker must have 1 to %d bytes.", maxName)
	case c.Slots < 1 || c.Slots > maxSlots:
		return apperr.New(apperr.Invalid, "A worker must have 1 to %d slots.", maxSlots)
	case c.CPUMillis < 0 || c.MemoryMiB < 0 || c.GPUs < 0 || c.MemoryMiB > math.MaxInt32:
		return apperr.New(apperr.Invalid, "The capacity of a worker cannot be negative.")
	}
	return CheckLabels(j.Labels)
}

// Joined identifies a worker that has joined.
type Joined struct {
	Worker uuid.UUID
	Pool   string
	Wait   time.Duration // maximum wait of a Poll
}

// Join registers a worker of the pool of token. The attempts of an earlier process of the worker
// end as interrupted, unless the worker holds their results; lost receives their task IDs.
// Unauthenticated: the token is not valid.
func (s *Service) Join(ctx context.Context, token string, j Joining, lost func(ctx context.Context, worker string, taskIDs []string) error) (Joined, error) {
	pool, err := s.verify(ctx, token)
	if err != nil {
		return Joined{}, err
	}
	if err := j.check(); err != nil {
		return Joined{}, err
	}
	if j.Worker == uuid.Nil {
		j.Worker = uuid.New()
	}
	row, err := s.join(ctx, pool, j)
	if db.IsNoRows(err) { // the machine belonged to another pool before
		j.Worker = uuid.New()
		row, err = s.join(ctx, pool, j)
	}
	if err != nil {
		return Joined{}, fmt.Errorf("join pool %s: %w", pool, err)
	}
	taken, err := s.queries.PoolWorkOfWorker(ctx, &row.ID)
	if err != nil {
		return Joined{}, fmt.Errorf("list attempts of worker %s: %w", row.ID, err)
	}
	var kept, gone []string
	for _, w := range taken {
		switch {
		case slices.Contains(j.Held, w.TaskID):
			kept = append(kept, w.TaskID)
		case *w.Session != j.Session:
			gone = append(gone, w.TaskID)
		}
	}
	if len(kept) > 0 {
		if err := s.queries.MovePoolWork(ctx, j.Session, &row.ID, kept); err != nil {
			return Joined{}, fmt.Errorf("keep attempts of worker %s: %w", row.ID, err)
		}
	}
	if len(gone) > 0 {
		if err := lost(ctx, row.Name, gone); err != nil {
			return Joined{}, err
		}
		if _, err := s.queries.EndPoolWork(ctx, &row.ID, gone); err != nil {
			return Joined{}, fmt.Errorf("end attempts of worker %s: %w", row.ID, err)
		}
	}
	return Joined{Worker: row.ID, Pool: pool, Wait: s.maxWait()}, nil
}

func (s *Service) join(ctx context.Context, pool string, j Joining) (db.PoolWorker, error) {
	c := j.Capacity
	return s.queries.JoinPool(ctx, db.JoinPoolParams{
		ID: j.Worker, Pool: pool, Name: j.Name, Session: j.Session, Labels: encodeLabels(j.Labels), Version: j.Version,
		Slots: int32(c.Slots), CpuMillis: int32(c.CPUMillis), MemoryMib: int32(c.MemoryMiB), Gpus: int32(c.GPUs), GpuType: c.GPUType, //nolint:gosec // checked
	})
}

// maxWait is the maximum wait of a Poll, so that heartbeats arrive in time.
func (s *Service) maxWait() time.Duration { return min(pollLimit, s.config.LostAfter/heartbeats) }

// Polling is the heartbeat of a worker.
type Polling struct {
	Worker, Session uuid.UUID
	Held            []string // attempts that run or whose results are not delivered yet
	Done            []string // attempts whose results have been delivered
	Leaving         bool     // it takes no more attempts
	Wait            time.Duration
}

// Polled is the response to a worker.
type Polled struct {
	Specs    [][]byte // AttemptSpecs with tokens
	Draining bool
}

// Poll records the heartbeat of a worker and assigns attempts that fit its free capacity; if there
// are none, it waits. NotFound: the worker must join again. Conflict: another process has joined as
// the same worker.
func (s *Service) Poll(ctx context.Context, token string, p Polling) (Polled, error) {
	wait := max(0, min(p.Wait, s.maxWait()))
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	for {
		grown := s.awakened()
		pool, err := s.verify(ctx, token) // it may be revoked during the wait
		if err != nil {
			return Polled{}, err
		}
		polled, err := s.pollOnce(ctx, pool, p)
		if err != nil || len(polled.Specs) > 0 || wait == 0 {
			return polled, err
		}
		if ended, err := s.awaitWork(ctx, pool, grown, deadline.C); err != nil || ended {
			return polled, err
		}
	}
}

// awaitWork returns when attempts wait in a pool or its state may have changed; ended reports that
// the deadline has passed.
func (s *Service) awaitWork(ctx context.Context, pool string, grown <-chan struct{}, deadline <-chan time.Time) (ended bool, err error) {
	for {
		select {
		case <-ctx.Done():
			return true, ctx.Err()
		case <-deadline:
			return true, nil
		case <-grown:
			return false, nil
		case <-time.After(pollInterval):
		}
		waits, err := s.queries.HasPoolWork(ctx, pool)
		if err != nil {
			return true, fmt.Errorf("find waiting attempts of pool %s: %w", pool, err)
		}
		if waits {
			return false, nil
		}
	}
}

// pollOnce is Poll without the wait, in one transaction that locks the worker.
func (s *Service) pollOnce(ctx context.Context, pool string, p Polling) (polled Polled, err error) {
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		worker, draining, err := lockWorker(ctx, q, pool, p)
		if err != nil {
			return err
		}
		polled = Polled{Draining: draining}
		if len(p.Done) > 0 {
			if _, err := q.EndPoolWork(ctx, &worker.ID, p.Done); err != nil {
				return fmt.Errorf("end attempts of worker %s: %w", worker.ID, err)
			}
		}
		taken, err := q.PoolWorkOfWorker(ctx, &worker.ID)
		if err != nil {
			return fmt.Errorf("list attempts of worker %s: %w", worker.ID, err)
		}
		free := capacityOf(worker)
		for _, w := range taken {
			free = free.minus(w)
			if slices.Contains(p.Held, w.TaskID) {
				continue
			}
			if err := s.add(&polled, w); err != nil { // the response that assigned it was lost
				return err
			}
		}
		lost := func(id string) bool {
			return !slices.ContainsFunc(taken, func(w db.PoolWork) bool { return w.TaskID == id })
		}
		if draining || p.Leaving || slices.ContainsFunc(p.Held, lost) { // a lost attempt still uses the machine until it ends
			return nil
		}
		return s.take(ctx, q, worker, free, &polled)
	})
	return polled, err
}

func lockWorker(ctx context.Context, q *db.Queries, pool string, p Polling) (db.PoolWorker, bool, error) {
	row, err := q.LockPoolWorker(ctx, p.Leaving, p.Worker, pool)
	if db.IsNoRows(err) {
		return db.PoolWorker{}, false, apperr.New(apperr.NotFound, "The pool %s has no worker %s.", pool, p.Worker)
	}
	if err != nil {
		return db.PoolWorker{}, false, fmt.Errorf("lock worker %s: %w", p.Worker, err)
	}
	if row.PoolWorker.Session != p.Session {
		return db.PoolWorker{}, false, apperr.New(apperr.Conflict, "Another process has joined the pool %s as this worker.", pool)
	}
	return row.PoolWorker, row.PoolWorker.Draining || row.PoolDraining, nil
}

func (s *Service) add(polled *Polled, row db.PoolWork) error {
	spec, err := s.specOf(row)
	if err == nil {
		polled.Specs = append(polled.Specs, spec)
	}
	return err
}

// take assigns waiting attempts as long as they fit.
func (s *Service) take(ctx context.Context, q *db.Queries, worker db.PoolWorker, free capacity, polled *Polled) error {
	if free.slots <= 0 {
		return nil
	}
	if err := lockLimits(ctx, q, worker.Pool); err != nil {
		return err
	}
	for range maxTaken {
		if free.slots <= 0 {
			return nil
		}
		row, err := q.TakePoolWork(ctx, db.TakePoolWorkParams{
			Worker: worker.ID, Session: worker.Session, TakenAt: s.config.Now(), Pool: worker.Pool, Labels: worker.Labels,
			CpuMillis: free.cpu, MemoryMib: free.memory, Gpus: free.gpus, GpuType: worker.GpuType,
		})
		if db.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("take an attempt of pool %s: %w", worker.Pool, err)
		}
		if err := s.add(polled, row); err != nil {
			return err
		}
		free = free.minus(row)
	}
	return nil
}

// capacity is what a worker has left.
type capacity struct{ slots, cpu, memory, gpus int32 }

func capacityOf(w db.PoolWorker) capacity {
	c := capacity{w.Slots, w.CpuMillis, w.MemoryMib, w.Gpus}
	if c.cpu == 0 {
		c.cpu = math.MaxInt32
	}
	if c.memory == 0 {
		c.memory = math.MaxInt32
	}
	return c
}

func (c capacity) minus(w db.PoolWork) capacity {
	return capacity{c.slots - 1, c.cpu - w.CpuMillis, c.memory - w.MemoryMib, c.gpus - w.Gpus}
}

// Leave removes a worker whose attempts have been delivered.
func (s *Service) Leave(ctx context.Context, token string, worker, session uuid.UUID, done []string) error {
	pool, err := s.verify(ctx, token)
	if err != nil {
		return err
	}
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if _, _, err := lockWorker(ctx, q, pool, Polling{Worker: worker, Session: session, Leaving: true}); err != nil {
			return err
		}
		if _, err := q.EndPoolWork(ctx, &worker, done); err != nil {
			return fmt.Errorf("end attempts of worker %s: %w", worker, err)
		}
		if _, err := q.DeletePoolWorker(ctx, worker, pool, session); err != nil {
			return fmt.Errorf("remove worker %s: %w", worker, err)
		}
		return nil
	})
}
