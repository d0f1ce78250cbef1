// Package replica reads lists from a streaming replica of the database, with bounded staleness. A
// read uses the replica only if its request allows it, if the replica is known to have everything
// that the primary had a moment ago, and if it has the last write of the reader. Every other read
// uses the primary (docs/decisions/050-read-replica.md).
package replica

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/db"
)

const (
	probeTimeout = 2 * time.Second
	minInterval  = 20 * time.Millisecond
	maxInterval  = 250 * time.Millisecond
)

// Config configures a Replica. All fields except Log are required.
type Config struct {
	Primary *pgxpool.Pool
	Replica *pgxpool.Pool
	MaxLag  time.Duration // a replica that may lack older writes is not read
	Log     *slog.Logger
	Now     func() time.Time
}

// Replica decides where reads go. It is safe for concurrent use.
type Replica struct {
	cfg      Config
	primary  *db.Queries
	counters counters

	mu       sync.Mutex
	samples  samples
	fresh    time.Time // the replica has everything that the primary had then
	replayed int64     // position up to which the replica has replayed
	problem  string    // why the replica is not read, apart from its lag; "": it responds
	down     context.CancelFunc
	up       context.Context //nolint:containedctx // ends when the replica stops responding: in-flight reads move to the primary
	trusted  time.Time       // before it, this server reads no replica: it could not record a write
}

// New returns a Replica that is not read until Run has measured it.
func New(c Config) *Replica {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	r := &Replica{cfg: c, primary: db.New(c.Primary), problem: "It has not been measured yet."}
	r.up, r.down = context.WithCancel(context.Background())
	r.down()
	return r
}

// State is what a server knows about the replica.
type State struct {
	Usable  bool
	Problem string        // why it is not read; "" if it is
	Lag     time.Duration // at most: the replica has everything older
	Known   bool          // Lag was measured at least once
	MaxLag  time.Duration
	Reads   Reads
}

// State returns the current state.
func (r *Replica) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := State{Known: !r.fresh.IsZero(), MaxLag: r.cfg.MaxLag, Reads: r.counters.read()}
	if s.Known {
		s.Lag = max(r.cfg.Now().Sub(r.fresh), 0)
	}
	switch r.refusal() {
	case "":
		s.Usable = true
	case Down:
		s.Problem = r.problem
	case Behind:
		s.Problem = "It lags behind the primary by more than " + r.cfg.MaxLag.String() + "."
	case OwnWrite:
		s.Problem = "This server could not record a write, and waits until every replica within the limit contains it."
	}
	return s
}

// Ready returns an error if the replica is not read.
func (r *Replica) Ready(context.Context) error {
	if s := r.State(); !s.Usable {
		return errors.New(s.Problem)
	}
	return nil
}

// refusal returns why the replica must not be read now, or "". The caller holds mu.
func (r *Replica) refusal() Reason {
	now := r.cfg.Now()
	switch {
	case r.problem != "":
		return Down
	case now.Before(r.trusted):
		return OwnWrite
	case now.Sub(r.fresh) > r.cfg.MaxLag:
		return Behind
	}
	return ""
}

// Wrote records that a subject has written. A handler calls it after the commit and before the
// response. The server reads no replica for a while if the record fails.
func (r *Replica) Wrote(ctx context.Context, subject uuid.UUID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout) // the client may have left
	defer cancel()
	if err := r.primary.NoteWrite(ctx, subject); err != nil {
		r.mu.Lock()
		r.trusted = r.cfg.Now().Add(r.cfg.MaxLag)
		r.mu.Unlock()
		r.cfg.Log.Warn("a write could not be recorded, so lists are read from the primary", "for", r.cfg.MaxLag, "error", err)
	}
}

// request is the decision for the reads of one request, which all use the same server.
type request struct {
	subject uuid.UUID

	mu      sync.Mutex
	decided bool
	primary bool
}

type contextKey struct{}

// Allow returns a context whose reads may use the replica. They contain everything that the subject
// has written.
func (r *Replica) Allow(ctx context.Context, subject uuid.UUID) context.Context {
	return context.WithValue(ctx, contextKey{}, &request{subject: subject})
}

// uses reports whether the next read of ctx uses the replica. The first read decides for all others.
func (r *Replica) uses(ctx context.Context) bool {
	q, _ := ctx.Value(contextKey{}).(*request)
	if q == nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.decided {
		reason := r.decide(ctx, q.subject)
		q.decided, q.primary = true, reason != ""
		r.counters.count(reason)
	}
	return !q.primary
}

// decide returns why a request of a subject must use the primary, or "".
func (r *Replica) decide(ctx context.Context, subject uuid.UUID) Reason {
	r.mu.Lock()
	reason, replayed := r.refusal(), r.replayed
	r.mu.Unlock()
	if reason != "" {
		return reason
	}
	written, err := r.primary.LastWrite(ctx, subject)
	if err != nil || recordEnd(written) > replayed {
		return OwnWrite
	}
	return ""
}

// failed moves the remaining reads of a request to the primary.
func (r *Replica) failed(ctx context.Context, err error) {
	if q, _ := ctx.Value(contextKey{}).(*request); q != nil {
		q.mu.Lock()
		if !q.primary {
			q.primary = true
			r.counters.count(Failed)
		}
		q.mu.Unlock()
	}
	r.cfg.Log.Info("a read of the replica failed and is repeated on the primary", "error", err)
}
