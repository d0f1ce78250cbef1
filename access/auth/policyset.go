package auth

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/casbin/casbin/v3"
	"github.com/casbin/casbin/v3/model"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
)

// policyModel is RBAC with domains: a domain is a node of the tenancy tree, p lists the
// actions of a role, g the role of a user at a node. Roles are data, so that a custom
// one is one more line of p. Domains do not inherit here: policySet checks the path of
// the node.
const policyModel = `
[request_definition]
r = sub, dom, act

[policy_definition]
p = sub, acts

[role_definition]
g = _, _, _

[policy_effect]
e = some(where (p.eft == allow))

[matchers]
m = holds(p.acts, r.act) && g(r.sub, p.sub, r.dom)
`

// policyRows is a snapshot of the database.
type policyRows struct {
	version     int64
	nodes       []db.PolicyNodesRow
	memberships []db.PolicyMembershipsRow
	admins      []uuid.UUID
}

// policySet is an immutable snapshot of the policies.
type policySet struct {
	version  int64
	enforcer *casbin.SyncedEnforcer
	nodes    map[uuid.UUID]policyNode
	roles    map[membership]string // the domain of a user's roles, as the enforcer names it
	admins   map[uuid.UUID]bool
	projects []ProjectRef // without the archived ones, by their labels
	byID     map[uuid.UUID]int
	decided  sync.Map // decision → bool: cached results of the enforcer; at most one per membership and action
}

// decision is one query to the enforcer.
type decision struct {
	membership
	action Action
}

type policyNode struct {
	path     []uuid.UUID // from the installation to the node itself
	archived bool
}

type membership struct{ user, node uuid.UUID }

func newPolicySet(grants []Grant, rows policyRows) (*policySet, error) {
	set := &policySet{
		version: rows.version, nodes: make(map[uuid.UUID]policyNode, len(rows.nodes)),
		roles: make(map[membership]string, len(rows.memberships)), admins: map[uuid.UUID]bool{}, byID: map[uuid.UUID]int{},
	}
	for _, id := range rows.admins {
		set.admins[id] = true
	}
	names := make(map[uuid.UUID]string, len(rows.nodes))
	for _, n := range rows.nodes {
		set.nodes[n.ID] = policyNode{path: n.Path, archived: n.Archived}
		names[n.ID] = n.Name
	}
	for _, n := range rows.nodes {
		if n.Kind == "project" && !n.Archived && n.TenantID != nil {
			set.projects = append(set.projects, projectRef(n, names))
		}
	}
	slices.SortFunc(set.projects, func(a, b ProjectRef) int { return strings.Compare(a.Label(), b.Label()) })
	for i, p := range set.projects {
		set.byID[p.ID] = i
	}
	for _, m := range rows.memberships {
		set.roles[membership{m.UserID, m.NodeID}] = m.NodeID.String()
	}
	var err error
	set.enforcer, err = newEnforcer(grants, rows.memberships)
	return set, err
}

// projectRef names a project by its path, without the installation.
func projectRef(n db.PolicyNodesRow, names map[uuid.UUID]string) ProjectRef {
	p := ProjectRef{ID: n.ID, TenantID: *n.TenantID, Name: n.Name}
	if n.Namespace != nil {
		p.Namespace = *n.Namespace
	}
	for _, id := range n.Path[1 : len(n.Path)-1] {
		p.Path = append(p.Path, names[id])
	}
	return p
}

// newEnforcer loads the roles and memberships into Casbin.
func newEnforcer(grants []Grant, memberships []db.PolicyMembershipsRow) (*casbin.SyncedEnforcer, error) {
	m, err := model.NewModelFromString(policyModel)
	if err != nil {
		return nil, fmt.Errorf("policy model: %w", err)
	}
	e, err := casbin.NewSyncedEnforcer(m)
	if err != nil {
		return nil, fmt.Errorf("enforcer: %w", err)
	}
	e.AddFunction("holds", holds)
	var policies [][]string
	for _, g := range grants {
		policies = append(policies, []string{g.Role, actionList(g.Actions)})
	}
	if _, err := e.AddPolicies(policies); err != nil {
		return nil, fmt.Errorf("policies of the roles: %w", err)
	}
	groupings := make([][]string, 0, len(memberships))
	for _, m := range memberships {
		groupings = append(groupings, []string{m.UserID.String(), m.Role, m.NodeID.String()})
	}
	if len(groupings) == 0 {
		return e, nil
	}
	if _, err := e.AddGroupingPolicies(groupings); err != nil {
		return nil, fmt.Errorf("policies of the memberships: %w", err)
	}
	return e, nil
}

// actionList writes actions as one value of a policy, each between bars.
func actionList(actions []Action) string {
	var b strings.Builder
	b.WriteByte('|')
	for _, a := range actions {
		b.WriteString(string(a) + "|")
	}
	return b.String()
}

// holds is the matcher's function of the same name: it reports whether a list contains
// an action.
func holds(args ...any) (any, error) {
	if len(args) != 2 {
		return false, fmt.Errorf("holds requires a list and an action, not %d values", len(args))
	}
	list, _ := args[0].(string)
	action, _ := args[1].(string)
	return strings.Contains(list, action), nil
}

// may reports whether the user has a role on the path to place that allows a. An
// archived node allows only reading.
func (s *policySet) may(user uuid.UUID, name string, a Action, place uuid.UUID) bool {
	node, ok := s.nodes[place]
	if !ok || node.archived && a != a.reading() {
		return false
	}
	if s.admins[user] {
		return true
	}
	for _, id := range node.path {
		m := membership{user, id}
		if domain, ok := s.roles[m]; ok && s.allowed(decision{m, a}, name, domain) {
			return true
		}
	}
	return false
}

// allowed queries the enforcer, once per decision.
func (s *policySet) allowed(d decision, name, domain string) bool {
	if known, ok := s.decided.Load(d); ok {
		return known.(bool)
	}
	allowed, err := s.enforcer.Enforce(name, domain, "|"+string(d.action)+"|")
	if err != nil {
		return false
	}
	s.decided.Store(d, allowed)
	return allowed
}
