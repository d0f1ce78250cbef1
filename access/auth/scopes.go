package auth

import (
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
)

// The scopes of an API key. Each holds the ones before it.
const (
	ScopeRead   = "read"
	ScopeLaunch = "launch"
	ScopeWrite  = "write"
	ScopeAdmin  = "admin"
)

// Scope is what a key may be narrowed to.
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
	write := slices.Concat(launch, []Action{WorkflowWrite, WorkflowArchive, ExecutionCancelAny, TypeWrite, CatalogueWrite})
	return []Scope{
		{ScopeRead, "Reads what its owner may read.", read},
		{ScopeLaunch, "Also launches, cancels and uploads files for executions.", launch},
		{ScopeWrite, "Also registers workflows, types and catalogue entries.", write},
		{ScopeAdmin, "Everything that its owner may do, with members, limits and secrets.", nil},
	}
}

// CheckScopes fails with apperr.Invalid when one of scopes does not exist.
func CheckScopes(scopes []string) error {
	for _, name := range scopes {
		if !slices.ContainsFunc(Scopes(), func(s Scope) bool { return s.Name == name }) {
			return apperr.InvalidFields("The key cannot be created.", []apperr.Field{{Path: "scopes", Message: "Choose among read, launch, write and admin."}})
		}
	}
	return nil
}

// narrow returns s with what scopes and project leave of its rights; no scope
// and uuid.Nil leave all. An administrator's rights are narrowed as anybody's.
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
	s.Policy = PolicyFunc(func(a Action, place uuid.UUID) bool {
		return (all || slices.Contains(actions, a)) && (project == uuid.Nil || place == project) && whole.may(a, place)
	})
	return s
}
