package auth

import (
	"context"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
)

// Action is something that a service method does.
type Action string

// The actions. A service method authorises one of them in its first statement.
const (
	WorkflowRead    Action = "workflow.read"
	WorkflowWrite   Action = "workflow.write"
	ExecutionRead   Action = "execution.read"
	ExecutionLaunch Action = "execution.launch"
	ExecutionCancel Action = "execution.cancel"
	ArtifactRead    Action = "artifact.read"
	ArtifactWrite   Action = "artifact.write"
	TypeRead        Action = "type.read"
	TypeWrite       Action = "type.write"
	CatalogueRead   Action = "catalogue.read"
	CatalogueWrite  Action = "catalogue.write"
	LogRead         Action = "log.read"
	TaskReport      Action = "task.report"
	Administer      Action = "admin"
)

// memberMay says what RoleMember allows; AuthorizeOwner narrows it to own objects.
func memberMay(a Action) bool {
	switch a {
	case WorkflowRead, WorkflowWrite, ExecutionRead, ExecutionLaunch, ExecutionCancel,
		ArtifactRead, ArtifactWrite, TypeRead, CatalogueRead, CatalogueWrite, LogRead:
		return true
	case TypeWrite, TaskReport, Administer:
		return false
	}
	return false
}

// Authorize returns the subject of ctx when it may do a. It returns
// apperr.Unauthenticated when nobody is signed in, and apperr.Forbidden when
// the subject's role does not allow a.
func Authorize(ctx context.Context, a Action) (Subject, error) {
	s, ok := SubjectOf(ctx)
	if !ok {
		return Subject{}, apperr.New(apperr.Unauthenticated, "Sign in to go on.")
	}
	switch s.Role {
	case RoleAdmin, RoleSystem:
		return s, nil
	case RoleTask:
		if a == TaskReport {
			return s, nil
		}
	case RoleMember:
		if memberMay(a) {
			return s, nil
		}
	}
	return Subject{}, apperr.New(apperr.Forbidden, "Your role does not allow this (%s).", a)
}

// AuthorizeOwner is Authorize for an object that its owner and administrators
// alone may change.
func AuthorizeOwner(ctx context.Context, a Action, owner uuid.UUID) (Subject, error) {
	s, err := Authorize(ctx, a)
	if err != nil {
		return s, err
	}
	if s.Role == RoleMember && s.ID != owner {
		return Subject{}, apperr.New(apperr.Forbidden, "Only the person who launched it or an administrator may do this.")
	}
	return s, nil
}
