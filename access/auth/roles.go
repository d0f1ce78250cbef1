package auth

import (
	"slices"

	"github.com/google/uuid"
)

// The built-in roles that a membership gives on a node of the tenancy tree and
// everything below it.
const (
	Viewer      = "Viewer"      // reads
	ProjectDev  = "ProjectDev"  // registers, launches, cancels what is their own
	TeamAdmin   = "TeamAdmin"   // also cancels for others, makes projects, shares the limits out below
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
		WorkflowArchive, ExecutionCancelAny, SecretWrite, QuotaWrite, TenancyWrite, MemberWrite,
	})
	tenant := slices.Concat(team, []Action{TypeWrite, AuditRead})
	return []Grant{
		{Viewer, "Reads everything, changes nothing.", viewer},
		{ProjectDev, "Registers and launches workflows, and cancels their own executions.", dev},
		{TeamAdmin, "Runs a team: cancels for others, adds projects and members, shares the team's limits out.", team},
		{TenantAdmin, "Runs a tenant: everything in it, with types and the audit log.", tenant},
	}
}

// Everywhere returns the Policy of somebody who has a built-in role at every place.
func Everywhere(role string) Policy {
	for _, g := range Grants() {
		if g.Role == role {
			return PolicyFunc(func(a Action, _ uuid.UUID) bool { return slices.Contains(g.Actions, a) })
		}
	}
	return PolicyFunc(func(Action, uuid.UUID) bool { return false })
}
