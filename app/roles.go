package app

import (
	"fmt"
	"slices"
	"strings"
)

// Role is a part of the work of an installation. A server has all of them, or some
// when several share a database.
type Role string

// The roles.
const (
	Web       Role = "web"       // pages, the API and what tasks call; any number
	Worker    Role = "worker"    // jobs beside the driving of executions; any number
	Scheduler Role = "scheduler" // drives executions and shares the capacity; one at a time leads
	Launcher  Role = "launcher"  // watches the pods of the cluster; one at a time leads
)

// Roles are those of one server.
type Roles []Role

// AllRoles is the default.
func AllRoles() Roles { return Roles{Web, Worker, Scheduler, Launcher} }

// ParseRoles reads names separated by commas; "" is all.
func ParseRoles(text string) (Roles, error) {
	if strings.TrimSpace(text) == "" {
		return AllRoles(), nil
	}
	var roles Roles
	for name := range strings.SplitSeq(text, ",") {
		role := Role(strings.TrimSpace(name))
		if !slices.Contains(AllRoles(), role) {
			return nil, fmt.Errorf("%q is not a role: write some of web, worker, scheduler, launcher", role)
		}
		if !roles.Have(role) {
			roles = append(roles, role)
		}
	}
	return roles, nil
}

// Have reports whether r is among them.
func (rs Roles) Have(r Role) bool { return slices.Contains(rs, r) }

// all reports whether no other server is needed.
func (rs Roles) all() bool { return len(rs) == len(AllRoles()) }

// answers reports whether requests of people are answered: on the network, or for the
// servers that do.
func (rs Roles) answers() bool { return rs.Have(Web) || rs.Have(Scheduler) }
