// Package auth authenticates and authorizes requests: the subject of a request, the
// authorization of service methods, and the tokens of people, scripts and attempts.
package auth

import (
	"context"

	"github.com/google/uuid"
)

// The home of everything in local mode; migrations/postgres/00001_tenancy.sql and
// 00006_tenancy_tree.sql insert the rows.
//
//nolint:gochecknoglobals // constants in all but form: an array has no constants
var (
	Installation = uuid.MustParse("01900000-0000-7000-8000-000000000000") // the root of the tenancy tree
	LocalTenant  = uuid.MustParse("01900000-0000-7000-8000-000000000001")
	LocalTeam    = uuid.MustParse("01900000-0000-7000-8000-000000000002")
	LocalProject = uuid.MustParse("01900000-0000-7000-8000-000000000003")
	LocalAdmin   = uuid.MustParse("01900000-0000-7000-8000-000000000004")
)

// Role is the kind of a subject.
type Role string

// The roles.
const (
	RoleAdmin  Role = "admin"  // administrator of the installation: everything
	RoleUser   Role = "user"   // a person or a service account: what its Policy allows
	RoleTask   Role = "task"   // report on one attempt
	RoleSystem Role = "system" // the engine itself
)

// Subject is the identity that a request acts for, and its current project.
type Subject struct {
	ID         uuid.UUID
	Name       string
	Role       Role
	TenantID   uuid.UUID  // of the current project; uuid.Nil without a project
	ProjectID  uuid.UUID  // the current project; lists are limited to it
	Task       *TaskScope // set only for RoleTask and for ForRun
	Flow       string     // set only for ForRun: the flow whose run the task records
	Policy     Policy     // of RoleUser; nil allows nothing
	Credential string     // "session:<id>", "key:<id>", "oidc", "token": how it authenticated
	ReadOnly   bool       // an API key of scope read
	Scopes     []string   // of an API key that they limit; nil: none do
}

// Policy describes what a user may do at a place: any node of the tenancy tree. A role at a
// node applies to everything below it.
type Policy interface {
	May(action Action, place uuid.UUID) bool
}

// TaskScope identifies the attempt that a task token is valid for, and its project.
type TaskScope struct {
	ExecutionID uuid.UUID
	NodeIndex   int
	Attempt     int
	TenantID    uuid.UUID
	ProjectID   uuid.UUID
}

// Local returns the administrator of a local installation.
func Local() Subject {
	return Subject{ID: LocalAdmin, Name: "admin", Role: RoleAdmin, TenantID: LocalTenant, ProjectID: LocalProject}
}

// System returns the engine's own subject. It has no project.
func System() Subject { return Subject{Name: "system", Role: RoleSystem} }

// ForRun returns the subject of a task of scope that records a run of flow in Metaflow: it may read
// the runs of its project. Only the service of these records accepts it, which lets it write the run
// of its execution and no other.
func ForRun(scope TaskScope, flow string) Subject {
	return Subject{
		Name: "task", Role: RoleUser, TenantID: scope.TenantID, ProjectID: scope.ProjectID, Task: &scope, Flow: flow,
		Policy: PolicyFunc(func(a Action, place uuid.UUID) bool {
			return (a == ExecutionRead || a == ExecutionLaunch) && place == scope.ProjectID
		}),
	}
}

// ForTask returns the subject of a task that presented a token of scope.
func ForTask(scope TaskScope) Subject {
	return Subject{Name: "task", Role: RoleTask, TenantID: scope.TenantID, ProjectID: scope.ProjectID, Task: &scope}
}

// Origin is where a request came from, for the audit log.
type Origin struct {
	Address   string // IP address of the client
	UserAgent string
	RequestID string
}

type (
	subjectKey struct{}
	originKey  struct{}
)

// WithSubject returns a context that acts for s.
func WithSubject(ctx context.Context, s Subject) context.Context {
	return context.WithValue(ctx, subjectKey{}, s)
}

// AsSystem returns a context that acts for the engine itself.
func AsSystem(ctx context.Context) context.Context { return WithSubject(ctx, System()) }

// AsSystemIn is AsSystem in a project: lists and names are limited to that project and
// its tenant.
func AsSystemIn(ctx context.Context, tenant, project uuid.UUID) context.Context {
	s := System()
	s.TenantID, s.ProjectID = tenant, project
	return WithSubject(ctx, s)
}

// SubjectOf returns the subject of ctx, and whether it has one.
func SubjectOf(ctx context.Context) (Subject, bool) {
	s, ok := ctx.Value(subjectKey{}).(Subject)
	return s, ok
}

// WithOrigin returns a context of a request that came from o.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf returns the origin of the request of ctx; the zero Origin for the engine's
// own work.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}

// PolicyFunc is a Policy of one function.
type PolicyFunc func(action Action, place uuid.UUID) bool

// May implements Policy.
func (f PolicyFunc) May(action Action, place uuid.UUID) bool { return f(action, place) }
