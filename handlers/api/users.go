package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/handlers/request"

	"github.com/flowforge/flowforge/handlers/content"
)

type serviceAccountBody struct {
	ID         uuid.UUID  `json:"id"`
	ProjectID  uuid.UUID  `json:"project_id"`
	Name       string     `json:"name"`
	Role       string     `json:"role"`
	Keys       int        `json:"keys" doc:"Number of valid keys"`
	LastUsedAt *time.Time `json:"last_used_at,omitempty"`
	DisabledAt *time.Time `json:"disabled_at,omitempty"`
	CreatedAt  time.Time  `json:"created_at"`
	CreatedBy  string     `json:"created_by,omitempty"`
}

type serviceAccountList struct {
	ServiceAccounts []serviceAccountBody `json:"service_accounts"`
}

// NewServiceAccount creates a service account.
type NewServiceAccount struct {
	ScopePath
	Key  string `header:"Idempotency-Key" doc:"Idempotency key: a repeated request with the same key does not create another account" maxLength:"200"`
	Body struct {
		Name string   `json:"name" minLength:"1" maxLength:"400"`
		Role roleName `json:"role" doc:"Role that the account's keys have in the project"`
	}
}

// ServiceAccountPath names a service account.
type ServiceAccountPath struct {
	ScopePath
	Account uuid.UUID `path:"account_id" doc:"Service account ID"`
}

func (h *userAPI) mountServiceAccounts(api *operations) {
	const path = "/projects/{id}/service-accounts"
	operation(api, get("list-service-accounts", path, "List the service accounts of a project", tenancyTag), h.apiServiceAccounts)
	create := post("create-service-account", path, "Create a service account; POST /keys creates its keys", tenancyTag)
	create.DefaultStatus = http.StatusCreated
	operation(api, create, func(ctx context.Context, in *NewServiceAccount) (*body[serviceAccountBody], error) {
		a, err := h.Tenancy.CreateServiceAccount(ctx, in.ID, in.Body.Name, string(in.Body.Role), in.Key)
		if err != nil {
			return nil, err
		}
		return reply(serviceAccountBody(a)), nil
	})
	for _, disabled := range []bool{true, false} {
		verb, summary := "disable", "Disable a service account; its keys are rejected"
		if !disabled {
			verb, summary = "enable", "Enable a service account"
		}
		op := post(verb+"-service-account", path+"/{account_id}/"+verb, summary, tenancyTag)
		operation(api, op, func(ctx context.Context, in *ServiceAccountPath) (*body[serviceAccountBody], error) {
			a, err := h.Tenancy.SetServiceAccountDisabled(ctx, in.ID, in.Account, disabled)
			if err != nil {
				return nil, err
			}
			return reply(serviceAccountBody(a)), nil
		})
	}
}

func (h *userAPI) apiServiceAccounts(ctx context.Context, in *ScopePath) (*body[serviceAccountList], error) {
	accounts, err := h.Tenancy.ServiceAccounts(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := serviceAccountList{ServiceAccounts: make([]serviceAccountBody, 0, len(accounts))}
	for _, a := range accounts {
		out.ServiceAccounts = append(out.ServiceAccounts, serviceAccountBody(a))
	}
	return reply(out), nil
}

type userBody struct {
	ID         uuid.UUID      `json:"id"`
	Name       string         `json:"name"`
	Email      string         `json:"email,omitempty"`
	Issuer     string         `json:"issuer,omitempty" doc:"Issuer of the sign-in provider; absent for the local administrator"`
	Groups     []string       `json:"groups"`
	Admin      bool           `json:"installation_admin"`
	CreatedAt  time.Time      `json:"created_at"`
	SeenAt     *time.Time     `json:"seen_at,omitempty"`
	DisabledAt *time.Time     `json:"disabled_at,omitempty"`
	Roles      []userRoleBody `json:"roles,omitempty" doc:"Roles; only in single-user responses"`
}

type userRoleBody struct {
	Place    pathStep `json:"place"`
	Role     string   `json:"role"`
	Provider string   `json:"provider,omitempty"`
	Group    string   `json:"group,omitempty"`
}

type userPage struct {
	Users    []userBody `json:"users"`
	NextPage string     `json:"next_page,omitempty"`
}

// UserPath names a user.
type UserPath struct {
	ID uuid.UUID `path:"user_id" doc:"User ID"`
}

// UserQuery narrows the list of users.
type UserQuery struct {
	PageQuery
	Text   string `query:"q" doc:"Text to find in the name or e-mail address" maxLength:"200"`
	Status string `query:"status" enum:"active,disabled,admin" doc:"Status; defaults to all"`
}

// UserEdit changes the account of a user.
type UserEdit struct {
	UserPath
	Body struct {
		Disabled *bool `json:"disabled,omitempty" doc:"Disables the account: its sessions end, and its keys are rejected"`
		Admin    *bool `json:"installation_admin,omitempty" doc:"Grants full access to every tenant"`
	}
}

// userAPI serves users, service accounts and the audit log.
type userAPI struct {
	Tenancy *tenancy.Service
	Audit   *audit.Log
	Scope   request.Scope
	Content *content.Content
}

func (h *userAPI) mount(api *operations) {
	h.mountServiceAccounts(api)
	h.mountAudit(api)
	operation(api, get("list-users", "/users", "List the users of the installation", tenancyTag), h.apiUsers)
	operation(api, get("get-user", "/users/{user_id}", "Get a user with their roles", tenancyTag), func(ctx context.Context, in *UserPath) (*body[userBody], error) {
		return h.apiUser(ctx, in.ID)
	})
	edit := huma.Operation{
		OperationID: "update-user", Method: http.MethodPatch, Path: "/users/{user_id}", Summary: "Enable or disable a user, or grant or revoke administrator rights", Tags: []string{tenancyTag},
	}
	operation(api, edit, h.apiUpdateUser)
}

func (h *userAPI) apiUsers(ctx context.Context, in *UserQuery) (*body[userPage], error) {
	page, err := h.Tenancy.Users(ctx, tenancy.UserFilter{Text: in.Text, Status: in.Status, After: in.Page, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	out := userPage{Users: make([]userBody, 0, len(page.Items)), NextPage: page.Next}
	for _, u := range page.Items {
		out.Users = append(out.Users, toUserBody(u))
	}
	return reply(out), nil
}

func (h *userAPI) apiUser(ctx context.Context, id uuid.UUID) (*body[userBody], error) {
	u, roles, err := h.Tenancy.User(ctx, id)
	if err != nil {
		return nil, err
	}
	out := toUserBody(u)
	for _, r := range roles {
		out.Roles = append(out.Roles, userRoleBody{Place: toStep(r.Step), Role: r.Role, Provider: r.Provider, Group: r.Group})
	}
	return reply(out), nil
}

func (h *userAPI) apiUpdateUser(ctx context.Context, in *UserEdit) (*body[userBody], error) {
	if in.Body.Disabled != nil || in.Body.Admin != nil {
		if _, err := h.Tenancy.ChangeUser(ctx, in.ID, tenancy.UserEdit{Disabled: in.Body.Disabled, Admin: in.Body.Admin}); err != nil {
			return nil, err
		}
	}
	return h.apiUser(ctx, in.ID)
}

func toUserBody(u tenancy.User) userBody {
	return userBody{
		ID: u.ID, Name: u.Name, Email: u.Email, Issuer: u.Issuer, Groups: append([]string{}, u.Groups...), Admin: u.Admin,
		CreatedAt: u.CreatedAt, SeenAt: u.SeenAt, DisabledAt: u.DisabledAt,
	}
}

// AuditQuery narrows the audit log.
type AuditQuery struct {
	PageQuery
	Actor   string    `query:"actor" doc:"User ID, or text to find in the user's name" maxLength:"200"`
	Action  string    `query:"action" doc:"Action, such as quota.update, or quota for all quota actions" maxLength:"100"`
	Kind    string    `query:"object_kind" doc:"Kind of the changed object: team, quota, secret …" maxLength:"100"`
	Object  string    `query:"object" doc:"Object ID, or text to find in the object's name" maxLength:"200"`
	Tenant  string    `query:"tenant" format:"uuid" doc:"Tenant ID"`
	Project string    `query:"in_project" format:"uuid" doc:"Project ID"`
	From    time.Time `query:"from" doc:"Return entries at or after this time"`
	To      time.Time `query:"to" doc:"Return entries before this time"`
}

type auditList struct {
	Entries  []content.AuditRecord `json:"entries" doc:"Entries, newest first"`
	NextPage string                `json:"next_page,omitempty"`
}

func (h *userAPI) mountAudit(api *operations) {
	operation(api, get("list-audit", "/audit", "List audit log entries, newest first", "Audit"), func(ctx context.Context, in *AuditQuery) (*body[auditList], error) {
		f, err := in.filter()
		if err != nil {
			return nil, err
		}
		page, err := h.Audit.List(ctx, f)
		if err != nil {
			return nil, err
		}
		out := auditList{Entries: make([]content.AuditRecord, 0, len(page.Changes)), NextPage: page.Next}
		for _, c := range page.Changes {
			out.Entries = append(out.Entries, content.NewAuditRecord(c))
		}
		return reply(out), nil
	})
}

func (q AuditQuery) filter() (audit.Filter, error) {
	f := audit.Filter{Actor: q.Actor, Action: q.Action, Kind: q.Kind, Object: q.Object, From: q.From, To: q.To, After: q.Page, Limit: q.Limit}
	for _, of := range []struct {
		name, kind, text string
		to               *uuid.UUID
	}{{"tenant", "tenant", q.Tenant, &f.TenantID}, {"in_project", "project", q.Project, &f.Project}} {
		if of.text == "" {
			continue
		}
		id, err := uuid.Parse(of.text)
		if err != nil {
			return f, apperr.InvalidFields("The request has invalid values.", []apperr.Field{{Path: of.name, Message: "Enter the ID of a " + of.kind + "."}})
		}
		*of.to = id
	}
	return f, nil
}

// routes are the routes of the audit log as a stream. huma can only send complete responses.
func (h *userAPI) routes(r chi.Router) {
	r.Get(request.APIPrefix+"/audit/export", h.Scope.Page(func(w http.ResponseWriter, r *http.Request) error {
		q := r.URL.Query()
		in := AuditQuery{Actor: q.Get("actor"), Action: q.Get("action"), Kind: q.Get("object_kind"), Object: q.Get("object"), Tenant: q.Get("tenant"), Project: q.Get("in_project")}
		for name, to := range map[string]*time.Time{"from": &in.From, "to": &in.To} {
			if q.Get(name) == "" {
				continue
			}
			t, err := time.Parse(time.RFC3339, q.Get(name))
			if err != nil {
				return apperr.InvalidFields("The request has invalid values.", []apperr.Field{{Path: name, Message: "Enter a time such as 2026-11-21T08:00:00Z."}})
			}
			*to = t
		}
		f, err := in.filter()
		if err != nil {
			return err
		}
		return h.Content.ExportAudit(w, r, f, cmp.Or(q.Get("format"), "jsonl"))
	}))
}
