package auth

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
)

// Action is something that a service method does: a noun and a verb.
type Action string

// The actions. A service method authorizes one of them in its first statement.
const (
	WorkflowRead       Action = "workflow.read"
	WorkflowWrite      Action = "workflow.write"
	WorkflowArchive    Action = "workflow.archive"
	ExecutionRead      Action = "execution.read"
	ExecutionLaunch    Action = "execution.launch"
	ExecutionCancel    Action = "execution.cancel"     // one's own
	ExecutionCancelAny Action = "execution.cancel_any" // of any user
	ArtifactRead       Action = "artifact.read"
	ArtifactWrite      Action = "artifact.write"
	TypeRead           Action = "type.read"
	TypeWrite          Action = "type.write"
	CatalogueRead      Action = "catalogue.read"
	CatalogueWrite     Action = "catalogue.write"
	LogRead            Action = "log.read"
	SecretRead         Action = "secret.read" // names, never values
	SecretWrite        Action = "secret.write"
	QuotaRead          Action = "quota.read"
	QuotaWrite         Action = "quota.write" // checked at the parent of the changed node
	TenancyRead        Action = "tenancy.read"
	TenancyWrite       Action = "tenancy.write" // departments, teams and projects below the node
	MemberRead         Action = "member.read"
	MemberWrite        Action = "member.write"
	AuditRead          Action = "audit.read"
	EventConsume       Action = "event.consume" // create, read and change consumers of the feed of events
	TaskReport         Action = "task.report"
	Administer         Action = "admin" // the installation
)

// reading returns the action that reveals that an object exists.
func (a Action) reading() Action {
	noun, _, ok := strings.Cut(string(a), ".")
	if !ok {
		return a
	}
	return Action(noun + ".read")
}

// SignedIn returns the subject of ctx without checking its permissions;
// apperr.Unauthenticated when there is none. Methods call it that must read a row to
// learn its project.
func SignedIn(ctx context.Context) (Subject, error) {
	s, ok := SubjectOf(ctx)
	if !ok {
		return Subject{}, apperr.New(apperr.Unauthenticated, "Sign in to continue.")
	}
	return s, nil
}

// Authorize returns the subject of ctx when it may do a in its current project. It
// returns apperr.Unauthenticated when no subject is signed in, and apperr.Forbidden
// when the subject lacks the permission.
func Authorize(ctx context.Context, a Action) (Subject, error) {
	s, err := SignedIn(ctx)
	if err != nil {
		return Subject{}, err
	}
	if s.may(a, s.ProjectID) {
		return s, nil
	}
	if s.Role == RoleUser && s.ProjectID == uuid.Nil && a != Administer {
		return Subject{}, apperr.New(apperr.Forbidden, "You are not a member of any project yet. Ask an administrator to add you.")
	}
	return Subject{}, s.refused(a)
}

// AuthorizeIn returns the subject of ctx when it may do a at place, the project or
// other node of the tenancy tree that an object belongs to. A subject without read
// access gets absent, the error of an object that does not exist, so that it does not
// learn of another tenant's objects; a viewer gets apperr.Forbidden.
func AuthorizeIn(ctx context.Context, a Action, place uuid.UUID, absent error) (Subject, error) {
	s, err := SignedIn(ctx)
	switch {
	case err != nil:
		return Subject{}, err
	case s.may(a, place):
		return s, nil
	case s.may(a.reading(), place):
		return Subject{}, s.refused(a)
	}
	return Subject{}, absent
}

// AuthorizeOwner is AuthorizeIn for an object that its owner may change with a, and
// other subjects with others.
func AuthorizeOwner(ctx context.Context, a, others Action, place, owner uuid.UUID, absent error) (Subject, error) {
	s, err := AuthorizeIn(ctx, a, place, absent)
	if err != nil {
		return s, err
	}
	if s.ID != owner && !s.may(others, place) {
		return Subject{}, apperr.New(apperr.Forbidden, "Only the user who launched it or a team administrator can do this.")
	}
	return s, nil
}

// may reports whether s may do a at place. Administer always refers to the
// installation, so a key that is bound to a project never has it.
func (s Subject) may(a Action, place uuid.UUID) bool {
	if a == Administer {
		place = Installation
	}
	switch s.Role {
	case RoleAdmin, RoleSystem:
		return true
	case RoleTask:
		return a == TaskReport && s.Task != nil && place == s.Task.ProjectID
	case RoleUser:
		return s.Policy != nil && place != uuid.Nil && s.Policy.May(a, place)
	}
	return false
}

// May reports whether s may do a at place, for pages that offer only what is allowed.
func (s Subject) May(a Action, place uuid.UUID) bool { return s.may(a, place) }
