package app

import (
	"fmt"
	"slices"
	"strings"
)

// Role is a part of the work of an installation. A server has all roles, or some of them
// when several servers share a database.
type Role string

// The roles.
const (
	Web       Role = "web"       // pages, the API and the calls of tasks; any number of servers
	Worker    Role = "worker"    // background jobs other than driving executions; any number of servers
	Scheduler Role = "scheduler" // drives executions and shares the capacity; one server leads at a time
	Launcher  Role = "launcher"  // watches the pods of the cluster; one server leads at a time
)

// Roles are the roles of one server.
type Roles []Role

// AllRoles returns all roles, the default.
func AllRoles() Roles { return Roles{Web, Worker, Scheduler, Launcher} }

// ParseRoles parses comma-separated names; "" is all.
func ParseRoles(text string) (Roles, error) {
	if strings.TrimSpace(text) == "" {
		return AllRoles(), nil
	}
	var roles Roles
	for name := range strings.SplitSeq(text, ",") {
		role := Role(strings.TrimSpace(name))
		if !slices.Contains(AllRoles(), role) {
			return nil, fmt.Errorf("%q is not a role: use web, worker, scheduler or launcher", role)
		}
		if !roles.Have(role) {
			roles = append(roles, role)
		}
	}
	return roles, nil
}

// Have reports whether rs includes r.
func (rs Roles) Have(r Role) bool { return slices.Contains(rs, r) }

// all reports whether the server has all roles and needs no other server.
func (rs Roles) all() bool { return len(rs) == len(AllRoles()) }

// answers reports whether the server answers users' requests: from the network, or from
// the servers that receive them.
func (rs Roles) answers() bool { return rs.Have(Web) || rs.Have(Scheduler) }
