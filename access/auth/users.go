package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Users converts rows of people and service accounts to subjects. It is safe for
// concurrent use.
type Users struct {
	pool     *pgxpool.Pool
	policies *Policies
}

// NewUsers returns the users of the database behind pool, with the permissions of policies.
func NewUsers(pool *pgxpool.Pool, policies *Policies) *Users {
	return &Users{pool: pool, policies: policies}
}

// account is the user of a credential.
type account struct {
	id     uuid.UUID
	name   string
	admin  bool
	chosen *uuid.UUID // the project that was chosen last; nil for none
}

// subject returns the subject of an account. The current project is the chosen one
// while it is still allowed, otherwise the first in which the user has a role.
func (u *Users) subject(a account, credential string) Subject {
	s := Subject{ID: a.id, Name: a.name, Role: RoleUser, Policy: u.policies.For(a.id), Credential: credential}
	if a.admin {
		s.Role = RoleAdmin
	}
	if a.chosen != nil {
		if place, ok := u.policies.Project(*a.chosen); ok && s.may(TenancyRead, place.ID) {
			return s.in(place)
		}
	}
	if place, ok := u.policies.Project(LocalProject); ok && a.admin {
		return s.in(place)
	}
	for _, place := range u.policies.Projects(a.id) {
		return s.in(place)
	}
	return s
}

// Service returns the service account id of a project with the permissions that it has now.
func (u *Users) Service(id uuid.UUID, name string, project uuid.UUID, credential string) (Subject, error) {
	place, ok := u.policies.Project(project)
	if !ok {
		return Subject{}, apperr.New(apperr.Unauthenticated, "The service account %s belongs to an archived project.", name)
	}
	return u.subject(account{id: id, name: name}, credential).in(place), nil
}

// Acting returns a person or service account with the permissions that it has now, in a project: for work
// that continues without them. It returns apperr.Conflict for an archived project.
func (u *Users) Acting(id uuid.UUID, name string, project uuid.UUID) (Subject, error) {
	place, ok := u.policies.Project(project)
	if !ok {
		return Subject{}, apperr.New(apperr.Conflict, "The project is archived.")
	}
	return u.subject(account{id: id, name: name, admin: id == LocalAdmin || u.policies.IsAdmin(id)}, "").in(place), nil
}

// in returns s with place as its current project.
func (s Subject) in(place ProjectRef) Subject {
	s.ProjectID, s.TenantID = place.ID, place.TenantID
	return s
}

// ByIdentity returns the user with this subject at a sign-in provider. It returns
// apperr.Unauthenticated for a user who has never signed in or is disabled.
func (u *Users) ByIdentity(ctx context.Context, issuer, subject, credential string) (Subject, error) {
	row, err := db.New(u.pool).FindUserByIdentity(ctx, &issuer, &subject)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Subject{}, apperr.New(apperr.Unauthenticated, "The user that this token belongs to has not signed in yet. Sign in once in a browser, then use the token.")
	case err != nil:
		return Subject{}, fmt.Errorf("find user of a token: %w", err)
	case row.DisabledAt != nil:
		return Subject{}, apperr.New(apperr.Unauthenticated, "This account is disabled.")
	}
	return u.subject(account{id: row.ID, name: row.Name, admin: row.InstallationAdmin}, credential), nil
}

// InProject returns s with another current project, named by its id, its namespace, or
// its path such as team/project. It returns apperr.NotFound for a project that does not
// exist or in which s has no permissions, and apperr.Invalid when several projects have the
// name.
func (u *Users) InProject(s Subject, name string) (Subject, error) {
	var found []ProjectRef
	if id, err := uuid.Parse(name); err == nil {
		if place, ok := u.policies.Project(id); ok {
			found = append(found, place)
		}
	} else {
		for _, place := range u.policies.AllProjects() {
			if place.Namespace == name || place.named(name) {
				found = append(found, place)
			}
		}
	}
	allowed := found[:0]
	for _, place := range found {
		if s.may(TenancyRead, place.ID) {
			allowed = append(allowed, place)
		}
	}
	switch len(allowed) {
	case 0:
		return Subject{}, apperr.New(apperr.NotFound, "There is no project %q.", name)
	case 1:
		return s.in(allowed[0]), nil
	}
	return Subject{}, apperr.New(apperr.Invalid, "%d projects are named %q. Use the project's ID or namespace.", len(allowed), name)
}

// named reports whether name is the end of p's path, such as team/project.
func (p ProjectRef) named(name string) bool {
	full := "/" + strings.Join(append(slices.Clip(p.Path), p.Name), "/")
	return strings.Contains(name, "/") && strings.HasSuffix(full, "/"+name)
}
