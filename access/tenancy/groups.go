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

// GroupRole gives a role to a group of a sign-in provider: its members get the role at
// their next sign-in, and lose it when they leave the group.
type GroupRole struct {
	ID        uuid.UUID
	Provider  string
	Group     string
	Role      string
	Members   int  // people who have the role by the group now
	From      Step // the node where the role is given
	Inherited bool
	CreatedAt time.Time
	CreatedBy string
}

// GroupRoles returns the groups that have a role at a node, including inherited roles.
func (s *Service) GroupRoles(ctx context.Context, node uuid.UUID) ([]GroupRole, error) {
	q := db.New(s.pool)
	subject, n, err := at(ctx, q, auth.MemberRead, node)
	if err != nil {
		return nil, err
	}
	steps, err := way(ctx, q, subject, n)
	if err != nil {
		return nil, err
	}
	rows, err := q.ListGroupRoles(ctx, n.Path)
	if err != nil {
		return nil, fmt.Errorf("groups of %s: %w", node, err)
	}
	groups := make([]GroupRole, 0, len(rows))
	for _, row := range rows {
		g := GroupRole{
			ID: row.ID, Provider: row.Provider, Group: row.GroupName, Role: row.Role, Members: int(row.Members),
			From: Step{ID: row.NodeID, Kind: Installation, Name: "installation"}, Inherited: row.NodeID != node, CreatedAt: row.CreatedAt.UTC(), CreatedBy: row.CreatedByName,
		}
		if i := slices.IndexFunc(steps, func(st Step) bool { return st.ID == row.NodeID }); i >= 0 {
			g.From = steps[i]
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// maxGroup is the maximum length of the name of a group or a provider.
const maxGroup = 255

// groupGiven is the role of a group in the audit log.
type groupGiven struct {
	Provider string `json:"provider"`
	Group    string `json:"group"`
	Role     string `json:"role"`
}

// AddGroupRole gives a role at a node to a group of a provider. It requires MemberWrite
// there and every action of the role. Adding an existing role succeeds without a
// change.
func (s *Service) AddGroupRole(ctx context.Context, node uuid.UUID, g GroupRole) (GroupRole, error) {
	subject, n, err := at(ctx, db.New(s.pool), auth.MemberWrite, node)
	if err != nil {
		return GroupRole{}, err
	}
	if err := checkAssign(subject, g.Role, node); err != nil {
		return GroupRole{}, err
	}
	g.Provider, g.Group = strings.TrimSpace(g.Provider), strings.TrimSpace(g.Group)
	if err := checkGroup(g); err != nil {
		return GroupRole{}, err
	}
	var id uuid.UUID
	err = s.change(ctx, func(q *db.Queries) error {
		if n, err = lockNode(ctx, q, node, ""); err != nil {
			return err
		}
		if n.Archived() {
			return errArchived(n)
		}
		if id, err = newID(subject, "", node, ""); err != nil {
			return err
		}
		added, err := q.InsertGroupRole(ctx, db.InsertGroupRoleParams{
			ID: id, Provider: g.Provider, GroupName: g.Group, NodeID: node, Role: g.Role, CreatedAt: s.moment(), CreatedBy: author(subject),
		})
		if err != nil {
			return fmt.Errorf("give %s at %s to a group: %w", g.Role, node, err)
		}
		if added == 0 {
			id, err = q.FindGroupRole(ctx, g.Provider, g.Group, node, g.Role)
			return err
		}
		return s.recordMember(ctx, q, n, "group.invite", nil, groupGiven{Provider: g.Provider, Group: g.Group, Role: g.Role})
	})
	if err != nil {
		return GroupRole{}, err
	}
	return s.groupRole(ctx, node, id)
}

func checkGroup(g GroupRole) error {
	var fields []apperr.Field
	for _, f := range []struct{ path, value, empty string }{
		{"provider", g.Provider, "Choose the group's sign-in provider."}, {"group", g.Group, "Enter the group's name at the provider."},
	} {
		switch {
		case f.value == "":
			fields = append(fields, apperr.Field{Path: f.path, Message: f.empty})
		case len(f.value) > maxGroup:
			fields = append(fields, apperr.Field{Path: f.path, Message: fmt.Sprintf("Enter at most %d bytes.", maxGroup)})
		}
	}
	if strings.Contains(g.Provider, "/") {
		fields = append(fields, apperr.Field{Path: "provider", Message: "Enter the ID of a configured provider, without a slash."})
	}
	return apperr.InvalidFields("The group cannot be added.", fields)
}

func (s *Service) groupRole(ctx context.Context, node, id uuid.UUID) (GroupRole, error) {
	groups, err := s.GroupRoles(ctx, node)
	if err != nil {
		return GroupRole{}, err
	}
	i := slices.IndexFunc(groups, func(g GroupRole) bool { return g.ID == id })
	if i < 0 {
		return GroupRole{}, errNoGroup(id)
	}
	return groups[i], nil
}

func errNoGroup(id uuid.UUID) error {
	return apperr.New(apperr.NotFound, "There is no group role %s here.", id)
}

// RemoveGroupRole removes a role from a group, and at once from all its members.
func (s *Service) RemoveGroupRole(ctx context.Context, node, id uuid.UUID) error {
	subject, n, err := at(ctx, db.New(s.pool), auth.MemberWrite, node)
	if err != nil {
		return err
	}
	return s.change(ctx, func(q *db.Queries) error {
		g, err := q.GetGroupRole(ctx, id, node)
		if db.IsNoRows(err) {
			return errNoGroup(id)
		}
		if err != nil {
			return fmt.Errorf("role of group %s: %w", id, err)
		}
		if err := checkAssign(subject, g.Role, node); err != nil {
			return err
		}
		members, err := q.MembershipsOfGroup(ctx, node, g.Role, groupSource(g.Provider, g.GroupName))
		if err != nil {
			return fmt.Errorf("members by group %s: %w", id, err)
		}
		if len(members) > 0 {
			if err := requireOtherAdmin(ctx, q, n, g.Role, "", members); err != nil {
				return err
			}
			if err := q.DeleteMemberships(ctx, members); err != nil {
				return fmt.Errorf("delete members by group %s: %w", id, err)
			}
		}
		if err := q.DeleteGroupRole(ctx, id); err != nil {
			return fmt.Errorf("delete role of group %s: %w", id, err)
		}
		old := groupGiven{Provider: g.Provider, Group: g.GroupName, Role: g.Role}
		return audit.Record(ctx, q, audit.Entry{
			Action: "group.remove", Kind: string(n.Kind), ID: n.ID.String(), Name: n.Name, TenantID: n.TenantID, ProjectID: n.project(), Old: old,
		})
	})
}
