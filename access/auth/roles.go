package auth

import (
	"slices"

	"github.com/google/uuid"
)

// The built-in roles that a membership gives on a node of the tenancy tree and
// everything below it.
const (
	Viewer      = "Viewer"      // reads
	ProjectDev  = "ProjectDev"  // registers, launches, cancels its own executions
	TeamAdmin   = "TeamAdmin"   // also cancels any execution, creates projects, divides the limits below
	TenantAdmin = "TenantAdmin" // everything below, with the audit log
)

// Grant is a role and what it allows.
type Grant struct {
	Role    string
	About   string // a sentence for people
	Actions []Action
}

// Grants returns the built-in roles, from the least to the most.
func Grants() []Grant {
	viewer := []Action{
		WorkflowRead, ExecutionRead, ArtifactRead, TypeRead, CatalogueRead, LogRead,
		SecretRead, QuotaRead, TenancyRead, MemberRead,
	}
	dev := slices.Concat(viewer, []Action{
		WorkflowWrite, ExecutionLaunch, ExecutionCancel, ArtifactWrite, CatalogueWrite,
	})
	team := slices.Concat(dev, []Action{
		WorkflowArchive, ExecutionCancelAny, SecretWrite, QuotaWrite, TenancyWrite, MemberWrite, EventConsume,
	})
	tenant := slices.Concat(team, []Action{TypeWrite, AuditRead})
	return []Grant{
		{Viewer, "Can view everything and change nothing.", viewer},
		{ProjectDev, "Can register and launch workflows, and cancel their own executions.", dev},
		{TeamAdmin, "Manages a team: can cancel any execution, add projects and members, and allocate the team's limits.", team},
		{TenantAdmin, "Manages everything in a tenant, including types and the audit log.", tenant},
	}
}

// Everywhere returns the Policy of a user with a built-in role at every node.
func Everywhere(role string) Policy {
	for _, g := range Grants() {
		if g.Role == role {
			return PolicyFunc(func(a Action, _ uuid.UUID) bool { return slices.Contains(g.Actions, a) })
		}
	}
	return PolicyFunc(func(Action, uuid.UUID) bool { return false })
}
