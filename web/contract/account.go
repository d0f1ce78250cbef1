package contract

import "github.com/google/uuid"

// MeBody is the caller: what they are, and where they may work.
type MeBody struct {
	ID         uuid.UUID     `json:"user_id"`
	Name       string        `json:"name"`
	Kind       string        `json:"kind" doc:"Kind of account: person or service"`
	Email      string        `json:"email,omitempty"`
	Admin      bool          `json:"installation_admin"`
	Groups     []string      `json:"groups" doc:"Groups, as reported by the sign-in provider"`
	Credential string        `json:"credential" doc:"Credential that authenticated the request"`
	Project    *ProjectBody  `json:"project,omitempty" doc:"Current project"`
	Projects   []ProjectBody `json:"projects"`
	Roles      []RoleBody    `json:"roles"`
}

// ProjectBody is a project in which the caller may work.
type ProjectBody struct {
	ID        uuid.UUID `json:"project_id"`
	TenantID  uuid.UUID `json:"tenant_id"`
	Name      string    `json:"name"`
	Namespace string    `json:"namespace"`
	Path      []string  `json:"path" doc:"Names from the tenant down to the team"`
}

// RoleBody is a role of the caller at one level of the tenancy tree.
type RoleBody struct {
	Role   string    `json:"role"`
	NodeID uuid.UUID `json:"node_id"`
	Kind   string    `json:"kind"`
	Path   []string  `json:"path"`
	Source string    `json:"source,omitempty" doc:"Source of the role; group:<provider>/<group> if a group assigns it"`
}

// LoginLink signs one browser in as administrator, once.
type LoginLink struct {
	URL string `json:"url"`
}
