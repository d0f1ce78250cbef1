// Package auth says who is asking and what they may do: the subject of a
// request, the authorisation of service methods, and the tokens of people,
// scripts and attempts.
package auth

import (
	"context"

	"github.com/google/uuid"
)

// The home of everything in local mode; migrations/postgres/00001_tenancy.sql inserts the rows.
//
//nolint:gochecknoglobals // constants in all but form: an array has no constants
var (
	LocalTenant  = uuid.MustParse("01900000-0000-7000-8000-000000000001")
	LocalTeam    = uuid.MustParse("01900000-0000-7000-8000-000000000002")
	LocalProject = uuid.MustParse("01900000-0000-7000-8000-000000000003")
	LocalAdmin   = uuid.MustParse("01900000-0000-7000-8000-000000000004")
)

// Role is what a subject is allowed in general.
type Role string

// The roles.
const (
	RoleAdmin  Role = "admin"  // everything
	RoleMember Role = "member" // read, launch, cancel their own executions
	RoleTask   Role = "task"   // report on one attempt
	RoleSystem Role = "system" // the engine itself
)

// Subject is who a request acts for.
type Subject struct {
	ID        uuid.UUID
	Name      string
	Role      Role
	TenantID  uuid.UUID
	ProjectID uuid.UUID
	Task      *TaskScope // set for RoleTask alone
}

// TaskScope names the one attempt that a task token is good for.
type TaskScope struct {
	ExecutionID uuid.UUID
	NodeIndex   int
	Attempt     int
}

// Local returns the administrator of a local installation.
func Local() Subject {
	return Subject{ID: LocalAdmin, Name: "admin", Role: RoleAdmin, TenantID: LocalTenant, ProjectID: LocalProject}
}

// System returns the engine's own subject.
func System() Subject {
	return Subject{Name: "system", Role: RoleSystem, TenantID: LocalTenant, ProjectID: LocalProject}
}

// ForTask returns the subject of a task that presented a token of scope.
func ForTask(scope TaskScope) Subject {
	return Subject{Name: "task", Role: RoleTask, TenantID: LocalTenant, ProjectID: LocalProject, Task: &scope}
}

type subjectKey struct{}

// WithSubject returns a context that acts for s.
func WithSubject(ctx context.Context, s Subject) context.Context {
	return context.WithValue(ctx, subjectKey{}, s)
}

// AsSystem returns a context that acts for the engine itself.
func AsSystem(ctx context.Context) context.Context { return WithSubject(ctx, System()) }

// SubjectOf returns who ctx acts for, and whether it acts for anybody.
func SubjectOf(ctx context.Context) (Subject, bool) {
	s, ok := ctx.Value(subjectKey{}).(Subject)
	return s, ok
}
