package contract

import (
	"time"

	"github.com/google/uuid"
)

// Registered is a registered version of a workflow.
type Registered struct {
	WorkflowID uuid.UUID `json:"workflow_id"`
	VersionID  uuid.UUID `json:"version_id"`
	Name       string    `json:"name"`
	Version    string    `json:"version"`
	Status     string    `json:"status" enum:"REGISTERED,UNCHANGED" doc:"Result; UNCHANGED if this version was already registered with the same content"`
	LaunchURL  string    `json:"ui_launch_url"`
	Notices    []string  `json:"notices,omitempty" doc:"Hints about a valid definition"`
}

// WorkflowBody is a workflow. A list leaves out its versions.
type WorkflowBody struct {
	WorkflowID    uuid.UUID     `json:"workflow_id"`
	Name          string        `json:"name"`
	Description   string        `json:"description"`
	OwnerTeam     string        `json:"owner_team"`
	Tags          []string      `json:"tags"`
	Status        string        `json:"status" enum:"ACTIVE,ARCHIVED"`
	LatestVersion string        `json:"latest_version"`
	CreatedAt     time.Time     `json:"created_at"`
	UpdatedAt     time.Time     `json:"updated_at"`
	Versions      []VersionLine `json:"versions,omitempty"`
}

// VersionLine is a version of a workflow.
type VersionLine struct {
	VersionID uuid.UUID `json:"version_id"`
	Version   string    `json:"version"`
	Nodes     int       `json:"nodes"`
	CreatedAt time.Time `json:"created_at"`
}

// WorkflowPage is one page of workflows.
type WorkflowPage struct {
	Workflows []WorkflowBody `json:"workflows"`
	Total     int            `json:"total" doc:"Total number of items"`
	NextPage  string         `json:"next_page,omitempty"`
}
