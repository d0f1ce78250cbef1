package auth

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
)

// The scopes of an API key. Each includes the previous ones.
const (
	ScopeRead   = "read"
	ScopeLaunch = "launch"
	ScopeWrite  = "write"
	ScopeAdmin  = "admin"
)

// Scope limits the permissions of a key.
type Scope struct {
	Name    string
	About   string   // a sentence for people
	Actions []Action // nil is everything
}

// Scopes returns the scopes, from the least to the most.
func Scopes() []Scope {
	read := []Action{
		WorkflowRead, ExecutionRead, ArtifactRead, TypeRead, CatalogueRead, LogRead,
		SecretRead, QuotaRead, TenancyRead, MemberRead, AuditRead,
	}
	launch := slices.Concat(read, []Action{ExecutionLaunch, ExecutionCancel, ArtifactWrite})
	write := slices.Concat(launch, []Action{WorkflowWrite, WorkflowArchive, ExecutionCancelAny, TypeWrite, CatalogueWrite, EventConsume})
	return []Scope{
		{ScopeRead, "Can view everything that its owner can view.", read},
		{ScopeLaunch, "Can also launch and cancel executions, and upload their files.", launch},
		{ScopeWrite, "Can also register workflows, types and catalogue entries, and read events as a consumer.", write},
		{ScopeAdmin, "Can do everything that its owner can do, including managing members, limits and secrets.", nil},
	}
}

// CheckScopes returns apperr.Invalid when one of scopes does not exist.
func CheckScopes(scopes []string) error {
	for _, name := range scopes {
		if !slices.ContainsFunc(Scopes(), func(s Scope) bool { return s.Name == name }) {
			return apperr.InvalidFields("The key cannot be created.", []apperr.Field{{Path: "scopes", Message: "Choose read, launch, write or admin."}})
		}
	}
	return nil
}

// narrow returns s with its permissions limited to scopes and project; no scope and uuid.Nil
// do not limit them. It also limits an administrator's permissions.
func (s Subject) narrow(scopes []string, project uuid.UUID) Subject {
	actions, all := []Action{}, len(scopes) == 0
	for _, scope := range Scopes() {
		if slices.Contains(scopes, scope.Name) {
			actions = append(actions, scope.Actions...)
			all = all || scope.Actions == nil
		}
	}
	if all && project == uuid.Nil {
		return s
	}
	whole := s
	s.Role = RoleUser
	if !all {
		s.Scopes = scopes
	}
	s.ReadOnly = !all && !slices.ContainsFunc(scopes, func(name string) bool { return name != ScopeRead })
	s.Policy = PolicyFunc(func(a Action, place uuid.UUID) bool {
		return (all || slices.Contains(actions, a)) && (project == uuid.Nil || place == project) && whole.may(a, place)
	})
	return s
}

// refused is the error of an action that s may not do: the scopes of its API key or its role do not
// allow it.
func (s Subject) refused(a Action) error {
	allows := func(scope Scope) bool { return scope.Actions == nil || slices.Contains(scope.Actions, a) }
	all := Scopes()
	if s.Scopes != nil && !slices.ContainsFunc(all, func(scope Scope) bool { return slices.Contains(s.Scopes, scope.Name) && allows(scope) }) {
		needed := all[slices.IndexFunc(all, allows)] // the last scope allows everything
		return apperr.New(apperr.Forbidden, "The scopes of this API key (%s) do not allow this. It requires the scope %s.", strings.Join(s.Scopes, ", "), needed.Name)
	}
	return apperr.New(apperr.Forbidden, "Your role does not allow this (%s).", a)
}
