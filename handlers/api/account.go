package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/identity"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/web/contract"
)

type keyBody struct {
	ID        string     `json:"key_id"`
	Name      string     `json:"name"`
	OwnerID   uuid.UUID  `json:"user_id"`
	Owner     string     `json:"user"`
	Service   bool       `json:"service_account"`
	Scopes    []string   `json:"scopes" doc:"Scopes of the key; if empty, the key has all of its owner's permissions"`
	ProjectID *uuid.UUID `json:"project_id,omitempty" doc:"Project that the key is limited to; absent for all of the owner's projects"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	LastUsed  *time.Time `json:"last_used_at,omitempty"`
	Key       string     `json:"key,omitempty" doc:"The key itself, returned only on creation"`
}

type keyListBody struct {
	Keys []keyBody `json:"keys"`
}

type newKeyBody struct {
	Name      string     `json:"name" minLength:"1" maxLength:"100" doc:"Purpose of the key, such as the program that uses it"`
	UserID    *uuid.UUID `json:"user_id,omitempty" doc:"ID of a service account; defaults to yourself"`
	ProjectID *uuid.UUID `json:"project_id,omitempty" doc:"Restricts the key to this project"`
	Scopes    []string   `json:"scopes,omitempty" doc:"Scopes of the key; if empty, the key has all of its owner's permissions" enum:"read,launch,write,admin" maxItems:"4"`
	Days      int        `json:"expires_in_days,omitempty" minimum:"0" maximum:"1825" doc:"Days until the key expires; 0 means never"`
}

type keyPath struct {
	ID string `path:"key_id" maxLength:"64"`
}

type sessionListBody struct {
	Sessions []sessionBody `json:"sessions"`
}

type sessionBody struct {
	ID        uuid.UUID `json:"session_id"`
	Provider  string    `json:"provider,omitempty"`
	Address   string    `json:"address"`
	UserAgent string    `json:"user_agent"`
	CreatedAt time.Time `json:"created_at"`
	SeenAt    time.Time `json:"seen_at"`
	ExpiresAt time.Time `json:"expires_at"`
	Current   bool      `json:"current"`
}

type sessionPath struct {
	ID string `path:"session_id" maxLength:"64"`
}

// accountAPI serves the account of the caller, and the keys and sessions that belong to it.
type accountAPI struct {
	Identity  *identity.Service
	Links     *auth.LoginLinks
	Scope     request.Scope
	PublicURL string
}

func (h *accountAPI) mount(api *operations) {
	operation(api, get("get-me", "/me", "Get the current user, including projects and roles", "Sign-in"), h.apiMe)
	operation(api, get("list-keys", "/keys", "List your API keys and those of your service accounts", "Sign-in"), h.apiKeys)
	create := post("create-key", "/keys", "Create an API key, which is returned only once", "Sign-in")
	create.DefaultStatus = http.StatusCreated
	operation(api, create, h.apiCreateKey)
	operation(api, remove("revoke-key", "/keys/{key_id}", "Revoke an API key"), h.apiRevokeKey)
	operation(api, get("list-sessions", "/sessions", "List your browser sessions", "Sign-in"), h.apiSessions)
	operation(api, remove("end-session", "/sessions/{session_id}", "End a session"), h.apiEndSession)
}

func remove(id, path, summary string) huma.Operation {
	return huma.Operation{OperationID: id, Method: http.MethodDelete, Path: path, Summary: summary, Tags: []string{"Sign-in"}, DefaultStatus: http.StatusNoContent}
}

func (h *accountAPI) apiMe(ctx context.Context, _ *struct{}) (*body[contract.MeBody], error) {
	me, err := h.Identity.Me(ctx)
	if err != nil {
		return nil, err
	}
	out := contract.MeBody{
		ID: me.Subject.ID, Name: me.Subject.Name, Kind: me.Kind, Email: me.Email, Admin: me.Subject.Role == "admin",
		Groups: append([]string{}, me.Groups...), Credential: me.Subject.Credential, Projects: []contract.ProjectBody{}, Roles: []contract.RoleBody{},
	}
	for _, p := range me.Places {
		b := contract.ProjectBody{ID: p.ID, TenantID: p.TenantID, Name: p.Name, Namespace: p.Namespace, Path: p.Path}
		out.Projects = append(out.Projects, b)
		if me.Project != nil && me.Project.ID == p.ID {
			out.Project = &b
		}
	}
	for _, r := range me.Roles {
		out.Roles = append(out.Roles, contract.RoleBody{Role: r.Role, NodeID: r.NodeID, Kind: r.NodeKind, Path: append([]string{}, r.Path...), Source: r.Source})
	}
	return reply(out), nil
}

func toKeyBody(k identity.Key) keyBody {
	b := keyBody{
		ID: k.ID, Name: k.Name, OwnerID: k.OwnerID, Owner: k.Owner, Service: k.Service, Scopes: append([]string{}, k.Scopes...),
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, LastUsed: k.LastUsedAt,
	}
	if k.ProjectID != uuid.Nil {
		b.ProjectID = &k.ProjectID
	}
	return b
}

func (h *accountAPI) apiKeys(ctx context.Context, _ *struct{}) (*body[keyListBody], error) {
	keys, err := h.Identity.Keys(ctx)
	if err != nil {
		return nil, err
	}
	out := keyListBody{Keys: make([]keyBody, len(keys))}
	for i, k := range keys {
		out.Keys[i] = toKeyBody(k)
	}
	return reply(out), nil
}

func (h *accountAPI) apiCreateKey(ctx context.Context, in *body[newKeyBody]) (*body[keyBody], error) {
	request := identity.KeyRequest{Name: in.Body.Name, Scopes: in.Body.Scopes, ExpiresIn: time.Duration(in.Body.Days) * 24 * time.Hour}
	if in.Body.UserID != nil {
		request.OwnerID = *in.Body.UserID
	}
	if in.Body.ProjectID != nil {
		request.ProjectID = *in.Body.ProjectID
	}
	key, token, err := h.Identity.CreateKey(ctx, request)
	if err != nil {
		return nil, renamed(err, "project", "project_id")
	}
	out := toKeyBody(key)
	out.Key = token
	return reply(out), nil
}

func (h *accountAPI) apiRevokeKey(ctx context.Context, in *keyPath) (*struct{}, error) {
	_, err := h.Identity.RevokeKey(ctx, in.ID)
	return nil, err
}

func (h *accountAPI) apiSessions(ctx context.Context, _ *struct{}) (*body[sessionListBody], error) {
	sessions, err := h.Identity.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	me, err := h.Identity.Me(ctx)
	if err != nil {
		return nil, err
	}
	current, _ := me.Subject.SessionID()
	out := sessionListBody{Sessions: make([]sessionBody, len(sessions))}
	for i, s := range sessions {
		out.Sessions[i] = sessionBody{
			ID: s.ID, Provider: s.Provider, Address: s.Address, UserAgent: s.UserAgent,
			CreatedAt: s.CreatedAt, SeenAt: s.SeenAt, ExpiresAt: s.ExpiresAt, Current: s.ID == current,
		}
	}
	return reply(out), nil
}

func (h *accountAPI) apiEndSession(ctx context.Context, in *sessionPath) (*struct{}, error) {
	id, err := request.ParseID(in.ID, "session")
	if err != nil {
		return nil, err
	}
	return nil, h.Identity.EndSession(ctx, id)
}
