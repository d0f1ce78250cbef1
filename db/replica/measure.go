package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// place is a server's position in the log of changes, and which database it serves.
type place struct {
	position int64
	cluster  int64 // identifier that a primary and its replicas share
	database string
	replica  bool
}

const (
	primaryPlace = `SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint, c.system_identifier, current_database()::text, false
FROM pg_control_system() c`
	replicaPlace = `SELECT coalesce((pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::bigint, 0), c.system_identifier, current_database()::text, pg_is_in_recovery()
FROM pg_control_system() c`
)

func placeOf(ctx context.Context, pool *pgxpool.Pool, statement string) (p place, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err = pool.QueryRow(ctx, statement).Scan(&p.position, &p.cluster, &p.database, &p.replica)
	return p, err
}

// recordEnd returns the end of the last record before a position of the primary. At the start of a page
// of the log, the primary counts the header of the page, which its replicas count with the next record.
// No record ends within that header.
func recordEnd(position int64) int64 {
	const page, shortHeader, longHeader = 8192, 24, 40
	if offset := position % page; offset == shortHeader || offset == longHeader {
		return position - offset
	}
	return position
}

// Run measures the replica until ctx ends.
func (r *Replica) Run(ctx context.Context) error {
	tick := time.NewTicker(min(max(r.cfg.MaxLag/10, minInterval), maxInterval))
	defer tick.Stop()
	for {
		r.Measure(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Measure compares the replica with the primary once.
func (r *Replica) Measure(ctx context.Context) {
	began := r.cfg.Now() // before the position is read, so that it contains all earlier writes
	primary, err := placeOf(ctx, r.cfg.Primary, primaryPlace)
	if err != nil {
		return // without a newer sample the replica ages, and reads use the primary
	}
	primary.position = recordEnd(primary.position)
	replica, err := placeOf(ctx, r.cfg.Replica, replicaPlace)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		r.lose(began, primary.position, fmt.Errorf("It does not respond: %w", err))
	case replica.cluster != primary.cluster || replica.database != primary.database:
		r.lose(began, primary.position, errors.New("It serves another database than the primary."))
	case !replica.replica:
		r.lose(began, primary.position, errors.New("It is not a replica: the server accepts writes."))
	default:
		r.found(began, primary.position, replica.position)
	}
}

// found notes the positions of both servers. The primary was read first.
func (r *Replica) found(at time.Time, primary, replayed int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples.add(at, primary)
	if fresh, ok := r.samples.take(replayed); ok {
		r.fresh = fresh
	}
	r.replayed = replayed
	if r.problem == "" {
		return
	}
	r.problem = ""
	r.up, r.down = context.WithCancel(context.Background())
	r.cfg.Log.Info("the replica responds")
}

// lose stops reads of the replica. Those in flight move to the primary: a server that vanished from
// the network would never end them.
func (r *Replica) lose(at time.Time, primary int64, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples.add(at, primary)
	if r.problem == "" {
		r.cfg.Log.Warn("the replica is not read, so lists are read from the primary", "error", cause)
	}
	r.problem = cause.Error()
	r.down()
}

// responding returns a context that ends with ctx, and when the replica stops responding.
func (r *Replica) responding(ctx context.Context) (context.Context, context.CancelFunc) {
	r.mu.Lock()
	up := r.up
	r.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(up, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
