package query

import (
	"context"
	"fmt"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// Lease is a task that one server performs at a time, and its current holder.
type Lease struct {
	Name      string // "scheduler", "launcher"
	Holder    string
	Term      int64 // grows with every change of the holder
	Address   string
	ExpiresAt time.Time
	Held      bool // it has not expired
}

// Leases returns the leases and their holders, by name. It requires QuotaRead at the
// installation.
func (q *Reader) Leases(ctx context.Context) ([]Lease, error) {
	if _, err := auth.AuthorizeIn(ctx, auth.QuotaRead, auth.Installation, apperr.New(apperr.NotFound, "There is no such page.")); err != nil {
		return nil, err
	}
	rows, err := q.queries.ListLeases(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the leases: %w", err)
	}
	leases := make([]Lease, len(rows))
	for i, r := range rows {
		leases[i] = Lease{Name: r.Name, Holder: r.Holder, Term: r.Term, Address: r.Address, ExpiresAt: r.ExpiresAt.UTC(), Held: r.Held}
	}
	return leases, nil
}
