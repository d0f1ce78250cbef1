package tenancy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Member is a role that a user has at a node.
type Member struct {
	ID        uuid.UUID // of the membership
	UserID    uuid.UUID
	Name      string
	Email     string
	Service   bool // a service account
	Disabled  bool
	Role      string
	Provider  string // of the group that gives the role; "" when it was given by hand
	Group     string
	From      Step // the node where the role was given
	Inherited bool // from above the requested node
	CreatedAt time.Time
	CreatedBy string // "" for roles by a group
}

// groupSource is the source of a membership that comes from a group.
func groupSource(provider, group string) string { return "group:" + provider + "/" + group }

// splitSource is the inverse of groupSource; both are "" for a role by hand.
func splitSource(source string) (provider, group string) {
	provider, group, _ = strings.Cut(strings.TrimPrefix(source, "group:"), "/")
	return provider, group
}

// Members returns the roles of users at a node, including inherited roles, by the names
// of the users.
func (s *Service) Members(ctx context.Context, node uuid.UUID) ([]Member, error) {
	q := db.New(s.pool)
	subject, n, err := at(ctx, q, auth.MemberRead, node)
	if err != nil {
		return nil, err
	}
	steps, err := way(ctx, q, subject, n)
	if err != nil {
		return nil, err
	}
	rows, err := q.ListMemberships(ctx, n.Path)
	if err != nil {
		return nil, fmt.Errorf("members of %s: %w", node, err)
	}
	members := make([]Member, 0, len(rows))
	for _, row := range rows {
		m := Member{
			ID: row.ID, UserID: row.UserID, Name: row.UserName, Email: row.Email, Service: row.UserKind == "service", Disabled: row.DisabledAt != nil,
			Role: row.Role, From: Step{ID: row.NodeID, Kind: Installation, Name: "installation"}, Inherited: row.NodeID != node,
			CreatedAt: row.CreatedAt.UTC(), CreatedBy: row.CreatedByName,
		}
		m.Provider, m.Group = splitSource(row.Source)
		if i := slices.IndexFunc(steps, func(st Step) bool { return st.ID == row.NodeID }); i >= 0 {
			m.From = steps[i]
		}
		members = append(members, m)
	}
	return members, nil
}

// Roles returns the roles that the caller may give at a node: those that allow only
// actions of the caller there.
func (s *Service) Roles(ctx context.Context, node uuid.UUID) ([]auth.Grant, error) {
	subject, err := auth.AuthorizeIn(ctx, auth.MemberRead, node, absent(node))
	if err != nil {
		return nil, err
	}
	if !subject.May(auth.MemberWrite, node) {
		return nil, nil
	}
	return slices.DeleteFunc(auth.Grants(), func(g auth.Grant) bool { return !mayAssign(subject, g, node) }), nil
}

func mayAssign(subject auth.Subject, g auth.Grant, node uuid.UUID) bool {
	return !slices.ContainsFunc(g.Actions, func(a auth.Action) bool { return !subject.May(a, node) })
}

// checkAssign rejects an unknown role, and one that allows more at node than the subject
// may do there: users can only give or remove permissions that they have.
func checkAssign(subject auth.Subject, role string, node uuid.UUID) error {
	grants := auth.Grants()
	i := slices.IndexFunc(grants, func(g auth.Grant) bool { return g.Role == role })
	if i < 0 {
		return apperr.InvalidFields("This role does not exist.", []apperr.Field{{Path: "role", Message: "Choose " + roleNames(grants) + "."}})
	}
	if !mayAssign(subject, grants[i], node) {
		return apperr.New(apperr.Forbidden, "The role %s has more permissions than you have here, so you cannot assign or remove it.", role)
	}
	return nil
}

func roleNames(grants []auth.Grant) string {
	var names []string
	for _, g := range grants {
		names = append(names, g.Role)
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// Invitation gives a role to a user, named by id or by the e-mail address of
// their account.
type Invitation struct {
	UserID uuid.UUID
	Email  string
	Role   string
}

// member is a membership in the audit log.
type member struct {
	User  string `json:"user"`
	Email string `json:"email,omitempty"`
	Role  string `json:"role"`
}

// AddMember gives a role at a node. It requires MemberWrite there and every action of
// the role. Adding an existing role succeeds without a change.
func (s *Service) AddMember(ctx context.Context, node uuid.UUID, in Invitation) (Member, error) {
	q := db.New(s.pool)
	subject, n, err := at(ctx, q, auth.MemberWrite, node)
	if err != nil {
		return Member{}, err
	}
	if err := checkAssign(subject, in.Role, node); err != nil {
		return Member{}, err
	}
	user, err := findUser(ctx, q, in)
	if err != nil {
		return Member{}, err
	}
	var id uuid.UUID
	err = s.change(ctx, func(q *db.Queries) error {
		if n, err = lockNode(ctx, q, node, ""); err != nil {
			return err
		}
		if n.Archived() {
			return errArchived(n)
		}
		id, err = s.assignRole(ctx, q, subject, n, user, in.Role)
		return err
	})
	if err != nil {
		return Member{}, err
	}
	return s.member(ctx, node, id)
}

// assignRole inserts a manual membership with its audit entry, unless it exists.
func (s *Service) assignRole(ctx context.Context, q *db.Queries, subject auth.Subject, n Node, user db.User, role string) (uuid.UUID, error) {
	id, err := newID(subject, "", n.ID, "")
	if err != nil {
		return id, err
	}
	added, err := q.InsertMembership(ctx, db.InsertMembershipParams{ID: id, UserID: user.ID, NodeID: n.ID, Role: role, CreatedAt: s.moment(), CreatedBy: author(subject)})
	if err != nil {
		return id, fmt.Errorf("give %s at %s: %w", role, n.ID, err)
	}
	if added == 0 {
		return q.FindMembership(ctx, user.ID, n.ID, role)
	}
	return id, s.recordMember(ctx, q, n, "member.add", nil, member{User: user.Name, Email: user.Email, Role: role})
}

func (s *Service) recordMember(ctx context.Context, q *db.Queries, n Node, action string, before, after any) error {
	return audit.Record(ctx, q, audit.Entry{
		Action: action, Kind: string(n.Kind), ID: n.ID.String(), Name: n.Name, TenantID: n.TenantID, ProjectID: n.project(), Old: before, New: after,
	})
}

// author returns the user to store as the creator of a row.
func author(subject auth.Subject) *uuid.UUID {
	if subject.ID == uuid.Nil {
		return nil
	}
	return &subject.ID
}

func errArchived(n Node) error {
	return apperr.New(apperr.Conflict, "The %s %s is archived.", n.Kind, n.Name)
}

// member returns one membership of a node.
func (s *Service) member(ctx context.Context, node, id uuid.UUID) (Member, error) {
	members, err := s.Members(ctx, node)
	if err != nil {
		return Member{}, err
	}
	i := slices.IndexFunc(members, func(m Member) bool { return m.ID == id })
	if i < 0 {
		return Member{}, errNoMember(id)
	}
	return members[i], nil
}

func errNoMember(id uuid.UUID) error {
	return apperr.New(apperr.NotFound, "There is no member %s here.", id)
}

// findUser finds the user of an invitation. An address must match exactly one account,
// so that a similar address never grants access.
func findUser(ctx context.Context, q *db.Queries, in Invitation) (db.User, error) {
	invalid := func(path, message string) (db.User, error) {
		return db.User{}, apperr.InvalidFields("The member cannot be added.", []apperr.Field{{Path: path, Message: message}})
	}
	id := in.UserID
	if id == uuid.Nil {
		if strings.TrimSpace(in.Email) == "" {
			return invalid("email", "Enter the user's e-mail address.")
		}
		rows, err := q.UsersByEmail(ctx, strings.TrimSpace(in.Email))
		if err != nil {
			return db.User{}, fmt.Errorf("user by e-mail: %w", err)
		}
		switch len(rows) {
		case 0:
			return invalid("email", "No user with this address has signed in yet. Ask them to sign in once, or assign the role to one of their groups.")
		case 1:
			id = rows[0].ID
		default:
			return invalid("email", "Several accounts have this address. Identify one by its ID (user_id).")
		}
	}
	user, err := q.GetUser(ctx, id)
	switch {
	case db.IsNoRows(err):
		return invalid("user_id", "There is no user with this ID.")
	case err != nil:
		return db.User{}, fmt.Errorf("user %s: %w", id, err)
	case user.Kind != "person":
		return invalid("user_id", "A service account can have a role only in its own project.")
	case user.DisabledAt != nil:
		return invalid("email", "This account is disabled.")
	}
	return user, nil
}

// RemoveMember removes a role that was given manually at this node. It requires the
// same permissions as giving it; the last administrator of a tenant cannot be removed.
func (s *Service) RemoveMember(ctx context.Context, node, id uuid.UUID) error {
	return s.replaceMember(ctx, node, id, "")
}

// ChangeMember replaces the role of a member at a node.
func (s *Service) ChangeMember(ctx context.Context, node, id uuid.UUID, role string) (Member, error) {
	subject, _, err := at(ctx, db.New(s.pool), auth.MemberWrite, node)
	if err != nil {
		return Member{}, err
	}
	if err := checkAssign(subject, role, node); err != nil {
		return Member{}, err
	}
	if err := s.replaceMember(ctx, node, id, role); err != nil {
		return Member{}, err
	}
	members, err := s.Members(ctx, node)
	if err != nil {
		return Member{}, err
	}
	for _, m := range members {
		if m.ID == id {
			return m, nil
		}
	}
	return Member{}, errNoMember(id)
}

// replaceMember sets the role of a membership, or deletes it for "".
func (s *Service) replaceMember(ctx context.Context, node, id uuid.UUID, role string) error {
	subject, n, err := at(ctx, db.New(s.pool), auth.MemberWrite, node)
	if err != nil {
		return err
	}
	return s.change(ctx, func(q *db.Queries) error {
		m, err := q.GetMembership(ctx, id, node)
		if db.IsNoRows(err) {
			return errNoMember(id)
		}
		if err != nil {
			return fmt.Errorf("membership %s: %w", id, err)
		}
		if err := s.mayUnassign(ctx, q, subject, n, m, role); err != nil || m.Role == role {
			return err
		}
		old := member{User: m.UserName, Email: m.Email, Role: m.Role}
		if role == "" {
			if err := q.DeleteMembership(ctx, id); err != nil {
				return fmt.Errorf("delete membership %s: %w", id, err)
			}
			return s.recordMember(ctx, q, n, "member.remove", old, nil)
		}
		if err := q.SetMembershipRole(ctx, role, id); err != nil {
			if db.Constraint(err) == "memberships_key" {
				return apperr.New(apperr.Conflict, "%s already has the role %s here.", m.UserName, role)
			}
			return fmt.Errorf("set role of membership %s: %w", id, err)
		}
		return s.recordMember(ctx, q, n, "member.change", old, member{User: m.UserName, Email: m.Email, Role: role})
	})
}

func (s *Service) mayUnassign(ctx context.Context, q *db.Queries, subject auth.Subject, n Node, m db.GetMembershipRow, role string) error {
	if m.Source != "" {
		_, group := splitSource(m.Source)
		return apperr.New(apperr.Conflict, "%s has this role through the group %s. Remove the role from the group, or the user from the group.", m.UserName, group)
	}
	if err := checkAssign(subject, m.Role, n.ID); err != nil {
		return err
	}
	return requireOtherAdmin(ctx, q, n, m.Role, role, []uuid.UUID{m.ID})
}

// requireOtherAdmin returns an error if a tenant would have no user who may add members once the
// memberships in without are removed or change their role.
func requireOtherAdmin(ctx context.Context, q *db.Queries, n Node, from, to string, without []uuid.UUID) error {
	admins := rolesWith(auth.MemberWrite)
	if n.Kind != Tenant || !slices.Contains(admins, from) || slices.Contains(admins, to) {
		return nil
	}
	left, err := q.CountMembersWithRoles(ctx, n.ID, admins, without)
	if err != nil {
		return fmt.Errorf("count administrators of %s: %w", n.ID, err)
	}
	if left > 0 {
		return nil
	}
	return apperr.New(apperr.Conflict, "This change would leave the tenant %s without an administrator. Assign the role to another user first.", n.Name)
}

// rolesWith returns the roles that allow a.
func rolesWith(a auth.Action) []string {
	var roles []string
	for _, g := range auth.Grants() {
		if slices.Contains(g.Actions, a) {
			roles = append(roles, g.Role)
		}
	}
	return roles
}
