// Package identity manages people from sign-in providers: their sign-in, the roles of
// their groups, their sessions and their API keys. The audit log records every change.
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

// Config configures a Service.
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

// Provider is a sign-in provider in a selection.
type Provider struct {
	ID          string
	Name        string
	Unreachable bool // it does not respond at the moment
}

// Providers returns the sign-in providers in the order of the configuration. No
// authorization is required.
func (s *Service) Providers() []Provider {
	out := make([]Provider, len(s.cfg.Providers))
	for i, p := range s.cfg.Providers {
		out[i] = Provider{ID: p.ID(), Name: p.Name(), Unreachable: p.Unreachable()}
	}
	return out
}

// provider returns the provider with this id, nil when it no longer exists.
func (s *Service) provider(id string) *oidc.Provider {
	for _, p := range s.cfg.Providers {
		if p.ID() == id {
			return p
		}
	}
	return nil
}

// change runs f in a transaction, serialized with other changes of roles, and reloads
// the policies. If that fails, their periodic reload finds the change half a second
// later.
func (s *Service) change(ctx context.Context, f func(q *db.Queries) error) error {
	err := db.Tx(ctx, s.cfg.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if _, err := q.LockTenancy(ctx); err != nil {
			return fmt.Errorf("lock the tenancy: %w", err)
		}
		return f(q)
	})
	if err != nil {
		return err //nolint:wrapcheck // the error names its subject
	}
	_ = s.cfg.Policies.Reload(context.WithoutCancel(ctx))
	s.cfg.Policies.Announce() // ended sessions do not change the version of the policies
	return nil
}

// account returns the subject of ctx for actions on the whole account. It rejects API
// keys, which may be limited to a project or to reading.
func account(ctx context.Context) (auth.Subject, error) {
	subject, err := auth.SignedIn(ctx)
	if err == nil && strings.HasPrefix(subject.Credential, "key:") {
		return auth.Subject{}, apperr.New(apperr.Forbidden, "An API key cannot manage the sessions and keys of an account. Sign in to do this.")
	}
	return subject, err
}

// Profile is the identity of a user and their roles.
type Profile struct {
	Subject auth.Subject
	Kind    string // "person" or "service"
	Email   string
	Issuer  string // of their provider; "" for the local administrator
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

// Me returns the profile of the subject of ctx. It returns apperr.Unauthenticated
// without a subject.
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

// readableProjects returns the projects that subject may read with its credential.
func (s *Service) readableProjects(subject auth.Subject) []auth.ProjectRef {
	var out []auth.ProjectRef
	for _, place := range s.cfg.Policies.AllProjects() {
		if subject.May(auth.TenancyRead, place.ID) {
			out = append(out, place)
		}
	}
	return out
}
