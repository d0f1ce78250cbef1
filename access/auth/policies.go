package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/db"
)

const (
	// policyInterval is the minimum time between two comparisons of the policies in memory with the
	// database: half of the second within which a change on another server takes effect here.
	policyInterval = 500 * time.Millisecond
	// policySafety is the maximum time, if the watch of the database should miss a change.
	policySafety = 5 * time.Second
	// policyLimit bounds one load, so that a connection that hangs does not hold up later loads.
	policyLimit = 5 * time.Second
)

// Policies decides which user may perform which action at which node, from a copy of
// the tenancy tree and its memberships in memory. It is safe for concurrent use.
type Policies struct {
	pool      *pgxpool.Pool
	limit     time.Duration // of one load
	reloading sync.Mutex
	current   atomic.Pointer[policySet]
	changes   changes
}

// ProjectRef is a project in a selection.
type ProjectRef struct {
	ID        uuid.UUID
	TenantID  uuid.UUID
	Name      string
	Namespace string   // of Kubernetes; unique in the installation
	Path      []string // names from the tenant down to the team
}

// Label is the path and the name in one line.
func (p ProjectRef) Label() string {
	return strings.Join(append(slices.Clone(p.Path), p.Name), " › ")
}

// NewPolicies returns the current policies of the database.
func NewPolicies(ctx context.Context, pool *pgxpool.Pool) (*Policies, error) {
	p := &Policies{pool: pool, limit: policyLimit}
	return p, p.Reload(ctx)
}

// Run keeps the policies up to date until ctx ends; watch reports changes in the database. While the
// database does not respond, the last known ones apply.
func (p *Policies) Run(ctx context.Context, watch *db.Watch) error {
	for ctx.Err() == nil {
		turn, most := watch.Turn(), policySafety
		if p.Reload(ctx) != nil { // readiness reports the database
			most = policyInterval
		}
		turn.Rest(ctx, nil, policyInterval, most)
	}
	return ctx.Err()
}

// Reload loads changes from the database. Code that changes the tree or memberships
// calls it after the commit, so that the change takes effect here at once.
func (p *Policies) Reload(ctx context.Context) error {
	p.reloading.Lock()
	defer p.reloading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	version, err := db.New(p.pool).TenancyVersion(ctx)
	if err != nil {
		return fmt.Errorf("version of the tenancy: %w", err)
	}
	if now := p.current.Load(); now != nil && now.version == version {
		return nil
	}
	next, err := p.load(ctx)
	if err != nil {
		return fmt.Errorf("load the policies: %w", err)
	}
	p.current.Store(next)
	p.Announce()
	return nil
}

// load reads a consistent snapshot.
func (p *Policies) load(ctx context.Context) (*policySet, error) {
	var rows policyRows
	err := pgx.BeginTxFunc(ctx, p.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) (err error) {
		q := db.New(tx)
		if rows.version, err = q.TenancyVersion(ctx); err != nil {
			return err
		}
		if rows.nodes, err = q.PolicyNodes(ctx); err != nil {
			return err
		}
		if rows.memberships, err = q.PolicyMemberships(ctx); err != nil {
			return err
		}
		rows.admins, err = q.PolicyAdmins(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return newPolicySet(Grants(), rows)
}

// For returns the Policy of the user, which follows later changes.
func (p *Policies) For(user uuid.UUID) Policy {
	name := user.String()
	return PolicyFunc(func(a Action, place uuid.UUID) bool { return p.current.Load().may(user, name, a, place) })
}

// IsAdmin reports whether the user is an administrator of the installation.
func (p *Policies) IsAdmin(user uuid.UUID) bool { return p.current.Load().admins[user] }

// Projects returns the projects that the user has a role in, by their labels; all of
// them for an administrator of the installation. Archived ones are omitted.
func (p *Policies) Projects(user uuid.UUID) []ProjectRef {
	set := p.current.Load()
	name := user.String()
	var mine []ProjectRef
	for _, place := range set.projects {
		if set.admins[user] || set.may(user, name, TenancyRead, place.ID) {
			mine = append(mine, place)
		}
	}
	return mine
}

// AllProjects returns every project of the installation that is not archived. Only
// subjects of RoleAdmin may call it.
func (p *Policies) AllProjects() []ProjectRef { return slices.Clone(p.current.Load().projects) }

// Project returns the project with this id, and false when there is none or it is
// archived.
func (p *Policies) Project(id uuid.UUID) (ProjectRef, bool) {
	set := p.current.Load()
	i, ok := set.byID[id]
	if !ok {
		return ProjectRef{}, false
	}
	return set.projects[i], true
}
