// Package identity knows people as the sign-in providers tell of them: their
// sign-in, what their groups give them, their sessions and their API keys. Every
// change is in the audit log.
package identity

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/auth/oidc"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Config is what a Service works with.
type Config struct {
	Pool      *pgxpool.Pool
	Policies  *auth.Policies
	Sessions  *auth.Sessions
	Keys      *auth.Keys
	Sealer    auth.Sealer
	Providers []*oidc.Provider
	Now       func() time.Time
}

// Service is safe for concurrent use.
type Service struct{ cfg Config }

// New returns a Service of cfg.
func New(cfg Config) *Service { return &Service{cfg: cfg} }

// Provider is a sign-in provider as people choose it.
type Provider struct {
	ID          string
	Name        string
	Unreachable bool // it does not answer at the moment
}

// Providers returns the sign-in providers in the order of the configuration.
// Everybody may know them.
func (s *Service) Providers() []Provider {
	out := make([]Provider, len(s.cfg.Providers))
	for i, p := range s.cfg.Providers {
		out[i] = Provider{ID: p.ID(), Name: p.Name(), Unreachable: p.Unreachable()}
	}
	return out
}

// provider returns the provider with this id, nil when there is none any more.
func (s *Service) provider(id string) *oidc.Provider {
	for _, p := range s.cfg.Providers {
		if p.ID() == id {
			return p
		}
	}
	return nil
}

// change runs f in a transaction, after every other change of roles, and takes
// over what it changed of the policies. When that fails, their own round finds
// the change half a second later.
func (s *Service) change(ctx context.Context, f func(q *db.Queries) error) error {
	err := db.Tx(ctx, s.cfg.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if _, err := q.LockTenancy(ctx); err != nil {
			return fmt.Errorf("lock the tenancy: %w", err)
		}
		return f(q)
	})
	if err != nil {
		return err //nolint:wrapcheck // says enough
	}
	_ = s.cfg.Policies.Reload(context.WithoutCancel(ctx))
	s.cfg.Policies.Announce() // sessions end without a new version of the policies
	return nil
}

// account returns whom ctx acts for, for what is about the account as a whole: an
// API key, which may be narrowed to a project or to reading, does not reach it.
func account(ctx context.Context) (auth.Subject, error) {
	subject, err := auth.SignedIn(ctx)
	if err == nil && strings.HasPrefix(subject.Credential, "key:") {
		return auth.Subject{}, apperr.New(apperr.Forbidden, "An API key does not reach the sessions and keys of an account. Sign in for that.")
	}
	return subject, err
}

// Profile is who somebody is and what they may do where.
type Profile struct {
	Subject auth.Subject
	Kind    string // "person" or "service"
	Email   string
	Issuer  string // of the provider that knows them; "" for the local administrator
	Groups  []string
	Roles   []Role
	Project *auth.ProjectRef // the current one; nil without any
	Places  []auth.ProjectRef
}

// Role is a role at a node of the tenancy tree.
type Role struct {
	Role     string
	NodeID   uuid.UUID
	NodeKind string
	Path     []string // names from the tenant to the node; empty for the installation
	Source   string   // "" by hand, else group:<provider>/<group>
}

// Me returns the profile of whoever ctx acts for. It fails with
// apperr.Unauthenticated for nobody.
func (s *Service) Me(ctx context.Context) (Profile, error) {
	subject, err := auth.SignedIn(ctx)
	if err != nil {
		return Profile{}, err
	}
	q := db.New(s.cfg.Pool)
	user, err := q.GetUser(ctx, subject.ID)
	if err != nil {
		return Profile{}, fmt.Errorf("user %s: %w", subject.ID, err)
	}
	rows, err := q.ListMembershipsOfUser(ctx, subject.ID)
	if err != nil {
		return Profile{}, fmt.Errorf("roles of %s: %w", subject.ID, err)
	}
	p := Profile{Subject: subject, Kind: user.Kind, Email: user.Email, Groups: user.Groups, Places: s.readableProjects(subject)}
	if user.Issuer != nil {
		p.Issuer = *user.Issuer
	}
	for _, row := range rows {
		p.Roles = append(p.Roles, Role{Role: row.Role, NodeID: row.NodeID, NodeKind: row.Kind, Path: row.PathNames, Source: row.Source})
	}
	if place, ok := s.cfg.Policies.Project(subject.ProjectID); ok {
		p.Project = &place
	}
	return p, nil
}

// readableProjects are the projects that subject may read, with the credential it came by.
func (s *Service) readableProjects(subject auth.Subject) []auth.ProjectRef {
	var out []auth.ProjectRef
	for _, place := range s.cfg.Policies.AllProjects() {
		if subject.May(auth.TenancyRead, place.ID) {
			out = append(out, place)
		}
	}
	return out
}
