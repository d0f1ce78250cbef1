// Package election elects leaders for work that only one server may do at a time. A
// lease has a holder, which is one process, and a term, which grows with every change
// of the holder and fences writes of earlier holders. A holder that cannot renew its
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
	Launcher  = "launcher"  // watches the pods in the cluster
)

// Term is one period of leadership.
type Term struct {
	Name   string
	Number int64 // grows with each holder
	Holder string
}

// Lead does the work of a holder. Its context ends when the lease is lost or released;
// Lead must then return soon. The lease is released when Lead returns.
type Lead func(ctx context.Context, term Term) error

// Elector campaigns for a lease until ctx ends, and calls lead whenever it holds it.
// Run returns nil at the end of ctx.
type Elector interface {
	Run(ctx context.Context, lead Lead) error
}

// Config configures an Elector. Pool, Name, Holder and Address are required.
type Config struct {
	Pool    *pgxpool.Pool // of sessions, not of connections to a pooler
	Name    string        // of the lease
	Holder  string        // identifies this process: see NewHolder
	Address string        // where other servers reach this one, such as http://10.0.0.7:8080
	Timing  Timing
	Logger  *slog.Logger
	// OnOther, when set, is called each time another process holds the lease.
	OnOther func()
}

// Timing holds the intervals of a lease; zero fields take the defaults.
type Timing struct {
	TTL  time.Duration // how long a frozen holder blocks others: 4 s
	Poll time.Duration // interval between attempts of a candidate: 100 ms
}

// WithDefaults returns c with defaults for zero fields.
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

// Margin is how long before the expiry of its lease a holder that could not renew it
// stops: its clock and the database's may drift, and its work must end.
func (t Timing) Margin() time.Duration { return t.TTL / 8 }

// Renew is the interval between renewals.
func (t Timing) Renew() time.Duration { return t.TTL / 4 }

// maxInstance is the maximum length of the instance in a holder's name: Postgres
// truncates application names, which contain the holder, after 63 bytes (package db).
const maxInstance = 36

// NewHolder returns a name for this process. Successive processes of one instance have
// different names.
func NewHolder(instance string) string {
	nonce := make([]byte, 4)
	_, _ = rand.Read(nonce) // never fails
	return instance[:min(len(instance), maxInstance)] + "/" + hex.EncodeToString(nonce)
}

// ApplicationName is the name of every database session of a holder: its successor in a
// lease ends them.
func ApplicationName(holder string) string { return "flowforge/" + holder }

// Leader is the current holder of a lease.
type Leader struct {
	Term
	Address string
}

// Find returns the holder of a lease, or Unavailable when it has none.
func Find(ctx context.Context, pool *pgxpool.Pool, name string) (Leader, error) {
	row, err := db.New(pool).LeaseHolder(ctx, name)
	if db.IsNoRows(err) {
		return Leader{}, apperr.New(apperr.Unavailable, "There is no %s at the moment. Another server takes over within seconds.", name)
	}
	if err != nil {
		return Leader{}, fmt.Errorf("find the %s: %w", name, err)
	}
	return Leader{Term: Term{Name: name, Number: row.Term, Holder: row.Holder}, Address: row.Address}, nil
}

// errLost is the cause of lead's context when the lease is lost.
var errLost = errors.New("the lease is lost")
