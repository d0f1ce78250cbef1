package pool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// maxAccess is the number of nodes to which a pool can be restricted.
const maxAccess = 200

// Access says whose tasks a pool runs: those of every project, or those of the projects at and below
// some nodes.
type Access struct {
	Restricted bool
	Nodes      []AccessNode // of a restricted pool, by path
}

// AccessNode is a tenant, department, team or project that may use a restricted pool.
type AccessNode struct {
	ID       uuid.UUID
	Kind     string
	Path     []string // names from the tenant to the node
	Archived bool
}

// Use returns nil if the tasks of a project may use a pool, NotFound if there is no such pool, and
// Forbidden if the pool is restricted to others. For the engine.
func (s *Service) Use(ctx context.Context, pool string, project uuid.UUID) error {
	allowed, err := s.queries.PoolAllows(ctx, project, pool)
	if db.IsNoRows(err) {
		return errNoPool(pool)
	}
	if err != nil {
		return fmt.Errorf("find pool %s: %w", pool, err)
	}
	if !allowed {
		return apperr.New(apperr.Forbidden, "The pool %q is restricted to other projects.", pool)
	}
	return nil
}

// Access returns whose tasks a pool runs, or NotFound.
func (s *Service) Access(ctx context.Context, pool string) (Access, error) {
	if _, err := administers(ctx); err != nil {
		return Access{}, err
	}
	return access(ctx, s.queries, pool)
}

func access(ctx context.Context, q *db.Queries, pool string) (Access, error) {
	restricted, err := q.PoolRestricted(ctx, pool)
	if db.IsNoRows(err) {
		return Access{}, errNoPool(pool)
	}
	if err != nil {
		return Access{}, fmt.Errorf("find pool %s: %w", pool, err)
	}
	rows, err := q.PoolAccess(ctx, pool)
	if err != nil {
		return Access{}, fmt.Errorf("list access to pool %s: %w", pool, err)
	}
	a := Access{Restricted: restricted}
	for _, r := range rows {
		a.Nodes = append(a.Nodes, AccessNode{ID: r.ID, Kind: r.Kind, Path: r.Names, Archived: r.Archived})
	}
	return a, nil
}

// facts are the access in an entry of the audit log.
func (a Access) facts() map[string]any {
	if !a.Restricted {
		return map[string]any{"access": "every project"}
	}
	names := make([]string, len(a.Nodes))
	for i, n := range a.Nodes {
		names[i] = strings.Join(n.Path, " / ")
	}
	return map[string]any{"access": names}
}

// AllowEveryone lets every project use a pool.
func (s *Service) AllowEveryone(ctx context.Context, pool string) (Access, error) {
	return s.changeAccess(ctx, pool, func(a *Access) { *a = Access{} })
}

// Restrict restricts a pool to the projects at and below some nodes; none: no project may use it.
// Executions that were launched before keep the pool. It returns Invalid with the field "nodes" for
// a node that does not exist.
func (s *Service) Restrict(ctx context.Context, pool string, nodes []uuid.UUID) (Access, error) {
	return s.changeAccess(ctx, pool, func(a *Access) {
		*a = Access{Restricted: true}
		for _, id := range nodes {
			a.Nodes = append(a.Nodes, AccessNode{ID: id})
		}
	})
}

// Allow adds a node to those to which a pool is restricted. A pool that every project may use becomes
// restricted to the node.
func (s *Service) Allow(ctx context.Context, pool string, node uuid.UUID) (Access, error) {
	return s.changeAccess(ctx, pool, func(a *Access) {
		a.Restricted = true
		a.Nodes = append(a.Nodes, AccessNode{ID: node})
	})
}

// Disallow removes a node from those to which a pool is restricted.
func (s *Service) Disallow(ctx context.Context, pool string, node uuid.UUID) (Access, error) {
	return s.changeAccess(ctx, pool, func(a *Access) {
		a.Nodes = slices.DeleteFunc(a.Nodes, func(n AccessNode) bool { return n.ID == node })
	})
}

// changeAccess changes the access in one transaction, and records the change.
func (s *Service) changeAccess(ctx context.Context, pool string, f func(*Access)) (after Access, err error) {
	if _, err := administers(ctx); err != nil {
		return Access{}, err
	}
	err = s.change(ctx, pool, func(q *db.Queries, _ db.Pool) error {
		before, err := access(ctx, q, pool)
		if err != nil {
			return err
		}
		after = Access{Restricted: before.Restricted, Nodes: slices.Clone(before.Nodes)}
		f(&after)
		if err := writeAccess(ctx, q, pool, after); err != nil {
			return err
		}
		if after, err = access(ctx, q, pool); err != nil {
			return err
		}
		return record(ctx, q, "pool.access", pool, before.facts(), after.facts())
	})
	return after, err
}

func writeAccess(ctx context.Context, q *db.Queries, pool string, a Access) error {
	ids := make([]uuid.UUID, 0, len(a.Nodes))
	for _, n := range a.Nodes {
		if n.ID == auth.Installation {
			return accessProblem("Choose a tenant, department, team or project. To allow all of them, allow every project.")
		}
		if !slices.Contains(ids, n.ID) {
			ids = append(ids, n.ID)
		}
	}
	if len(ids) > maxAccess {
		return accessProblem(fmt.Sprintf("A pool can be restricted to at most %d tenants, departments, teams and projects.", maxAccess))
	}
	if err := q.SetPoolRestricted(ctx, a.Restricted, pool); err != nil {
		return fmt.Errorf("restrict pool %s: %w", pool, err)
	}
	if err := q.DeletePoolAccess(ctx, pool); err != nil {
		return fmt.Errorf("restrict pool %s: %w", pool, err)
	}
	n, err := q.InsertPoolAccess(ctx, pool, ids)
	if err != nil {
		return fmt.Errorf("restrict pool %s: %w", pool, err)
	}
	if int(n) < len(ids) {
		return accessProblem("One of the tenants, departments, teams or projects does not exist.")
	}
	return nil
}

func accessProblem(message string) error {
	return &apperr.Error{Code: apperr.Invalid, Message: "Access to the pool was not changed.", Fields: []apperr.Field{{Path: "nodes", Message: message}}}
}
