// Package election says who may do what only one server does at a time. A lease has
// a holder, which is one process, and a term, which grows with every change of the
// holder and fences what earlier ones still write. A holder that cannot renew its
// lease stops leading before another may begin.
package election

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// The leases of FlowForge.
const (
	Scheduler = "scheduler" // drives executions and shares the capacity
	Launcher  = "launcher"  // watches what the cluster does with pods
)

// Term is one time of holding a lease.
type Term struct {
	Name   string
	Number int64 // grows with each holder
	Holder string
}

// Lead does the work of a holder. Its context ends when the lease is lost or given
// back; it has to return soon then, and the lease is given back when it has. When it
// returns by itself the lease is given back, too.
type Lead func(ctx context.Context, term Term) error

// Elector runs for a lease again and again until ctx ends, and calls lead whenever
// it holds it. Run returns nil at the end of ctx.
type Elector interface {
	Run(ctx context.Context, lead Lead) error
}

// Config is what an Elector needs. Pool, Name, Holder and Address are required.
type Config struct {
	Pool    *pgxpool.Pool
	Name    string // of the lease
	Holder  string // names this process: see NewHolder
	Address string // where other servers reach this one, such as http://10.0.0.7:8080
	Timing  Timing
	Logger  *slog.Logger
	// OnOther, when set, is told each time that somebody else holds the lease.
	OnOther func()
}

// Timing holds the intervals of a lease; zero fields take the defaults.
type Timing struct {
	TTL  time.Duration // how long a frozen holder keeps others out: 4 s
	Poll time.Duration // between two tries of a candidate: 100 ms
}

// WithDefaults returns c with what it leaves open filled in.
func (c Config) WithDefaults() Config {
	if c.Timing.TTL == 0 {
		c.Timing.TTL = 4 * time.Second
	}
	if c.Timing.Poll == 0 {
		c.Timing.Poll = 100 * time.Millisecond
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.OnOther == nil {
		c.OnOther = func() {}
	}
	return c
}

// Margin is how long before the end of its lease a holder stops that could not renew
// it: its clock and the database's may run at different speeds, and its work has to end.
func (t Timing) Margin() time.Duration { return t.TTL / 8 }

// Renew is the time between two renewals.
func (t Timing) Renew() time.Duration { return t.TTL / 4 }

// maxInstance bounds the part of a holder's name that the instance gives: Postgres
// cuts the name of an application after 63 bytes.
const maxInstance = 40

// NewHolder names this process. Two processes of one instance, one after the other,
// have different names.
func NewHolder(instance string) string {
	nonce := make([]byte, 4)
	_, _ = rand.Read(nonce) // never fails
	return instance[:min(len(instance), maxInstance)] + "/" + hex.EncodeToString(nonce)
}

// ApplicationName is the name of every database session of a holder: whoever follows
// it in a lease ends them.
func ApplicationName(holder string) string { return "flowforge/" + holder }

// Leader is the present holder of a lease.
type Leader struct {
	Term
	Address string
}

// Find returns who holds a lease, or Unavailable when nobody does.
func Find(ctx context.Context, pool *pgxpool.Pool, name string) (Leader, error) {
	row, err := db.New(pool).LeaseHolder(ctx, name)
	if db.IsNoRows(err) {
		return Leader{}, apperr.New(apperr.Unavailable, "No server is the %s at the moment; another takes over within seconds.", name)
	}
	if err != nil {
		return Leader{}, fmt.Errorf("find the %s: %w", name, err)
	}
	return Leader{Term: Term{Name: name, Number: row.Term, Holder: row.Holder}, Address: row.Address}, nil
}

// errLost is why lead's context ends when the lease is lost.
var errLost = errors.New("the lease is lost")
