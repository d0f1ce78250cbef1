// Package tenancy manages the tree of tenants, departments, teams and projects, and the
// roles of users in it: given manually, through a group of a sign-in provider, or as
// the service account of a project.
package tenancy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Kind is the kind of a node of the tree.
type Kind string

// The kinds, from the root down. Departments nest; nothing else does.
const (
	Installation Kind = "installation"
	Tenant       Kind = "tenant"
	Department   Kind = "department"
	Team         Kind = "team"
	Project      Kind = "project"
)

// Below returns the kinds of node that are allowed below one of kind k.
func (k Kind) Below() []Kind {
	switch k {
	case Installation:
		return []Kind{Tenant}
	case Tenant, Department:
		return []Kind{Department, Team}
	case Team:
		return []Kind{Project}
	}
	return nil
}

// maxDepth is the maximum number of nodes in a path, including the installation.
const maxDepth = 16

// Node is a node of the tree.
type Node struct {
	ID          uuid.UUID
	Kind        Kind
	ParentID    uuid.UUID // uuid.Nil for the installation
	TenantID    uuid.UUID // uuid.Nil for the installation
	Path        []uuid.UUID
	Name        string
	Description string
	Namespace   string // of Kubernetes; only for projects
	CreatedAt   time.Time
	ArchivedAt  *time.Time
	Revision    string // of name, description and archived state; a change may name the one it saw
}

// Archived reports whether n is archived.
func (n Node) Archived() bool { return n.ArchivedAt != nil }

// project is the id of n when it is a project, for the audit log.
func (n Node) project() uuid.UUID {
	if n.Kind == Project {
		return n.ID
	}
	return uuid.Nil
}

// Step is a node on the path to another, with its name.
type Step struct {
	ID       uuid.UUID
	Kind     Kind
	Name     string
	Readable bool // the caller may open it
}

// Service is the tree and its members in Postgres. It is safe for concurrent use. Every
// method authorizes its caller first; it returns apperr.NotFound for nodes that the
// caller may not read. Changes are serialized, recorded in the audit log by the same
// transaction, and take effect here at once.
type Service struct {
	pool     *pgxpool.Pool
	policies *auth.Policies
	now      func() time.Time
}

// NewService returns a Service on the clock now. It reloads policies after every change.
func NewService(pool *pgxpool.Pool, policies *auth.Policies, now func() time.Time) *Service {
	return &Service{pool: pool, policies: policies, now: now}
}

// moment returns the current time with the precision of the database.
func (s *Service) moment() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// change runs f in a transaction that excludes other changes of the tenancy, and
// reloads the policies.
func (s *Service) change(ctx context.Context, f func(q *db.Queries) error) error {
	err := db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		if _, err := q.LockTenancy(ctx); err != nil {
			return fmt.Errorf("lock the tenancy: %w", err)
		}
		return f(q)
	})
	if err != nil {
		return err
	}
	_ = s.policies.Reload(context.WithoutCancel(ctx)) // the change is committed; Policies.Run loads it within half a second
	s.policies.Announce()                             // ended sessions do not change the version of the policies
	return nil
}

func absent(id uuid.UUID) error {
	return apperr.New(apperr.NotFound, "There is no tenant, department, team or project %s.", id)
}

// at returns the node with this id when the caller may do a there.
func at(ctx context.Context, q *db.Queries, a auth.Action, id uuid.UUID) (auth.Subject, Node, error) {
	subject, err := auth.AuthorizeIn(ctx, a, id, absent(id))
	if err != nil {
		return subject, Node{}, err
	}
	n, err := find(ctx, q, id)
	return subject, n, err
}

// find returns the node with this id; the caller has authorized.
func find(ctx context.Context, q *db.Queries, id uuid.UUID) (Node, error) {
	row, err := q.GetTenancyNode(ctx, id)
	if db.IsNoRows(err) {
		return Node{}, absent(id)
	}
	if err != nil {
		return Node{}, fmt.Errorf("node %s: %w", id, err)
	}
	return fromRow(row), nil
}

// authorizeAbove returns the subject when it may change the node itself, which requires
// TenancyWrite above it. A viewer gets apperr.Forbidden.
func authorizeAbove(ctx context.Context, n Node) (auth.Subject, error) {
	above := n.ParentID
	if n.Kind == Installation {
		above = n.ID
	}
	subject, err := auth.AuthorizeIn(ctx, auth.TenancyWrite, n.ID, absent(n.ID))
	if err != nil || subject.May(auth.TenancyWrite, above) {
		return subject, err
	}
	return subject, apperr.New(apperr.Forbidden, "Only an administrator at a level above this %s can change it.", n.Kind)
}

func fromRow(row db.TenancyNode) Node {
	n := Node{
		ID: row.ID, Kind: Kind(row.Kind), Path: row.Path, Name: row.Name, Description: row.Description,
		CreatedAt: row.CreatedAt.UTC(), ArchivedAt: row.ArchivedAt,
	}
	if row.ParentID != nil {
		n.ParentID = *row.ParentID
	}
	if row.TenantID != nil {
		n.TenantID = *row.TenantID
	}
	if row.Namespace != nil {
		n.Namespace = *row.Namespace
	}
	n.Revision = revision(n)
	return n
}

func revision(n Node) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %t", n.Name, n.Description, n.Archived()))
	return hex.EncodeToString(sum[:8])
}

const (
	// MaxName is the largest number of characters in a name.
	MaxName        = 100
	maxDescription = 2000
)

// checkName returns the problem of a name as a sentence, "" for none.
func checkName(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "Enter a name."
	case name != strings.TrimSpace(name):
		return "Remove leading and trailing spaces."
	case len([]rune(name)) > MaxName:
		return fmt.Sprintf("Enter at most %d characters.", MaxName)
	case strings.ContainsFunc(name, unprintable):
		return "Remove invisible characters and slashes."
	}
	return ""
}
