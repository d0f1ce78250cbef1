package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/tenancy"
)

type memberBody struct {
	ID        uuid.UUID `json:"id" doc:"Membership ID"`
	UserID    uuid.UUID `json:"user_id"`
	Name      string    `json:"name"`
	Email     string    `json:"email,omitempty"`
	Service   bool      `json:"service_account"`
	Disabled  bool      `json:"disabled"`
	Role      string    `json:"role"`
	Provider  string    `json:"provider,omitempty" doc:"Group that assigns the role; absent for a role assigned manually"`
	Group     string    `json:"group,omitempty"`
	From      pathStep  `json:"from" doc:"Level at which the role is assigned"`
	Inherited bool      `json:"inherited" doc:"True if the role is inherited from a level above"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by,omitempty"`
}

type memberList struct {
	Members []memberBody `json:"members" doc:"Members, sorted by name"`
}

type groupRoleBody struct {
	ID        uuid.UUID `json:"id"`
	Provider  string    `json:"provider"`
	Group     string    `json:"group"`
	Role      string    `json:"role"`
	Members   int       `json:"members" doc:"Number of users who currently have the role through the group"`
	From      pathStep  `json:"from" doc:"Level at which the role is assigned"`
	Inherited bool      `json:"inherited" doc:"True if the role is inherited from a level above"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by,omitempty"`
}

type groupRoleList struct {
	GroupRoles []groupRoleBody `json:"group_roles"`
}

// NewMember adds a member.
type NewMember struct {
	ScopePath
	Body newMemberBody
}

type newMemberBody struct {
	UserID *uuid.UUID `json:"user_id,omitempty" doc:"User ID; alternatively, set email"`
	Email  string     `json:"email,omitempty" doc:"E-mail address of a user who has signed in before" maxLength:"320"`
	Role   roleName   `json:"role"`
}

// TransformSchema implements huma.SchemaTransformer.
func (newMemberBody) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return needsOne(s, "user_id", "email")
}

// MemberPath names a membership.
type MemberPath struct {
	ScopePath
	Member uuid.UUID `path:"member_id" doc:"Membership ID"`
}

// MemberEdit changes a role.
type MemberEdit struct {
	MemberPath
	Body struct {
		Role roleName `json:"role"`
	}
}

// NewGroupRole invites a group.
type NewGroupRole struct {
	ScopePath
	Body struct {
		Provider string   `json:"provider" doc:"ID of the sign-in provider, as configured" minLength:"1" maxLength:"255"`
		Group    string   `json:"group" doc:"Group name, as the provider spells it" minLength:"1" maxLength:"255"`
		Role     roleName `json:"role"`
	}
}

// GroupRolePath names a role of a group.
type GroupRolePath struct {
	ScopePath
	Group uuid.UUID `path:"group_role_id" doc:"ID of the group's role assignment"`
}

func deletion(id, path, summary, tag string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: http.MethodDelete, Path: path, Summary: summary, Tags: []string{tag}, DefaultStatus: http.StatusNoContent,
	}
}

func (h *tenancyAPI) mountMembers(api *operations, kind tenancy.Kind, path string) {
	name, members, groups := string(kind), path+"/{id}/members", path+"/{id}/group-roles"
	operation(api, get("list-"+name+"-members", members, "List the members of a "+name+", with their roles", tenancyTag), func(ctx context.Context, in *ScopePath) (*body[memberList], error) {
		return h.apiMembers(ctx, kind, in.ID)
	})
	add := post("add-"+name+"-member", members, "Add a member to a "+name, tenancyTag)
	add.DefaultStatus = http.StatusCreated
	operation(api, add, func(ctx context.Context, in *NewMember) (*body[memberBody], error) {
		return h.apiAddMember(ctx, kind, in)
	})
	change := huma.Operation{OperationID: "change-" + name + "-member", Method: http.MethodPatch, Path: members + "/{member_id}", Summary: "Change the role of a member of a " + name, Tags: []string{tenancyTag}}
	operation(api, change, func(ctx context.Context, in *MemberEdit) (*body[memberBody], error) {
		if _, _, err := h.place(ctx, kind, in.ID); err != nil {
			return nil, err
		}
		m, err := h.Tenancy.ChangeMember(ctx, in.ID, in.Member, string(in.Body.Role))
		if err != nil {
			return nil, err
		}
		return reply(toMemberBody(m)), nil
	})
	operation(api, deletion("remove-"+name+"-member", members+"/{member_id}", "Remove a member from a "+name+"", tenancyTag), func(ctx context.Context, in *MemberPath) (*struct{}, error) {
		if _, _, err := h.place(ctx, kind, in.ID); err != nil {
			return nil, err
		}
		return nil, h.Tenancy.RemoveMember(ctx, in.ID, in.Member)
	})
	operation(api, get("list-"+name+"-group-roles", groups, "List the roles of groups in a "+name, tenancyTag), func(ctx context.Context, in *ScopePath) (*body[groupRoleList], error) {
		return h.apiGroupRoles(ctx, kind, in.ID)
	})
	invite := post("add-"+name+"-group-role", groups, "Assign a role to a group of a sign-in provider in a "+name, tenancyTag)
	invite.DefaultStatus = http.StatusCreated
	operation(api, invite, func(ctx context.Context, in *NewGroupRole) (*body[groupRoleBody], error) {
		if _, _, err := h.place(ctx, kind, in.ID); err != nil {
			return nil, err
		}
		g, err := h.Tenancy.AddGroupRole(ctx, in.ID, tenancy.GroupRole{Provider: in.Body.Provider, Group: in.Body.Group, Role: string(in.Body.Role)})
		if err != nil {
			return nil, err
		}
		return reply(toGroupRoleBody(g)), nil
	})
	operation(api, deletion("remove-"+name+"-group-role", groups+"/{group_role_id}", "Remove a role of a group in a "+name+"", tenancyTag), func(ctx context.Context, in *GroupRolePath) (*struct{}, error) {
		if _, _, err := h.place(ctx, kind, in.ID); err != nil {
			return nil, err
		}
		return nil, h.Tenancy.RemoveGroupRole(ctx, in.ID, in.Group)
	})
}

func (h *tenancyAPI) apiMembers(ctx context.Context, kind tenancy.Kind, id uuid.UUID) (*body[memberList], error) {
	if _, _, err := h.place(ctx, kind, id); err != nil {
		return nil, err
	}
	members, err := h.Tenancy.Members(ctx, id)
	if err != nil {
		return nil, err
	}
	out := memberList{Members: make([]memberBody, 0, len(members))}
	for _, m := range members {
		out.Members = append(out.Members, toMemberBody(m))
	}
	return reply(out), nil
}

func (h *tenancyAPI) apiAddMember(ctx context.Context, kind tenancy.Kind, in *NewMember) (*body[memberBody], error) {
	if _, _, err := h.place(ctx, kind, in.ID); err != nil {
		return nil, err
	}
	invitation := tenancy.Invitation{Email: in.Body.Email, Role: string(in.Body.Role)}
	if in.Body.UserID != nil {
		invitation.UserID = *in.Body.UserID
	}
	m, err := h.Tenancy.AddMember(ctx, in.ID, invitation)
	if err != nil {
		return nil, err
	}
	return reply(toMemberBody(m)), nil
}

func (h *tenancyAPI) apiGroupRoles(ctx context.Context, kind tenancy.Kind, id uuid.UUID) (*body[groupRoleList], error) {
	if _, _, err := h.place(ctx, kind, id); err != nil {
		return nil, err
	}
	groups, err := h.Tenancy.GroupRoles(ctx, id)
	if err != nil {
		return nil, err
	}
	out := groupRoleList{GroupRoles: make([]groupRoleBody, 0, len(groups))}
	for _, g := range groups {
		out.GroupRoles = append(out.GroupRoles, toGroupRoleBody(g))
	}
	return reply(out), nil
}

func toStep(s tenancy.Step) pathStep { return pathStep{ID: s.ID, Kind: string(s.Kind), Name: s.Name} }

func toMemberBody(m tenancy.Member) memberBody {
	return memberBody{
		ID: m.ID, UserID: m.UserID, Name: m.Name, Email: m.Email, Service: m.Service, Disabled: m.Disabled, Role: m.Role, Provider: m.Provider,
		Group: m.Group, From: toStep(m.From), Inherited: m.Inherited, CreatedAt: m.CreatedAt, CreatedBy: m.CreatedBy,
	}
}

func toGroupRoleBody(g tenancy.GroupRole) groupRoleBody {
	return groupRoleBody{
		ID: g.ID, Provider: g.Provider, Group: g.Group, Role: g.Role, Members: g.Members, From: toStep(g.From), Inherited: g.Inherited,
		CreatedAt: g.CreatedAt, CreatedBy: g.CreatedBy,
	}
}
